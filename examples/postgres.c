/* SPDX-License-Identifier: MIT */
/*
 * Many writers and a PostgreSQL server with few connections.
 *
 *     postgres CONNINFO [WRITES [ROUNDS]]
 *
 * A hundred threads write, and some read.
 *
 *   naive      Each writer opens its own connection.  The server refuses
 *              those beyond its limit.
 *   weir       A pool of 50 connections, and a semaphore of 20 permits before it
 *              for writes: 30 connections are always left for reads.
 *   by hand    Connections in an array with a mutex and a condition variable, for
 *              writes alone, from few to many: a comparison of the costs.
 *
 * examples/postgres.sh starts a private server and runs this program.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <libpq-fe.h>

#include <weir/pool.h>
#include <weir/sem.h>

#define WRITERS 100
#define READERS 4
#define POOL 50
#define WRITES_AT_ONCE 20
#define ROUNDS_MAX 99

static const char *conninfo;
static int writes_each;
static atomic_int refused, failed, written, reads, writing, most_writing, stop;

static PGconn *connect_to_it(void)
{
	PGconn *c = PQconnectdb(conninfo);

	if (PQstatus(c) == CONNECTION_OK)
		return c;
	PQfinish(c);
	return NULL;
}

static int execute(PGconn *c, const char *command)
{
	PGresult *result = PQexec(c, command);
	ExecStatusType status = PQresultStatus(result);

	PQclear(result);
	return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

static void write_once(PGconn *c)
{
	if (execute(c, "INSERT INTO chains (profit) VALUES (42)"))
		atomic_fetch_add(&written, 1);
	else
		atomic_fetch_add(&failed, 1);
}

/*
 * Naive.
 */
static weir_sem all_here = WEIR_SEM_INIT_UNBOUNDED(0);
static atomic_int here;

static void *write_naive(void *arg)
{
	PGconn *c = connect_to_it();

	(void)arg;
	/* Writers overlap: none writes before all have tried to connect. */
	if (atomic_fetch_add(&here, 1) + 1 == WRITERS)
		weir_sem_release(&all_here, WRITERS);
	if (weir_sem_acquire(&all_here, 1, NULL) != WEIR_OK)
		return NULL;
	if (!c) {
		atomic_fetch_add(&refused, 1);
		return NULL;
	}
	for (int i = 0; i < writes_each; i++)
		write_once(c);
	PQfinish(c);
	return NULL;
}

/*
 * With weir.
 */
static weir_pool pool;
static weir_sem write_permits = WEIR_SEM_INIT(WRITES_AT_ONCE);

static weir_err dial(void *user, struct weir_ctx *ctx, void **resource)
{
	(void)user;
	(void)ctx;
	*resource = connect_to_it();
	return *resource ? WEIR_OK : WEIR_ESYSTEM;
}

static bool is_alive(void *user, void *resource)
{
	(void)user;
	return PQstatus(resource) == CONNECTION_OK;
}

static void hang_up(void *user, void *resource)
{
	(void)user;
	PQfinish(resource);
}

static void count_writing(void)
{
	int now = atomic_fetch_add(&writing, 1) + 1, before = most_writing;

	while (now > before &&
	       !atomic_compare_exchange_weak(&most_writing, &before, now))
		;
}

static void *write_pooled(void *arg)
{
	(void)arg;
	for (int i = 0; i < writes_each; i++) {
		weir_pool_item *item;

		if (weir_sem_acquire(&write_permits, 1, NULL) != WEIR_OK)
			return NULL;
		if (weir_pool_borrow(&pool, "write", NULL, &item) == WEIR_OK) {
			count_writing();
			write_once(item->resource);
			atomic_fetch_sub(&writing, 1);
			weir_pool_give_back(&pool, item);
		} else {
			atomic_fetch_add(&refused, 1);
		}
		weir_sem_release(&write_permits, 1);
	}
	return NULL;
}

static void *read_pooled(void *arg)
{
	(void)arg;
	while (!stop) {
		weir_pool_item *item;

		/* Never waits: writes leave 30 connections free. */
		if (weir_pool_try_borrow(&pool, "read", &item) != WEIR_OK) {
			atomic_fetch_add(&refused, 1);
			continue;
		}
		if (execute(item->resource, "SELECT 1"))
			atomic_fetch_add(&reads, 1);
		else
			atomic_fetch_add(&failed, 1);
		weir_pool_give_back(&pool, item);
	}
	return NULL;
}

