/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_WEB_PAGE_H
#define WEIR_CMD_WEB_PAGE_H

/* page.html, as embed.py writes it at build time. */

/* The page, NUL-terminated. */
extern const char web_page[];
/*
 * The Content-Security-Policy: the style and the script of the page, by their
 * hashes, and requests to this server.  Nothing else is loaded or executed.
 */
extern const char web_policy[];

#endif /* WEIR_CMD_WEB_PAGE_H */
