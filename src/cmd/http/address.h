/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_HTTP_ADDRESS_H
#define WEIR_CMD_HTTP_ADDRESS_H

/* The address of --listen. */
#include <stdbool.h>
#include <sys/socket.h>

#include "cmd/lib/command.h"

#define ADDRESS_ROOM 64

struct address {
	union {
		struct sockaddr any;
		struct sockaddr_storage storage;
	};
	socklen_t size;
};

/*
 * Parse "127.0.0.1:9464", "[::1]:9464", "localhost:9464" or "9464".  Other host
 * names are refused, because their addresses may change.  Exits with
 * EXIT_MISUSE if the text is no address, or if it is not a loopback address and
 * `remote` is false.  `port` is the default port, for the message.
 */
void address_parse(const struct cmd *self, const char *text, const char *port,
		   bool remote, struct address *address);
/*
 * Return a listening socket, or exit with a message.  *address gets the port
 * that the kernel has chosen if the port was 0.
 */
int address_listen(const struct cmd *self, const char *text,
		   struct address *address);
bool address_is_loopback(const struct address *address);
/* Returns the address as text, as in a URL. */
const char *address_text(const struct address *address,
			 char room[ADDRESS_ROOM]);

#endif /* WEIR_CMD_HTTP_ADDRESS_H */
