/* SPDX-License-Identifier: MIT */
#include "world.h"

#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>

void world_log(world *w, const char *format, ...)
{
	scene *s = w->scene;
	char *line = s->log[s->step % LOG_SIZE];
	va_list args;
	int used = snprintf(line, LOG_LINE, "%" PRId64 ":%s ", s->step,
			    w == s->world[0] ? "" : " (second)");

	va_start(args, format);
	vsnprintf(line + used, (size_t)(LOG_LINE - used), format, args);
	va_end(args);
}

static void print_log(world *w)
{
	const scene *s = w->scene;
	const model *m = &w->m;

	for (int i = LOG_SIZE - 1; i >= 0; i--)
		if (s->step >= i)
			printf("  %s\n", s->log[(s->step - i) % LOG_SIZE]);
	printf("the model: capacity %" PRId64 " free %" PRId64 " held %" PRId64
	       " debt %" PRId64 " queue %d oversized %d%s%s%s%s\n", m->capacity,
	       m->free, m->held, m->debt, m->queue.count, m->oversized.count,
	       m->unbounded ? " unbounded" : "",
	       w->policy == WEIR_BARGING ? " barging" : "",
	       m->closed ? " closed" : "", m->drain ? " drain" : "");
}

/*
 * If a call hangs, the harness's alarm ends the program; the log is printed
 * then too.
 */
static world *watched;
static struct sigaction alarm_before;

static void out_of_time(int signal)
{
	print_log(watched);
	fflush(stdout);
	alarm_before.sa_handler(signal);
}

void world_watch(world *w)
{
	struct sigaction action = { .sa_handler = out_of_time };

	watched = w;
	CHECK_EQ(sigaction(SIGALRM, &action, &alarm_before), 0);
}

void world_unwatch(void)
{
	CHECK_EQ(sigaction(SIGALRM, &alarm_before, NULL), 0);
}

void world_expect(world *w, const char *what, int64_t got, int64_t want)
{
	if (got == want)
		return;
	print_log(w);
	check_fail(__FILE__, __LINE__,
		   "step %" PRId64 ": %s is %" PRId64
		   ", the model says %" PRId64, w->scene->step, what, got,
		   want);
}

/* A thread that does not arrive in time fails the test. */
void world_nap(world *w, const char *what, int64_t *started)
{
	int64_t now = weir_now_ns();

	if (!*started)
		*started = now;
	if (now - *started > w->scene->patience_ns)
		world_expect(w, what, 0, 1);
	sched_yield();
}

static bool lists_match(world *w, weir_sem_info *i)
{
	*i = stat_of(w->sem);
	return i->waiters == (uint32_t)w->m.queue.count &&
	       i->oversized == (uint32_t)w->m.oversized.count;
}

static void compare(world *w)
{
	weir_sem_info i;
	int64_t started = 0;

	/* A thread that has to wait may not have reached its list yet. */
	while (!lists_match(w, &i) || i.granted) {
		if (started && weir_now_ns() - started > w->scene->patience_ns) {
			EXPECT(w, i.waiters, w->m.queue.count);
			EXPECT(w, i.oversized, w->m.oversized.count);
			EXPECT(w, i.granted, 0);
		}
		world_nap(w, "the waiter lists match", &started);
	}
	EXPECT(w, i.capacity, w->m.capacity);
	EXPECT(w, i.free, w->m.free);
	EXPECT(w, i.held, w->m.held);
	EXPECT(w, i.debt, w->m.debt);
	EXPECT(w, i.waiting_permits, model_waiting_permits(&w->m));
	EXPECT(w, i.closed, w->m.closed);
	EXPECT(w, i.unbounded, w->m.unbounded);
	EXPECT(w, i.policy, w->policy);
	EXPECT(w, i.oldest_wait_ns >= 0, true);
	EXPECT(w, weir_sem_available(w->sem), w->m.free);
	EXPECT(w, weir_sem_is_closed(w->sem), w->m.closed);
}

/* C6, C7: queue and counts are right before any other thread has run. */
static void compare_at_once(world *w)
{
	weir_sem_info i = stat_of(w->sem);

	EXPECT(w, i.waiters, w->m.queue.count);
	EXPECT(w, i.oversized, w->m.oversized.count);
	EXPECT(w, i.free, w->m.free);
	EXPECT(w, i.debt, w->m.debt);
	if (!w->m.unbounded)
		EXPECT(w, i.held + i.granted, w->m.held);
}

static void reap(world *w, model_end end)
{
	pool_worker *p = &w->pool[end.id];
	int64_t started = 0;

	while (!pool_done(p))
		world_nap(w, "a call that has to end has ended", &started);
	EXPECT(w, p->err, end.err);
	EXPECT(w, p->got, end.got);
	p->busy = false;
}

/* C34: a permit remembers its semaphore and its count. */
static void compare_holds(world *w)
{
	for (int i = 0; i < HOLDS; i++) {
		const hold *h = &w->scene->hold[i];

		EXPECT(w, weir_permit_count(&h->permit), h->n);
		EXPECT(w, weir_permit_sem(&h->permit) ==
			       (h->of ? h->of->sem : NULL), true);
		EXPECT(w, weir_permit_is_owned(&h->permit), h->owned);
	}
}

void world_settle(world *w, bool at_once)
{
	if (at_once)
		compare_at_once(w);
	for (int i = 0; i < w->m.ends; i++)
		reap(w, w->m.ended[i]);
	w->m.ends = 0;
	compare(w);
	compare_holds(w);
	for (int i = 0; i < POOL_SIZE; i++)
		if (w->pool[i].busy)
			EXPECT(w, pool_done(&w->pool[i]), false);
	w->scene->step++;
}

pool_worker *world_idle_worker(world *w)
{
	for (int i = 0; i < POOL_SIZE; i++)
		if (!w->pool[i].busy)
			return &w->pool[i];
	return NULL;
}

void world_no_panic(const char *message)
{
	check_fail(__FILE__, __LINE__, "panic: %s", message);
}

static int panics, panics_expected;

static void count_panic(const char *message)
{
	(void)message;
	panics++;
}

void world_expect_panics(int count)
{
	panics = 0;
	panics_expected = count;
	weir_set_panic_hook(count ? count_panic : world_no_panic);
}

void world_check_panics(world *w)
{
	weir_set_panic_hook(world_no_panic);
	EXPECT(w, panics, panics_expected);
}
