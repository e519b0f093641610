/* SPDX-License-Identifier: MIT */
/*
 * Watches: the outcomes of this handle's requests, and, if one of its requests
 * is among the first of the queue, deletions of leases by the death of their
 * holders.  A watch begins after a revision that is older than the handle's
 * first request, and goes on after the last event, so no event is lost.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cluster/clock.h"
#include "cluster/etcd/etcd.h"

static size_t receive(char *data, size_t one, size_t count, void *user)
{
	struct watch *w = user;

	if (!weir_cl_http_append_(&w->text, data, one * count)) {
		w->broken = true;
		return 0;
	}
	return one * count;
}

/* curl does not reveal the socket of a transfer that is not finished. */
static curl_socket_t open_socket(void *user, curlsocktype purpose,
				 struct curl_sockaddr *to)
{
	struct watch *w = user;

	(void)purpose;
	w->fd = socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
	return w->fd < 0 ? CURL_SOCKET_BAD : w->fd;
}

static void close_watch(struct engine *e, struct watch *w)
{
	if (w->curl) {
		(void)curl_multi_remove_handle(e->multi, w->curl);
		curl_easy_cleanup(w->curl);
	}
	free(w->text.data);
	weir_cl_http_close_(&w->http);
	w->curl = NULL;
	w->fd = -1;
	w->text = (struct text){ NULL, 0 };
	w->created = w->broken = false;
}

void weir_cl_etcd_unwatch_(struct engine *e)
{
	close_watch(e, &e->own);
	close_watch(e, &e->deaths);
	if (e->multi)
		(void)curl_multi_cleanup(e->multi);
	if (e->epoll_fd >= 0)
		close(e->epoll_fd);
	if (e->nudge_fd >= 0)
		close(e->nudge_fd);
	e->multi = NULL;
	e->epoll_fd = e->nudge_fd = -1;
}

/* Returns the request of a watch. */
static json_t *create_request(const char *prefix, bool deletions,
			      int64_t revision)
{
	json_t *range = weir_cl_etcd_range_(prefix, true);
	char number[24];

	(void)snprintf(number, sizeof(number), "%lld", (long long)revision + 1);
	if (!range || json_object_set_new(range, "start_revision",
					  json_string(number)) ||
	    (deletions && json_object_set_new(range, "filters",
					      json_pack("[s]", "NOPUT")))) {
		json_decref(range);
		return NULL;
	}
	return json_pack("{s:o}", "create_request", range);
}

/* Take one complete line of the stream.  Returns null if there is none. */
static json_t *next_message(struct watch *w)
{
	char *end = w->text.data ? strchr(w->text.data, '\n') : NULL;
	json_t *message;
	size_t length;

	if (!end)
		return NULL;
	*end = 0;
	message = json_loads(w->text.data, 0, NULL);
	length = (size_t)(end + 1 - w->text.data);
	memmove(w->text.data, end + 1, w->text.size - length + 1);
	w->text.size -= length;
	if (!json_is_object(message)) {
		json_decref(message);
		w->broken = true;
		return NULL;
	}
	return message;
}

/* Note the header of a message.  Returns its events, or null. */
static json_t *events_of(struct watch *w, const json_t *message)
{
	json_t *result = json_object_get(message, "result");
	int64_t revision = weir_cl_etcd_number_(json_object_get(result,
						"header"), "revision");

	if (!result || json_is_true(json_object_get(result, "canceled")))
		w->broken = true;
	/* Compacted: continue with the oldest revision that exists. */
	if (weir_cl_etcd_number_(result, "compact_revision") > 0)
		w->revision = revision;
	if (json_is_true(json_object_get(result, "created")))
		w->created = true;
	else if (revision > w->revision)
		w->revision = revision;
	return json_object_get(result, "events");
}

static bool run(struct engine *e)
{
	int running;

	return curl_multi_perform(e->multi, &running) == CURLM_OK;
}

/* Has curl ended a transfer?  A watch never ends by itself. */
static void find_ended(struct engine *e)
{
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(e->multi, &left))) {
		if (message->easy_handle == e->own.curl)
			e->own.broken = true;
		if (message->easy_handle == e->deaths.curl)
			e->deaths.broken = true;
	}
}

static bool begin(struct engine *e, struct watch *w, const char *sub,
		  const char *id, bool deletions)
{
	char key[ETCD_KEY], *body;
	json_t *request;

	weir_cl_model_key_(key, e->session.url.name, sub, id);
	request = create_request(key, deletions, w->revision);
	body = request ? json_dumps(request, JSON_COMPACT) : NULL;
	json_decref(request);
	if (!w->http.session)
		weir_cl_http_init_(&w->http, &e->session);
	w->http.session = &e->session;
	w->http.host = e->lanes[LANE_THREAD].host;
	w->curl = curl_easy_init();
	if (!body || !w->curl ||
	    !weir_cl_http_set_up_(&w->http, w->curl, "watch")) {
		free(body);
		return false;
	}
	curl_easy_setopt(w->curl, CURLOPT_COPYPOSTFIELDS, body);
	curl_easy_setopt(w->curl, CURLOPT_WRITEFUNCTION, receive);
	curl_easy_setopt(w->curl, CURLOPT_WRITEDATA, w);
	curl_easy_setopt(w->curl, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	curl_easy_setopt(w->curl, CURLOPT_OPENSOCKETDATA, w);
	curl_easy_setopt(w->curl, CURLOPT_FRESH_CONNECT, 1L);
	curl_easy_setopt(w->curl, CURLOPT_FORBID_REUSE, 1L);
	free(body);
	return curl_multi_add_handle(e->multi, w->curl) == CURLM_OK;
}

/* Wait until the server has created the watch. */
static bool await(struct engine *e, struct watch *w, int64_t deadline)
{
	while (!w->created && !w->broken) {
		json_t *message;
		int ready, left = boot_poll_ms(deadline);

		if (!left || !run(e))
			return false;
		find_ended(e);
		message = next_message(w);
		if (message)
			(void)events_of(w, message);
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
	if (begin(e, w, sub, id, deletions) && await(e, w, deadline) &&
	    add_to_epoll(e, w->fd))
		return true;
	close_watch(e, w);
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
	/* Events may have come with the answer that the watch was created. */
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
	int64_t deadline = boot_now() + e->session.timeout_ns;
	bool died = false;
	json_t *message;
	uint64_t count;

	(void)!read(e->nudge_fd, &count, sizeof(count));
	if (!e->multi || !run(e))
		e->own.broken = true;
	else
		find_ended(e);
	while ((message = next_message(&e->own))) {
		report(events_of(&e->own, message), fn, user);
		json_decref(message);
	}
	while (e->deaths.curl && (message = next_message(&e->deaths))) {
		died = died || json_array_size(events_of(&e->deaths, message));
		json_decref(message);
	}
	if (e->own.broken || e->deaths.broken) {
		close_watch(e, &e->own);
		close_watch(e, &e->deaths);
		return weir_cl_fault_(fault, RES_UNSENT, ECONNRESET,
				      "etcd: a watch has ended");
	}
	return died ? weir_cl_etcd_settle_(e, LANE_THREAD, deadline, fault) :
	       RES_OK;
}
