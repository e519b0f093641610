/* SPDX-License-Identifier: MIT */
/* See /home/somebody/weir/notes. */
