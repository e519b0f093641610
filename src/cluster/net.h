/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CLUSTER_NET_H
#define WEIR_CLUSTER_NET_H

/*
 * A TCP connection, with TLS if the library was built with OpenSSL.  Every call
 * ends at its deadline (CLOCK_BOOTTIME).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cluster/engine.h"

struct tls;

struct net {
	int fd;			/* -1: not connected */
	struct tls *tls;	/* null: plain */
	int64_t patience;	/* time limit of one recv(2) */
};

/* Let reads of a plain socket block, at most for `patience`. */
void weir_cl_net_block_(struct net *net, int64_t patience);
/* Returns RES_OK or RES_UNSENT.  ca: a file of certificates; empty: the system's. */
enum result weir_cl_net_connect_(struct net *net, const struct url_host *host,
				 const char *port, bool tls, const char *ca,
				 int64_t deadline, struct fault *fault);
void weir_cl_net_close_(struct net *net);

/* Write everything.  Returns false with errno. */
bool weir_cl_net_write_(struct net *net, const char *data, size_t size,
			int64_t deadline);
/*
 * Read at least one byte.  Returns the number of bytes; 0 at the end of the
 * stream; -1 with errno: ETIMEDOUT if the deadline has passed.
 */
ssize_t weir_cl_net_read_(struct net *net, char *data, size_t size,
			  int64_t deadline);

/* As weir_cl_net_read_, without waiting: -1 with EAGAIN if no byte is there. */
ssize_t weir_cl_net_read_now_(struct net *net, char *data, size_t size);

/* TLS over a connected socket: tls.c, or notls.c without OpenSSL. */
struct tls *weir_cl_tls_open_(int fd, const char *host, const char *ca,
			      int64_t deadline, struct fault *fault);
void weir_cl_tls_close_(struct tls *tls);
/*
 * As send(2) and recv(2) on a non-blocking socket.  If errno is EAGAIN, then
 * *events has the events to poll for.
 */
ssize_t weir_cl_tls_write_(struct tls *tls, const char *data, size_t size,
			   short *events);
ssize_t weir_cl_tls_read_(struct tls *tls, char *data, size_t size,
			  short *events);

/* Poll for events until the deadline.  Returns false with errno. */
bool weir_cl_net_poll_(int fd, short events, int64_t deadline);

#endif /* WEIR_CLUSTER_NET_H */
