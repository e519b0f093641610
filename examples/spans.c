/* SPDX-License-Identifier: MIT */
/*
 * Waits and holds as spans of OpenTelemetry, one JSON object (OTLP/JSON) a line.
 *
 *     spans          three requests that wait for a pool, and one that times out
 *
 * The event hook of weir/diag.h reports the slow paths, on the thread of the call.
 * Each thread works on one request and has its open spans in thread-local memory:
 *
 *     queued            a span "weir.wait" begins
 *     acquired, left    it ends: OK, or an error
 *     acquired          a span "weir.hold" begins
 *     released          it ends
 *
 * The fast paths report nothing: an acquire without a wait, a release without a
 * waiter.  So acquire() and release() below begin and end the spans that the hook
 * did not see.  A program that wants waits only needs the hook alone.
 *
 * The hook uses snprintf and a lock of stdio, so this program releases in no signal
 * handler.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "weir/diag.h"
#include "weir/sem.h"

#define HOLDS_MAX 16
#define REQUESTS 3

struct span {
	uint64_t id, parent;
	int64_t start_ns;	/* of the epoch */
	const void *object;
	int64_t n;
	char semaphore[64];
};

/* The request of this thread. */
static _Thread_local struct {
	uint64_t trace[2];
	struct span request, wait;
	struct span holds[HOLDS_MAX];
	int open_holds;
	bool is_waiting;
	bool reported;		/* the hook has seen the end of this call */
} my;

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* A random number that is not 0: an id of all zeros is invalid. */
static uint64_t new_id(void)
{
	uint64_t id = 0;

	while (!id)
		if (getrandom(&id, sizeof(id), 0) != sizeof(id))
			abort();
	return id;
}

static struct span begin(const void *object, const char *name, int64_t n,
			 uint64_t parent)
{
	struct span span = { .id = new_id(), .parent = parent,
			     .start_ns = now_ns(), .object = object, .n = n };
	size_t at = 0;

	/* For a JSON string: other bytes than these would need an escape. */
	for (; name && *name && at + 1 < sizeof(span.semaphore); name++)
		span.semaphore[at++] = (unsigned char)*name < ' ' ||
				       strchr("\"\\\x7f", *name) ? '?' : *name;
	return span;
}

static void end(const struct span *span, const char *name, weir_err err)
{
	char line[1024];
	int length = snprintf(line, sizeof(line),
		"{\"traceId\":\"%016" PRIx64 "%016" PRIx64 "\",\"spanId\":\"%016" PRIx64 "\","
		"\"parentSpanId\":\"", my.trace[0], my.trace[1], span->id);

	if (span->parent)
		length += snprintf(line + length, sizeof(line) - (size_t)length,
				   "%016" PRIx64, span->parent);
	length += snprintf(line + length, sizeof(line) - (size_t)length,
		"\",\"name\":\"%s\",\"kind\":1,"
		"\"startTimeUnixNano\":\"%" PRId64 "\",\"endTimeUnixNano\":\"%" PRId64 "\","
		"\"attributes\":[", name, span->start_ns, now_ns());
	if (span->object)
		length += snprintf(line + length, sizeof(line) - (size_t)length,
			"{\"key\":\"weir.semaphore\",\"value\":{\"stringValue\":\"%s\"}},"
			"{\"key\":\"weir.permits\",\"value\":{\"intValue\":\"%" PRId64 "\"}}",
			span->semaphore, span->n);
	/* 1: OK, 2: error. */
	if (err)
		length += snprintf(line + length, sizeof(line) - (size_t)length,
			"],\"status\":{\"code\":2,\"message\":\"%s\"}}\n",
			weir_err_name(err));
	else
		length += snprintf(line + length, sizeof(line) - (size_t)length,
			"],\"status\":{\"code\":1}}\n");
	/*
	 * One call, so that the lines of several threads do not mix.  A span that
	 * cannot be written is lost: that must not end the request.
	 */
	(void)!fwrite(line, 1, (size_t)length, stdout);
}