/*
 * By hand.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t some = PTHREAD_COND_INITIALIZER;
static PGconn *idle[POOL];
static int idle_count;

static void *write_by_hand(void *arg)
{
	(void)arg;
	for (int i = 0; i < writes_each; i++) {
		PGconn *c;

		pthread_mutex_lock(&lock);
		while (!idle_count)
			pthread_cond_wait(&some, &lock);
		c = idle[--idle_count];
		pthread_mutex_unlock(&lock);
		write_once(c);
		pthread_mutex_lock(&lock);
		idle[idle_count++] = c;
		pthread_mutex_unlock(&lock);
		pthread_cond_signal(&some);
	}
	return NULL;
}

/* Run the writers, and the readers if reader is set.  Returns microseconds. */
static int64_t run(void *(*writer)(void *), void *(*reader)(void *))
{
	pthread_t writers[WRITERS], readers[READERS];
	int64_t begun = weir_now_ns(), took;

	refused = failed = written = reads = most_writing = stop = 0;
	for (int i = 0; i < WRITERS; i++)
		if (pthread_create(&writers[i], NULL, writer, NULL))
			exit(1);
	for (int i = 0; reader && i < READERS; i++)
		if (pthread_create(&readers[i], NULL, reader, NULL))
			exit(1);
	for (int i = 0; i < WRITERS; i++)
		pthread_join(writers[i], NULL);
	took = (weir_now_ns() - begun) / 1000;
	stop = 1;
	for (int i = 0; reader && i < READERS; i++)
		pthread_join(readers[i], NULL);
	return took;
}

static void tell(const char *name, int64_t took_us)
{
	printf("%-14s %6d written, %5d connections refused, %d failed, "
	       "%7.1f ms\n", name, atomic_load(&written), atomic_load(&refused),
	       atomic_load(&failed), (double)took_us / 1000);
}

/* All connections are opened before the time starts, as in run_by_hand. */
static int64_t run_pooled(void *(*reader)(void *))
{
	const weir_pool_opts opts = { .max = POOL, .create = dial,
				      .destroy = hang_up,
				      .validate = is_alive, .name = "pg" };
	weir_pool_item *items[POOL];
	int64_t took;

	if (weir_pool_init(&pool, NULL, &opts) != WEIR_OK)
		exit(1);
	for (int i = 0; i < POOL; i++)
		if (weir_pool_borrow(&pool, "warm", NULL, &items[i]) != WEIR_OK)
			exit(1);
	for (int i = 0; i < POOL; i++)
		weir_pool_give_back(&pool, items[i]);
	took = run(write_pooled, reader);
	weir_pool_close(&pool);
	if (weir_pool_wait_idle(&pool, NULL) != WEIR_OK ||
	    weir_pool_destroy(&pool) != WEIR_OK)
		exit(1);
	return took;
}

static int64_t run_by_hand(int connections)
{
	int64_t took;

	for (; idle_count < connections; idle_count++)
		if (!(idle[idle_count] = connect_to_it()))
			exit(1);
	took = run(write_by_hand, NULL);
	while (idle_count)
		PQfinish(idle[--idle_count]);
	return took;
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int has_all(void)
{
	return !refused && !failed && written == writes_each * WRITERS;
}

/* Alternate the sizes in each round, so that other load affects all alike. */
static int compare(int rounds)
{
	static const int sizes[] = { 0, 5, 10, WRITES_AT_ONCE, POOL };
	int64_t took[sizeof(sizes) / sizeof(sizes[0])][ROUNDS_MAX];
	int wrong = 0;

	for (int i = 0; i < rounds; i++)
		for (int s = 0; s < (int)(sizeof(sizes) / sizeof(sizes[0])); s++) {
			took[s][i] = sizes[s] ? run_by_hand(sizes[s]) :
						run_pooled(NULL);
			wrong |= !has_all();
		}
	for (int s = 0; s < (int)(sizeof(sizes) / sizeof(sizes[0])); s++) {
		qsort(took[s], (size_t)rounds, sizeof(took[s][0]), by_value);
		printf("%s %2d            %7.1f ms  (%.1f to %.1f)\n",
		       sizes[s] ? "by hand" : "weir   ",
		       sizes[s] ? sizes[s] : WRITES_AT_ONCE,
		       (double)took[s][rounds / 2] / 1000,
		       (double)took[s][0] / 1000,
		       (double)took[s][rounds - 1] / 1000);
	}
	return wrong;
}

int main(int argc, char **argv)
{
	int writes = argc > 2 ? atoi(argv[2]) : 10000;
	int rounds = argc > 3 ? atoi(argv[3]) : 1, wrong;
	PGconn *c;

	if (argc < 2 || writes < WRITERS || rounds < 1 || rounds > ROUNDS_MAX) {
		fprintf(stderr, "usage: postgres CONNINFO [WRITES [ROUNDS]]\n");
		return 2;
	}
	conninfo = argv[1];
	writes_each = writes / WRITERS;
	c = connect_to_it();
	if (!c || !execute(c, "CREATE TABLE chains (id serial, profit int)")) {
		fputs("postgres: no server, or it does not do as told\n",
		      stderr);
		return 1;
	}
	PQfinish(c);

	tell("naive", run(write_naive, NULL));
	wrong = !refused;
	tell("weir", run_pooled(read_pooled));
	printf("%15sat most %d writing, %d reads beside them\n", "",
	       atomic_load(&most_writing), atomic_load(&reads));
	wrong |= !has_all();
	wrong |= most_writing > WRITES_AT_ONCE || !reads;

	printf("writes alone, median of %d:\n", rounds);
	wrong |= compare(rounds);
	puts(wrong ? "it went WRONG" : "with weir: no errors, and 30 left for reads");
	return wrong;
}
