/* SPDX-License-Identifier: MIT */
#ifndef WEIR_ASYNC_OP_H
#define WEIR_ASYNC_OP_H

#include "core/waiter.h"

/*
 * Add w's deadline to the timers of its loop, or remove it.  Both do nothing if
 * w has no loop or no deadline.
 */
void weir_op_start_timer_(struct weir_waiter_ *w);
void weir_op_stop_timer_(struct weir_waiter_ *w);

/* Called when the operation has ended: it belongs to its owner again. */
void weir_op_set_free_(struct weir_waiter_ *w);

#endif /* WEIR_ASYNC_OP_H */
