/* SPDX-License-Identifier: MIT */
/* TLS with OpenSSL.  The server's certificate and name are always checked. */
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "cluster/net.h"

struct tls {
	SSL_CTX *context;
	SSL *ssl;
};

/* Translate the result of an OpenSSL call to errno; returns -1, or 0 at end. */
static ssize_t translate(struct tls *tls, int result, short *events)
{
	switch (SSL_get_error(tls->ssl, result)) {
	case SSL_ERROR_WANT_READ:
		*events = POLLIN;
		errno = EAGAIN;
		return -1;
	case SSL_ERROR_WANT_WRITE:
		*events = POLLOUT;
		errno = EAGAIN;
		return -1;
	case SSL_ERROR_ZERO_RETURN:
		return 0;
	case SSL_ERROR_SYSCALL:
		if (!errno)
			errno = ECONNRESET;
		return -1;
	default:
		errno = EPROTO;
		return -1;
	}
}

static bool make_context(struct tls *tls)
{
	tls->context = SSL_CTX_new(TLS_client_method());
	if (!tls->context)
		return false;
	SSL_CTX_set_verify(tls->context, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_mode(tls->context, SSL_MODE_ENABLE_PARTIAL_WRITE |
			 SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
			 SSL_MODE_AUTO_RETRY);
	return SSL_CTX_set_min_proto_version(tls->context, TLS1_2_VERSION);
}

/* Trust the certificates of the file, or those of the system. */
static bool trust(struct tls *tls, const char *ca)
{
	return *ca ? SSL_CTX_load_verify_locations(tls->context, ca, NULL) :
		     SSL_CTX_set_default_verify_paths(tls->context);
}

static bool make_ssl(struct tls *tls, int fd, const char *host)
{
	char name[256];

	/* The macro below takes a name that is not constant. */
	if ((size_t)snprintf(name, sizeof(name), "%s", host) >= sizeof(name))
		return false;
	tls->ssl = SSL_new(tls->context);
	return tls->ssl && SSL_set1_host(tls->ssl, host) &&
	       SSL_set_tlsext_host_name(tls->ssl, name) &&
	       SSL_set_fd(tls->ssl, fd);
}

static bool handshake(struct tls *tls, int fd, int64_t deadline)
{
	for (;;) {
		short events = POLLIN;
		int result = SSL_connect(tls->ssl);

		if (result == 1)
			return true;
		if (translate(tls, result, &events) != -1 || errno != EAGAIN ||
		    !weir_cl_net_poll_(fd, events, deadline))
			return false;
	}
}

struct tls *weir_cl_tls_open_(int fd, const char *host, const char *ca,
			      int64_t deadline, struct fault *fault)
{
	struct tls *tls = calloc(1, sizeof(*tls));
	bool made;

	if (!tls) {
		(void)weir_cl_fault_(fault, RES_UNSENT, ENOMEM, "out of memory");
		return NULL;
	}
	errno = EPROTO;
	made = make_context(tls);
	if (made && !trust(tls, ca)) {
		/* errno may be ENOENT: the semaphore does not exist. */
		(void)weir_cl_fault_(fault, RES_UNSENT, EACCES,
				     "no certificate can be read from %s",
				     *ca ? ca : "the files of OpenSSL");
	} else {
		errno = EPROTO;
		if (made && make_ssl(tls, fd, host) &&
		    handshake(tls, fd, deadline))
			return tls;
		(void)weir_cl_fault_(fault, RES_UNSENT, errno, "%s: TLS: %s",
				     host, ERR_peek_last_error() ?
				     ERR_reason_error_string(
					     ERR_peek_last_error()) :
				     "the handshake failed");
	}
	ERR_clear_error();
	weir_cl_tls_close_(tls);
	return NULL;
}

void weir_cl_tls_close_(struct tls *tls)
{
	SSL_free(tls->ssl);
	SSL_CTX_free(tls->context);
	free(tls);
}

ssize_t weir_cl_tls_write_(struct tls *tls, const char *data, size_t size,
			   short *events)
{
	int done;

	errno = 0;
	done = SSL_write(tls->ssl, data, (int)(size > 65536 ? 65536 : size));
	if (done > 0)
		return done;
	if (translate(tls, done, events) == 0)
		errno = EPIPE;
	return -1;
}

ssize_t weir_cl_tls_read_(struct tls *tls, char *data, size_t size,
			  short *events)
{
	int done;

	errno = 0;
	done = SSL_read(tls->ssl, data, (int)(size > 65536 ? 65536 : size));
	return done > 0 ? done : translate(tls, done, events);
}
