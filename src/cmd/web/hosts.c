/* SPDX-License-Identifier: MIT */
/* Which Host headers are answered. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>

#include "cmd/web/hosts.h"

/* The longest name that is allowed: an IPv6 address in brackets. */
#define HOST_ROOM (INET6_ADDRSTRLEN + 2)

/* Copy the host without its port.  Returns false if it cannot be allowed. */
static bool copy_name(const char *host, char name[HOST_ROOM])
{
	const char *end = *host == '[' ? strchr(host, ']') :
					 strchr(host, ':');
	size_t size;

	if (*host == '[') {
		if (!end)
			return false;
		end++;
	}
	size = end ? (size_t)(end - host) : strlen(host);
	if (!size || size >= HOST_ROOM)
		return false;
	if (end && *end &&
	    (*end != ':' || strspn(end + 1, "0123456789") != strlen(end + 1)))
		return false;
	memcpy(name, host, size);
	name[size] = '\0';
	return true;
}

/* Parse an IPv4 address, or an IPv6 address in brackets. */
static bool parse(char name[HOST_ROOM], struct in_addr *v4,
		  struct in6_addr *v6)
{
	if (*name != '[')
		return inet_pton(AF_INET, name, v4) == 1;
	name[strlen(name) - 1] = '\0';
	return inet_pton(AF_INET6, name + 1, v6) == 1;
}

bool hosts_allow(const struct address *address, const char *host)
{
	char name[HOST_ROOM];
	struct sockaddr_in6 own6;
	struct sockaddr_in own4;
	struct in6_addr v6;
	struct in_addr v4;
	bool is_v6;

	if (!host || !copy_name(host, name))
		return false;
	if (!strcasecmp(name, "localhost"))
		return true;
	is_v6 = *name == '[';
	if (!parse(name, &v4, &v6))
		return false;
	if (address->any.sa_family == AF_INET) {
		memcpy(&own4, &address->storage, sizeof(own4));
		return own4.sin_addr.s_addr == htonl(INADDR_ANY) ||
		       (!is_v6 && own4.sin_addr.s_addr == v4.s_addr) ||
		       (!is_v6 && address_is_loopback(address) &&
			ntohl(v4.s_addr) == INADDR_LOOPBACK);
	}
	memcpy(&own6, &address->storage, sizeof(own6));
	return IN6_IS_ADDR_UNSPECIFIED(&own6.sin6_addr) ||
	       (is_v6 && IN6_ARE_ADDR_EQUAL(&own6.sin6_addr, &v6));
}
