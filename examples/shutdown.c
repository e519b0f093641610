/* SPDX-License-Identifier: MIT */
/*
 * An orderly shutdown.  Workers share few permits, so most of them wait; then
 * SIGTERM arrives, and all workers must stop at once without losing a request.
 *
 *     shutdown           sends itself SIGTERM after a while
 *     shutdown --wait    works until SIGTERM or SIGINT arrives (kill, Ctrl-C)
 *
 * A signal handler may do almost nothing, but it may release a semaphore.  Main
 * waits for this semaphore, and cancels the root of all request contexts:
 *
 *     signal -> handler -> stop_asked -> main -> cancel(server)
 *                                                   |
 *                            request contexts <-----+----> waiting workers
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <weir/ctx.h>
#include <weir/permit.h>
#include <weir/sem.h>

#define WORKERS 16
#define CONNECTIONS 3

static weir_sem stop_asked = WEIR_SEM_INIT_UNBOUNDED(0);
static weir_sem served = WEIR_SEM_INIT_UNBOUNDED(0);
static weir_sem connections = WEIR_SEM_INIT(CONNECTIONS);
static weir_ctx server = WEIR_CTX_INIT;

static atomic_long begun, done, turned_away;

static void on_signal(int signal_number)
{
	(void)signal_number;
	weir_sem_release(&stop_asked, 1);
}

static void must(bool fine, const char *what)
{
	if (!fine) {
		fprintf(stderr, "shutdown: %s\n", what);
		exit(1);
	}
}

/*
 * One request: two seconds to get a connection, less if the server stops.  A
 * request that has a connection is finished; the cancellation ends only waits.
 */
static weir_err serve(void)
{
	struct timespec work = { 0, 2000000 };
	weir_ctx request;
	weir_err err;

	err = weir_ctx_init(&request, &server, weir_deadline_after(2000000000));
	must(err == WEIR_OK, weir_err_text(err));
	begun++;
	WEIR_WITH_PERMIT(err, &connections, 1, &request) {
		nanosleep(&work, NULL);
		done++;
		weir_sem_release(&served, 1);
	}
	if (err)
		turned_away++;
	must(weir_ctx_destroy(&request) == WEIR_OK, "a request is in use");
	return err;
}

static void *worker(void *arg)
{
	weir_err err;

	do
		err = serve();
	while (err == WEIR_OK || err == WEIR_ETIMEDOUT);
	*(weir_err *)arg = err;
	return NULL;
}

int main(int argc, char **argv)
{
	bool wait = argc == 2 && strcmp(argv[1], "--wait") == 0;
	struct sigaction action = { .sa_handler = on_signal };
	pthread_t threads[WORKERS];
	weir_err why[WORKERS];
	long cancelled = 0;

	if (argc > 1 && !wait) {
		fputs("usage: shutdown [--wait]\n", stderr);
		return 2;
	}
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	for (int i = 0; i < WORKERS; i++)
		must(!pthread_create(&threads[i], NULL, worker, &why[i]),
		     "cannot make a thread");
	printf("%d workers share %d connections; process %ld\n", WORKERS,
	       CONNECTIONS, (long)getpid());
	fflush(stdout);

	if (!wait) {
		must(weir_sem_acquire(&served, 100, NULL) == WEIR_OK, "served");
		kill(getpid(), SIGTERM);
	}
	must(weir_sem_acquire(&stop_asked, 1, NULL) == WEIR_OK, "no signal");
	puts("asked to stop: cancelling");
	weir_ctx_cancel(&server);

	/* No request gets a connection any more.  Wait for the running ones. */
	must(weir_sem_wait_idle(&connections, NULL) == WEIR_OK, "not idle");
	for (int i = 0; i < WORKERS; i++) {
		pthread_join(threads[i], NULL);
		cancelled += why[i] == WEIR_ECANCELED;
	}
	printf("%ld requests: %ld done, %ld turned away, %ld lost\n", begun,
	       done, turned_away, begun - done - turned_away);
	printf("%ld of %d workers left because: %s\n", cancelled, WORKERS,
	       weir_err_text(WEIR_ECANCELED));

	bool good = cancelled == WORKERS && begun == done + turned_away &&
		    weir_sem_available(&connections) == CONNECTIONS &&
		    weir_ctx_destroy(&server) == WEIR_OK &&
		    weir_sem_destroy(&connections) == WEIR_OK &&
		    weir_sem_destroy(&served) == WEIR_OK &&
		    weir_sem_destroy(&stop_asked) == WEIR_OK;
	puts(good ? "a tidy end" : "it went WRONG");
	return good ? 0 : 1;
}
