/* SPDX-License-Identifier: MIT */
/* The library's header is in /usr/include/weir, as a page may say. */
