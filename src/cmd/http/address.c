/* SPDX-License-Identifier: MIT */
/* The address of --listen, and its socket. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/http/address.h"
#include "cmd/lib/fail.h"

#define BACKLOG 64

static bool parse_port(const char *text, in_port_t *port)
{
	unsigned long value = 0;

	if (!*text || strlen(text) > 5)
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		value = value * 10 + (unsigned long)(*text - '0');
	}
	*port = htons((uint16_t)value);
	return value <= UINT16_MAX;
}

/* Fill in the address of the host, which is an IPv4 or IPv6 address. */
static bool parse_host(const char *host, bool brackets, in_port_t port,
		       struct address *address)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = port };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
				   .sin6_port = port };

	memset(address, 0, sizeof(*address));
	if (brackets) {
		if (inet_pton(AF_INET6, host, &v6.sin6_addr) != 1)
			return false;
		memcpy(&address->storage, &v6, sizeof(v6));
		address->size = sizeof(v6);
		return true;
	}
	if (!strcmp(host, "localhost"))
		host = "127.0.0.1";
	if (inet_pton(AF_INET, host, &v4.sin_addr) != 1)
		return false;
	memcpy(&address->storage, &v4, sizeof(v4));
	address->size = sizeof(v4);
	return true;
}

static bool parse(const char *text, struct address *address)
{
	bool brackets = *text == '[';
	const char *colon = strrchr(text, ':');
	const char *end = brackets ? strchr(text, ']') : colon;
	char host[INET6_ADDRSTRLEN + 1];
	in_port_t port;
	size_t length;

	if (!colon)
		return parse_port(text, &port) &&
		       parse_host("localhost", false, port, address);
	if (!end || (brackets && colon != end + 1))
		return false;
	text += brackets;
	length = (size_t)(end - text);
	if (length >= sizeof(host))
		return false;
	memcpy(host, text, length);
	host[length] = 0;
	return parse_port(colon + 1, &port) &&
	       parse_host(host, brackets, port, address);
}

bool address_is_loopback(const struct address *address)
{
	struct sockaddr_in6 v6;
	struct sockaddr_in v4;

	if (address->any.sa_family == AF_INET) {
		memcpy(&v4, &address->storage, sizeof(v4));
		return ntohl(v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	}
	memcpy(&v6, &address->storage, sizeof(v6));
	return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
}

void address_parse(const struct cmd *self, const char *text, const char *port,
		   bool remote, struct address *address)
{
	if (!parse(text, address))
		cmd_misuse(self, "%s: --listen: \"%s\" is not an address such "
			   "as 127.0.0.1:%s, [::1]:%s or %s", self->name, text,
			   port, port, port);
	if (!remote && !address_is_loopback(address))
		cmd_misuse(self, "%s: --listen: other machines could reach %s; "
			   "--allow-remote permits that", self->name, text);
}

static int status_of(int errnum)
{
	return errnum == EADDRINUSE ? EXIT_BUSY :
	       errnum == EACCES || errnum == EPERM ? EXIT_REFUSED : EXIT_WEIR;
}

int address_listen(const struct cmd *self, const char *text,
		   struct address *address)
{
	int fd = socket(address->any.sa_family,
			SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1;

	if (fd < 0)
		cmd_die(EXIT_WEIR, "%s: cannot create a socket: %s",
			self->name, strerror(errno));
	/* A port whose last server has just ended can be used again. */
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, &address->any, address->size) || listen(fd, BACKLOG)) {
		int errnum = errno;

		cmd_die(status_of(errnum), "%s: cannot listen on %s: %s",
			self->name, text, errnum == EADDRINUSE ?
			"another process uses this port" : strerror(errnum));
	}
	address->size = sizeof(address->storage);
	if (getsockname(fd, &address->any, &address->size))
		cmd_die(EXIT_WEIR, "%s: getsockname: %s", self->name,
			strerror(errno));
	return fd;
}

const char *address_text(const struct address *address, char room[ADDRESS_ROOM])
{
	char host[INET6_ADDRSTRLEN] = "?";
	struct sockaddr_in6 v6;
	struct sockaddr_in v4;

	if (address->any.sa_family == AF_INET) {
		memcpy(&v4, &address->storage, sizeof(v4));
		(void)inet_ntop(AF_INET, &v4.sin_addr, host, sizeof(host));
		(void)snprintf(room, ADDRESS_ROOM, "%s:%d", host,
			       ntohs(v4.sin_port));
	} else {
		memcpy(&v6, &address->storage, sizeof(v6));
		(void)inet_ntop(AF_INET6, &v6.sin6_addr, host, sizeof(host));
		(void)snprintf(room, ADDRESS_ROOM, "[%s]:%d", host,
			       ntohs(v6.sin6_port));
	}
	return room;
}
