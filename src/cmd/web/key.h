/* SPDX-License-Identifier: MIT */
#ifndef WEIR_CMD_WEB_KEY_H
#define WEIR_CMD_WEB_KEY_H

/*
 * The key of the page: the first part of the path in its URL.  Users of the
 * machine who do not know it get no data: they may not read these processes by
 * other means either.
 */

/*
 * Returns the path of the page, "/KEY/".  The key is WEIR_WEB_KEY, or random.
 * Exits if WEIR_WEB_KEY cannot be a key.
 */
const char *key_path(void);

/*
 * Returns the part of the path behind key_path(), or null if the path does not
 * begin with it.
 */
const char *key_strip(const char *path);

#endif /* WEIR_CMD_WEB_KEY_H */
