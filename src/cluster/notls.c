/* SPDX-License-Identifier: MIT */
/* In place of tls.c if the library is built without OpenSSL. */
#include <errno.h>
#include <stdlib.h>

#include "cluster/net.h"

struct tls *weir_cl_tls_open_(int fd, const char *host, const char *ca,
			      int64_t deadline, struct fault *fault)
{
	(void)fd;
	(void)ca;
	(void)deadline;
	(void)weir_cl_fault_(fault, RES_REFUSED, ENOTSUP,
			     "%s: this library was built without TLS", host);
	return NULL;
}

void weir_cl_tls_close_(struct tls *tls)
{
	free(tls);
}

ssize_t weir_cl_tls_write_(struct tls *tls, const char *data, size_t size,
			   short *events)
{
	(void)tls;
	(void)data;
	(void)size;
	(void)events;
	errno = ENOTSUP;
	return -1;
}

ssize_t weir_cl_tls_read_(struct tls *tls, char *data, size_t size,
			  short *events)
{
	(void)tls;
	(void)data;
	(void)size;
	(void)events;
	errno = ENOTSUP;
	return -1;
}
