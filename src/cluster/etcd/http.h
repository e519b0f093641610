/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CLUSTER_ETCD_HTTP_H
#define WEIR_CLUSTER_ETCD_HTTP_H

/* Requests to the JSON gateway of etcd. */
#include <curl/curl.h>
#include <jansson.h>

#include "cluster/engine.h"

/* The longest answer that is read: the server is not trusted. */
#define HTTP_MAX (32 << 20)

struct text {
	char *data;		/* NUL-terminated; null: empty */
	size_t size;
};

/* A connection to one of the endpoints. */
struct http {
	const struct session *session;
	CURL *curl;		/* null: not opened yet */
	int host;		/* index of the endpoint */
	struct curl_slist *headers;
};

void weir_cl_http_init_(struct http *http, const struct session *session);
void weir_cl_http_close_(struct http *http);
/* Set the options of all requests.  Returns false if memory is exhausted. */
bool weir_cl_http_set_up_(struct http *http, CURL *curl, const char *path);
/* Add data to *text, up to HTTP_MAX. */
bool weir_cl_http_append_(struct text *text, const char *data, size_t size);

/*
 * Post the request and parse the answer.  *code is etcd's error code; 0: none.
 * If *code is not 0, then *answer is null and *fault describes it.  Consumes
 * the reference to `request`.
 */
enum result weir_cl_http_post_(struct http *http, const char *path,
			       json_t *request, json_t **answer, int *code,
			       int64_t deadline, struct fault *fault);

/* Codes of gRPC that etcd uses. */
enum { CODE_NOT_FOUND = 5, CODE_DENIED = 7, CODE_RANGE = 11,
       CODE_UNAVAILABLE = 14, CODE_UNAUTHENTICATED = 16 };

#endif /* WEIR_CLUSTER_ETCD_HTTP_H */