static void begin_hold(const void *object, const char *name, int64_t n)
{
	if (my.open_holds < HOLDS_MAX)
		my.holds[my.open_holds++] = begin(object, name, n,
						  my.request.id);
}

/* The newest hold of the object; none if another thread has acquired. */
static void end_hold(const void *object)
{
	int i = my.open_holds;

	while (i-- > 0)
		if (my.holds[i].object == object) {
			end(&my.holds[i], "weir.hold", WEIR_OK);
			my.open_holds--;
			memmove(&my.holds[i], &my.holds[i + 1],
				sizeof(my.holds[0]) * (size_t)(my.open_holds - i));
			return;
		}
}

static void hook(const weir_diag_event *event)
{
	switch (event->kind) {
	case WEIR_DIAG_QUEUED:
		my.wait = begin(event->object, event->name, event->n,
				my.request.id);
		my.is_waiting = true;
		break;
	case WEIR_DIAG_ACQUIRED:
	case WEIR_DIAG_LEFT:
		if (my.is_waiting)
			end(&my.wait, "weir.wait", event->err);
		my.is_waiting = false;
		if (event->kind == WEIR_DIAG_ACQUIRED)
			begin_hold(event->object, event->name, event->n);
		my.reported = true;
		break;
	case WEIR_DIAG_RELEASED:
		end_hold(event->object);
		my.reported = true;
		break;
	case WEIR_DIAG_RESIZED:
	case WEIR_DIAG_CLOSED:
	case WEIR_DIAG_FOUND:
		break;
	}
}

static weir_err acquire(weir_sem *sem, const char *name, int64_t n,
			int64_t timeout_ns)
{
	weir_err err;

	my.reported = false;
	err = weir_sem_acquire_for(sem, n, timeout_ns);
	if (!err && !my.reported)
		begin_hold(sem, name, n);
	return err;
}

static void release(weir_sem *sem, int64_t n)
{
	my.reported = false;
	weir_sem_release(sem, n);
	/* The address is compared only; *sem may be gone. */
	if (!my.reported)
		end_hold(sem);
}

static void begin_request(void)
{
	my.trace[0] = new_id();
	my.trace[1] = new_id();
	my.request = begin(NULL, NULL, 0, 0);
}

static void end_request(weir_err err)
{
	end(&my.request, "request", err);
}

static weir_sem pool;

/* *timeout_ns: how long the request waits for a connection. */
static void *serve(void *timeout_ns)
{
	weir_err err;

	begin_request();
	err = acquire(&pool, "db_pool", 1, *(const int64_t *)timeout_ns);
	if (!err) {
		usleep(2000);	/* the work */
		release(&pool, 1);
	}
	end_request(err);
	return NULL;
}

static void must(bool ok)
{
	if (!ok) {
		fputs("spans: a call failed\n", stderr);
		exit(1);
	}
}

int main(void)
{
	static int64_t forever = WEIR_FOREVER, soon = 2000000000;
	weir_sem_opts opts = { .permits = 2, .name = "db_pool" };
	pthread_t threads[REQUESTS], late;
	weir_sem_info info;

	must(weir_sem_init_opts(&pool, &opts) == WEIR_OK);
	weir_diag_set_hook(hook);

	/* All connections are in use, so the requests must wait. */
	begin_request();
	must(acquire(&pool, "db_pool", 2, WEIR_FOREVER) == WEIR_OK);
	for (int i = 0; i < REQUESTS; i++)
		must(!pthread_create(&threads[i], NULL, serve, &forever));
	must(!pthread_create(&late, NULL, serve, &soon));
	must(!pthread_join(late, NULL));
	do
		must(weir_sem_stat(&pool, &info) == WEIR_OK);
	while (info.waiters < REQUESTS && !usleep(1000));
	release(&pool, 2);
	for (int i = 0; i < REQUESTS; i++)
		must(!pthread_join(threads[i], NULL));
	end_request(WEIR_OK);

	weir_diag_set_hook(NULL);
	must(weir_sem_destroy(&pool) == WEIR_OK);
	must(!fflush(stdout) && !ferror(stdout));
	return 0;
}
