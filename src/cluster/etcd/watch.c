/* SPDX-License-Identifier: MIT */
/*
 * Watches: the outcomes of this handle's requests, and, if one of its requests
 * is among the first of the queue, deletions of leases by the death of their
 * holders.  A watch begins after a revision that is older than the handle's
 * first request, and continues after the last event, so no event is lost.
 * stream.h has the streams of the watches.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "cluster/clock.h"
#include "cluster/etcd/stream.h"

void weir_cl_etcd_unwatch_(struct engine *e)
{
	weir_cl_stream_close_(e, &e->own);
	weir_cl_stream_close_(e, &e->deaths);
	if (e->multi)
		(void)curl_multi_cleanup(e->multi);
	if (e->epoll_fd >= 0)
		close(e->epoll_fd);
	if (e->nudge_fd >= 0)
		close(e->nudge_fd);
	e->multi = NULL;
	e->epoll_fd = e->nudge_fd = -1;
}

/* Wait until the server has created the watch. */
static bool await(struct engine *e, struct watch *w, int64_t deadline)
{
	while (!w->created && !w->broken) {
		json_t *message;
		int ready, left = boot_poll_ms(deadline);

		if (!left || !weir_cl_stream_run_(e))
			return false;
		message = weir_cl_stream_next_(w);
		if (message)
			(void)weir_cl_stream_events_(w, message);
		else if (curl_multi_poll(e->multi, NULL, 0, left, &ready))
			return false;
		json_decref(message);
	}
	return !w->broken;
}

static bool add_to_epoll(struct engine *e, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return fd >= 0 && (!epoll_ctl(e->epoll_fd, EPOLL_CTL_ADD, fd, &event) ||
			   errno == EEXIST);
}

static bool open_watch(struct engine *e, struct watch *w, const char *sub,
		       const char *id, bool deletions, int64_t deadline)
{
	int64_t known;

	if (w->curl)
		return true;
	pthread_mutex_lock(&e->lock);
	known = e->known_revision;
	pthread_mutex_unlock(&e->lock);
	if (!w->revision)
		w->revision = known;
	if (weir_cl_stream_begin_(e, w, sub, id, deletions) &&
	    await(e, w, deadline) && add_to_epoll(e, w->fd))
		return true;
	weir_cl_stream_close_(e, w);
	return false;
}

static bool wants_deaths(struct engine *e)
{
	bool frontier;

	pthread_mutex_lock(&e->lock);
	frontier = e->frontier;
	pthread_mutex_unlock(&e->lock);
	return frontier;
}

static bool set_up(struct engine *e)
{
	if (!e->multi)
		e->multi = curl_multi_init();
	if (e->epoll_fd < 0)
		e->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (e->nudge_fd < 0) {
		e->nudge_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (!add_to_epoll(e, e->nudge_fd))
			return false;
	}
	return e->multi && e->epoll_fd >= 0;
}

enum result weir_cl_etcd_arm_(struct engine *e, int *fd, int64_t deadline,
			      struct fault *fault)
{
	static const uint64_t one = 1;
	char prefix[32];

	(void)snprintf(prefix, sizeof(prefix), "%s.", e->session.id);
	if (!set_up(e) ||
	    !open_watch(e, &e->own, "g/", prefix, false, deadline) ||
	    (wants_deaths(e) &&
	     !open_watch(e, &e->deaths, "g/", "", true, deadline)))
		return weir_cl_fault_(fault, RES_UNSENT, ETIMEDOUT,
				      "etcd: the watch cannot be opened");
	/* Events may have come together with the answer "created". */
	if (e->own.text.size || e->deaths.text.size)
		(void)!write(e->nudge_fd, &one, sizeof(one));
	*fd = e->epoll_fd;
	return RES_OK;
}

static void report(const json_t *events, wake_fn *fn, void *user)
{
	json_t *event;
	size_t i;

	json_array_foreach(events, i, event) {
		const char *type = json_string_value(json_object_get(event,
								     "type"));
		struct answer answer;
		struct entry entry;
		struct kv kv;

		if (type && !strcmp(type, "DELETE"))
			continue;
		if (weir_cl_etcd_kv_(json_object_get(event, "kv"), &kv) &&
		    weir_cl_entry_parse_(kv.value, &entry)) {
			weir_cl_etcd_answer_(&entry, &answer);
			fn(user, entry.id, &answer);
		}
		json_decref(kv.value);
	}
}

enum result weir_cl_etcd_wake_(struct engine *e, wake_fn *fn, void *user,
			       struct fault *fault)
{
	int64_t limit = e->session.ttl_ns / 6;
	bool died = false;
	json_t *message;
	uint64_t count;

	/* The time is limited, because renewals of leases wait meanwhile. */
	if (limit > e->session.timeout_ns)
		limit = e->session.timeout_ns;
	(void)!read(e->nudge_fd, &count, sizeof(count));
	if (!e->multi || !weir_cl_stream_run_(e))
		e->own.broken = true;
	while ((message = weir_cl_stream_next_(&e->own))) {
		report(weir_cl_stream_events_(&e->own, message), fn, user);
		json_decref(message);
	}
	while (e->deaths.curl && (message = weir_cl_stream_next_(&e->deaths))) {
		if (json_array_size(weir_cl_stream_events_(&e->deaths, message)))
			died = true;
		json_decref(message);
	}
	if (e->own.broken || e->deaths.broken) {
		weir_cl_stream_close_(e, &e->own);
		weir_cl_stream_close_(e, &e->deaths);
		return weir_cl_fault_(fault, RES_UNSENT, ECONNRESET,
				      "etcd: a watch has ended");
	}
	return died ? weir_cl_etcd_settle_(e, LANE_THREAD, boot_now() + limit,
					   fault) : RES_OK;
}
