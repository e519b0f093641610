/* SPDX-License-Identifier: MIT */
/*
 * Forty threads share five connections.  A connection is created on demand,
 * breaks now and then and is replaced.  A broken connection is not lent again,
 * the server never sees more than five connections, and at the end all are
 * closed.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <weir/pool.h>

#define THREADS 40
#define CONNECTIONS 5
#define QUERIES 50

struct connection {
	int queries;
};

static atomic_int connected, most, made, served;

static weir_err dial(void *server, struct weir_ctx *ctx, void **resource)
{
	struct connection *c = calloc(1, sizeof(*c));
	int now, before = most;

	(void)server;
	(void)ctx;
	if (!c)
		return WEIR_ENOMEM;
	now = atomic_fetch_add(&connected, 1) + 1;
	while (now > before &&
	       !atomic_compare_exchange_weak(&most, &before, now))
		;
	atomic_fetch_add(&made, 1);
	*resource = c;
	return WEIR_OK;
}

static void hang_up(void *server, void *resource)
{
	(void)server;
	atomic_fetch_sub(&connected, 1);
	free(resource);
}

/* Every thirtieth query breaks its connection. */
static bool query(struct connection *c)
{
	atomic_fetch_add(&served, 1);
	return ++c->queries % 30 != 0;
}

static void *client(void *arg)
{
	weir_pool *pool = arg;
	weir_pool_item *item;

	for (int i = 0; i < QUERIES; i++) {
		if (weir_pool_borrow(pool, "client", NULL, &item) != WEIR_OK)
			exit(1);
		if (query(item->resource))
			weir_pool_give_back(pool, item);
		else
			weir_pool_discard(pool, item);
	}
	return NULL;
}

int main(void)
{
	const weir_pool_opts opts = { .max = CONNECTIONS, .create = dial,
				      .destroy = hang_up, .name = "database" };
	pthread_t threads[THREADS];
	weir_pool pool;

	if (weir_pool_init(&pool, NULL, &opts) != WEIR_OK)
		return 1;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, client, &pool))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	weir_pool_close(&pool);
	if (weir_pool_wait_idle(&pool, NULL) != WEIR_OK ||
	    weir_pool_destroy(&pool) != WEIR_OK)
		return 1;
	printf("%d queries over %s connections, %d left open\n",
	       atomic_load(&served), most <= CONNECTIONS ? "at most 5" :
	       "TOO MANY", atomic_load(&connected));
	printf("%d were made, to replace those that broke\n",
	       atomic_load(&made));
	return most > CONNECTIONS || connected || served != THREADS * QUERIES;
}
