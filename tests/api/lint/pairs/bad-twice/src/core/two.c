/* SPDX-License-Identifier: MIT */
/*
 * Pairs
 *
 *   [B4] another pair by the same name
 */
