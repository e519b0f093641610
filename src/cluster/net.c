/* SPDX-License-Identifier: MIT */
/* TCP connections with deadlines. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "cluster/clock.h"
#include "cluster/net.h"

bool weir_cl_net_poll_(int fd, short events, int64_t deadline)
{
	struct pollfd poll_for = { .fd = fd, .events = events };

	for (;;) {
		int ready = poll(&poll_for, 1, boot_poll_ms(deadline));

		if (ready > 0)
			return true;
		if (ready < 0 && errno != EINTR)
			return false;
		if (ready == 0 && boot_now() >= deadline) {
			errno = ETIMEDOUT;
			return false;
		}
	}
}

/*
 * On a connection that only reads, keepalives detect that the peer has
 * vanished.
 */
static void set_options(int fd)
{
	static const int on = 1, idle = 10, interval = 5, count = 3;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval,
			 sizeof(interval));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}

/* Returns a connected socket, or -1 with errno. */
static int connect_to(const struct addrinfo *to, int64_t deadline)
{
	int fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC |
			SOCK_NONBLOCK, 0);
	int error = 0;
	socklen_t size = sizeof(error);

	if (fd < 0)
		return -1;
	if (connect(fd, to->ai_addr, to->ai_addrlen)) {
		if (errno != EINPROGRESS ||
		    !weir_cl_net_poll_(fd, POLLOUT, deadline))
			error = errno;
		else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size))
			error = errno;
	}
	if (error) {
		close(fd);
		errno = error;
		return -1;
	}
	set_options(fd);
	return fd;
}

enum result weir_cl_net_connect_(struct net *net, const struct url_host *host,
				 const char *port, bool tls, const char *ca,
				 int64_t deadline, struct fault *fault)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *list;
	int error, left = 0;

	net->fd = -1;
	net->tls = NULL;
	net->patience = 0;
	if (host->port[0])
		port = host->port;
	error = getaddrinfo(host->name, port, &hints, &list);
	if (error)
		return weir_cl_fault_(fault, RES_UNSENT, EHOSTUNREACH, "%s: %s",
				      host->name, gai_strerror(error));
	error = EHOSTUNREACH;
	for (struct addrinfo *to = list; to; to = to->ai_next)
		left++;
	/* An address that does not answer leaves time for those after it. */
	for (struct addrinfo *to = list; to && net->fd < 0; to = to->ai_next) {
		int64_t now = boot_now();

		net->fd = connect_to(to, now + (deadline - now) / left--);
		if (net->fd < 0)
			error = errno;
	}
	freeaddrinfo(list);
	if (net->fd < 0)
		return weir_cl_fault_(fault, RES_UNSENT, error, "%s:%s: %s",
				      host->name, port, strerror(error));
	if (!tls)
		return RES_OK;
	net->tls = weir_cl_tls_open_(net->fd, host->name, ca, deadline, fault);
	if (net->tls)
		return RES_OK;
	weir_cl_net_close_(net);
	return RES_UNSENT;
}

/*
 * On a blocking socket, one system call reads an answer, instead of two.
 */
void weir_cl_net_block_(struct net *net, int64_t patience)
{
	struct timeval limit = {
		.tv_sec = patience / SECOND_NS,
		.tv_usec = patience % SECOND_NS / 1000,
	};

	net->patience = 0;
	if (net->tls ||
	    setsockopt(net->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) ||
	    fcntl(net->fd, F_SETFL, 0))
		return;
	net->patience = patience;
}

void weir_cl_net_close_(struct net *net)
{
	if (net->tls)
		weir_cl_tls_close_(net->tls);
	if (net->fd >= 0)
		close(net->fd);
	net->fd = -1;
	net->tls = NULL;
}

bool weir_cl_net_write_(struct net *net, const char *data, size_t size,
			int64_t deadline)
{
	while (size) {
		short events = POLLOUT;
		ssize_t done = net->tls ?
			weir_cl_tls_write_(net->tls, data, size, &events) :
			send(net->fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (done > 0) {
			data += done;
			size -= (size_t)done;
		} else if (done < 0 && errno != EINTR &&
			   (errno != EAGAIN ||
			    !weir_cl_net_poll_(net->fd, events, deadline))) {
			return false;
		}
	}
	return true;
}

ssize_t weir_cl_net_read_(struct net *net, char *data, size_t size,
			  int64_t deadline)
{
	/*
	 * Poll first, unless recv(2) itself ends in time: the answer has not
	 * arrived yet, normally.  Do not poll with TLS: the answer may be in
	 * the buffer of OpenSSL.
	 */
	if (!net->tls &&
	    !(net->patience && deadline - boot_now() >= net->patience) &&
	    !weir_cl_net_poll_(net->fd, POLLIN, deadline))
		return -1;
	for (;;) {
		short events = POLLIN;
		ssize_t got = net->tls ?
			weir_cl_tls_read_(net->tls, data, size, &events) :
			recv(net->fd, data, size, 0);

		if (got >= 0)
			return got;
		/*
		 * Poll also after a signal: recv(2) would begin its time limit
		 * again, and regular signals would keep it from ending.
		 */
		if ((errno != EAGAIN && errno != EINTR) ||
		    !weir_cl_net_poll_(net->fd, events, deadline))
			return -1;
	}
}

ssize_t weir_cl_net_read_now_(struct net *net, char *data, size_t size)
{
	short events;
	ssize_t got;

	do
		got = net->tls ?
			weir_cl_tls_read_(net->tls, data, size, &events) :
			recv(net->fd, data, size, MSG_DONTWAIT);
	while (got < 0 && errno == EINTR);
	return got;
}
