/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_WEB_HOSTS_H
#define WEIR_CMD_WEB_HOSTS_H

/* Which Host headers are answered. */
#include <stdbool.h>

#include "cmd/http/address.h"

/*
 * Returns true if a request with this Host header may be answered.
 *
 * A web site can let its own name resolve to 127.0.0.1.  Then a script of the
 * site can send requests to this server and read the answers (DNS rebinding).
 * The Host header shows the name of the site.  So it must be "localhost" or the
 * address that the server listens on; or 127.0.0.1, if the server listens on
 * another IPv4 loopback address; or any IP address, if the server listens on
 * all addresses.  The port may differ: ssh -L forwards another port.
 */
bool hosts_allow(const struct address *address, const char *host);

#endif /* WEIR_CMD_WEB_HOSTS_H */
