/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_HTTP_LIBRARY_H
#define WEIR_CMD_HTTP_LIBRARY_H

#include <microhttpd.h>

/*
 * libmicrohttpd, loaded when it is needed.  It loads a library for TLS, and
 * every `weir run` would pay for that.
 */
#define MHD_FUNCTIONS(X)                                                       \
	X(MHD_start_daemon)                                                    \
	X(MHD_stop_daemon)                                                     \
	X(MHD_run)                                                             \
	X(MHD_get_timeout)                                                     \
	X(MHD_get_daemon_info)                                                 \
	X(MHD_get_connection_info)                                             \
	X(MHD_lookup_connection_value)                                         \
	X(MHD_create_response_from_buffer)                                     \
	X(MHD_create_response_from_buffer_with_free_callback_cls)              \
	X(MHD_add_response_header)                                             \
	X(MHD_queue_response)                                                  \
	X(MHD_destroy_response)

/* The functions of the library; mhd_load sets them. */
struct mhd {
#define MEMBER_(name) __typeof__(name) *name;
	MHD_FUNCTIONS(MEMBER_)
#undef MEMBER_
};

extern struct mhd mhd;

/*
 * Load the library.  If it is not installed, exits with a message that begins
 * with `name` and ends with `otherwise`.
 */
void mhd_load(const char *name, const char *otherwise);

#endif /* WEIR_CMD_HTTP_LIBRARY_H */
