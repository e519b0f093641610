/* SPDX-License-Identifier: MIT */
/*
 * A watch as a stream (stream.h): an HTTP request whose answer does not end.
 * Each line of the answer is a message.
 */
#include "cluster/etcd/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static size_t receive(char *data, size_t one, size_t count, void *user)
{
	struct watch *w = user;

	if (!weir_cl_http_append_(&w->text, data, one * count)) {
		w->broken = true;
		return 0;
	}
	return one * count;
}

/* Note the socket: curl does not reveal that of an unfinished transfer. */
static curl_socket_t open_socket(void *user, curlsocktype purpose,
				 struct curl_sockaddr *to)
{
	struct watch *w = user;

	(void)purpose;
	w->fd = socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
	return w->fd < 0 ? CURL_SOCKET_BAD : w->fd;
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

bool weir_cl_stream_begin_(struct engine *e, struct watch *w, const char *sub,
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

void weir_cl_stream_close_(struct engine *e, struct watch *w)
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

/* Mark the watches whose transfers have ended as broken. */
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

bool weir_cl_stream_run_(struct engine *e)
{
	int running;

	if (curl_multi_perform(e->multi, &running) != CURLM_OK)
		return false;
	find_ended(e);
	return true;
}

json_t *weir_cl_stream_next_(struct watch *w)
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

json_t *weir_cl_stream_events_(struct watch *w, const json_t *message)
{
	json_t *result = json_object_get(message, "result");
	int64_t revision = weir_cl_etcd_number_(json_object_get(result,
						"header"), "revision");

	if (!result || json_is_true(json_object_get(result, "canceled")))
		w->broken = true;
	/* The events were compacted: continue after the current revision. */
	if (weir_cl_etcd_number_(result, "compact_revision") > 0)
		w->revision = revision;
	if (json_is_true(json_object_get(result, "created")))
		w->created = true;
	else if (revision > w->revision)
		w->revision = revision;
	return json_object_get(result, "events");
}
