/* SPDX-License-Identifier: MIT */
#ifndef WEIR_RECORD_WATCHDOG_H
#define WEIR_RECORD_WATCHDOG_H

/*
 * Start the watchdog thread, if WEIR_DIAG asks for one and this process has none
 * yet.  Called when an object is watched, without a lock.  src/diag implements
 * it.  Preserves errno.
 */
void weir_diag_watch_(void);

#endif /* WEIR_RECORD_WATCHDOG_H */
