/* SPDX-License-Identifier: MIT */
/* Requests to the JSON gateway of etcd, one connection for each lane. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/clock.h"
#include "cluster/etcd/http.h"

void weir_cl_http_init_(struct http *http, const struct session *session)
{
	memset(http, 0, sizeof(*http));
	http->session = session;
}

void weir_cl_http_close_(struct http *http)
{
	if (http->curl)
		curl_easy_cleanup(http->curl);
	curl_slist_free_all(http->headers);
	http->curl = NULL;
	http->headers = NULL;
}

bool weir_cl_http_append_(struct text *text, const char *data, size_t size)
{
	char *grown;

	if (text->size + size > HTTP_MAX)
		return false;
	grown = realloc(text->data, text->size + size + 1);
	if (!grown)
		return false;
	memcpy(grown + text->size, data, size);
	text->data = grown;
	text->size += size;
	grown[text->size] = 0;
	return true;
}

static size_t receive(char *data, size_t one, size_t count, void *user)
{
	return weir_cl_http_append_(user, data, one * count) ? one * count : 0;
}

/* curl must be set up once, before the first thread uses it. */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void set_up_once(void)
{
	(void)curl_global_init(CURL_GLOBAL_DEFAULT);
}

bool weir_cl_http_set_up_(struct http *http, CURL *curl, const char *path)
{
	const struct url *url = &http->session->url;
	const struct url_host *host = &url->hosts[http->host];
	bool six = strchr(host->name, ':');
	char where[URL_TEXT + 64];

	(void)snprintf(where, sizeof(where), "%s://%s%s%s:%s/v3/%s",
		       url->tls ? "https" : "http", six ? "[" : "", host->name,
		       six ? "]" : "", host->port[0] ? host->port : "2379",
		       path);
	if (!http->headers) {
		http->headers = curl_slist_append(NULL,
						  "Content-Type: application/json");
		if (!http->headers)
			return false;
	}
	curl_easy_setopt(curl, CURLOPT_URL, where);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_TCP_NODELAY, 1L);
	curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(curl, CURLOPT_TCP_KEEPIDLE, 10L);
	curl_easy_setopt(curl, CURLOPT_TCP_KEEPINTVL, 5L);
	curl_easy_setopt(curl, CURLOPT_HTTP_VERSION,
			 (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(curl, CURLOPT_PROXY, "");
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, http->headers);
	if (url->ca[0])
		curl_easy_setopt(curl, CURLOPT_CAINFO, url->ca);
	return true;
}

/*
 * Returns true if no byte of the request was sent.  The code does not tell: if
 * the server ends an idle connection, then curl sends the request again, and
 * the code is that of the second attempt.
 */
static bool is_unsent(CURL *curl)
{
	long size = 1;

	(void)curl_easy_getinfo(curl, CURLINFO_REQUEST_SIZE, &size);
	return !size;
}

static int error_of(CURLcode code)
{
	switch (code) {
	case CURLE_COULDNT_CONNECT:
		return ECONNREFUSED;
	case CURLE_COULDNT_RESOLVE_HOST:
		return EHOSTUNREACH;
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_PEER_FAILED_VERIFICATION:
		return EPROTO;
	default:
		return ETIMEDOUT;
	}
}

/* Post the request to one endpoint; `hosts` may still be tried in this time. */
static enum result perform(struct http *http, const char *path,
			   const char *body, struct text *text, int hosts,
			   int64_t deadline, struct fault *fault)
{
	int64_t left = (deadline - boot_now()) / 1000000;
	CURLcode code;

	if (left < 1)
		left = 1;
	pthread_once(&once, set_up_once);
	if (!http->curl)
		http->curl = curl_easy_init();
	if (!http->curl || !weir_cl_http_set_up_(http, http->curl, path))
		return weir_cl_fault_(fault, RES_UNSENT, ENOMEM,
				      "out of memory");
	curl_easy_setopt(http->curl, CURLOPT_POSTFIELDS, body);
	curl_easy_setopt(http->curl, CURLOPT_WRITEFUNCTION, receive);
	curl_easy_setopt(http->curl, CURLOPT_WRITEDATA, text);
	curl_easy_setopt(http->curl, CURLOPT_CONNECTTIMEOUT_MS,
			 (long)(left / hosts + 1));
	/* The rest is for a repetition, which goes to the next endpoint. */
	curl_easy_setopt(http->curl, CURLOPT_TIMEOUT_MS,
			 (long)(hosts > 1 ? left / 2 + 1 : left));
	code = curl_easy_perform(http->curl);
	if (code == CURLE_OK)
		return RES_OK;
	/* Try the next endpoint next time. */
	http->host = (http->host + 1) % http->session->url.host_count;
	return weir_cl_fault_(fault, is_unsent(http->curl) ? RES_UNSENT :
			      RES_UNKNOWN, error_of(code), "etcd: %s",
			      curl_easy_strerror(code));
}

/* Translate an error of etcd: {"error": text, "code": number}. */
static enum result etcd_error(struct http *http, json_t *answer, int *code,
			      struct fault *fault)
{
	const char *text = json_string_value(json_object_get(answer, "error"));
	int number = (int)json_integer_value(json_object_get(answer, "code"));

	if (!text)
		text = "an error without a text";
	*code = number ? number : 2;
	switch (number) {
	case CODE_NOT_FOUND:
	case CODE_RANGE:
		(void)weir_cl_fault_(fault, RES_OK, EIO, "etcd: %s", text);
		return RES_OK;
	case CODE_DENIED:
	case CODE_UNAUTHENTICATED:
		return weir_cl_fault_(fault, RES_REFUSED, EACCES, "etcd: %s",
				      text);
	case 3:
		/* The answer to every request if etcd authenticates users. */
		if (strstr(text, "user name is empty"))
			return weir_cl_fault_(fault, RES_REFUSED, EACCES,
					      "etcd requires a user, and weir "
					      "does not authenticate users of "
					      "etcd");
		return weir_cl_fault_(fault, RES_REFUSED, EIO, "etcd: %s",
				      text);
	default:
		http->host = (http->host + 1) % http->session->url.host_count;
		return weir_cl_fault_(fault, RES_UNKNOWN, ETIMEDOUT,
				      "etcd: %s", text);
	}
}

enum result weir_cl_http_post_(struct http *http, const char *path,
			       json_t *request, json_t **answer, int *code,
			       int64_t deadline, struct fault *fault)
{
	char *body = request ? json_dumps(request, JSON_COMPACT) : NULL;
	struct text text = { NULL, 0 };
	enum result result = RES_UNSENT;
	json_error_t error;

	json_decref(request);
	*answer = NULL;
	*code = 0;
	if (!body)
		return weir_cl_fault_(fault, RES_UNSENT, ENOMEM,
				      "out of memory");
	/* An endpoint that was not reached is not the last one. */
	for (int hosts = http->session->url.host_count; hosts > 0; hosts--) {
		result = perform(http, path, body, &text, hosts, deadline,
				 fault);
		if (result != RES_UNSENT)
			break;
	}
	free(body);
	if (!result) {
		/* A stream has one object on each line; the first is enough. */
		*answer = json_loads(text.data ? text.data : "",
				     JSON_DISABLE_EOF_CHECK, &error);
		if (!json_is_object(*answer))
			result = weir_cl_fault_(fault, RES_REFUSED, EPROTO,
						"the answer is not of etcd");
		else if (json_object_get(*answer, "error"))
			result = etcd_error(http, *answer, code, fault);
	}
	free(text.data);
	if (result || *code) {
		json_decref(*answer);
		*answer = NULL;
	}
	return result;
}
