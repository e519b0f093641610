/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CLUSTER_URL_H
#define WEIR_CLUSTER_URL_H

/* The parts of a URL that names a semaphore. */
#include <stdbool.h>
#include <stdint.h>

#define URL_HOSTS 8
#define URL_TEXT 256

struct url_host {
	char name[URL_TEXT];
	char port[8];		/* empty: the engine's default */
};

struct url {
	char scheme[16];
	char user[URL_TEXT];
	char password[URL_TEXT];
	struct url_host hosts[URL_HOSTS];
	int host_count;
	char database[URL_TEXT];	/* path before the name, or option db */
	char name[129];
	char ca[URL_TEXT];	/* option ca */
	char sslmode[16];	/* option sslmode */
	int64_t ttl_ns;		/* option ttl; 0: not given */
	int64_t timeout_ns;	/* option timeout; 0: not given */
	uint32_t replicas;	/* option replicas */
	bool tls;		/* by the scheme: rediss, etcds */
};

/*
 * Parse text.  named: it ends with the name of a semaphore; otherwise it is the
 * URL of a server, with or without "/" at its end.  Returns null, or a message
 * about the error; the message contains no part of the text.
 */
const char *weir_cl_url_parse_(const char *text, bool named, struct url *url);

#endif /* WEIR_CLUSTER_URL_H */
