/* SPDX-License-Identifier: MIT */
#ifndef WEIR_ASYNC_OP_H
#define WEIR_ASYNC_OP_H

#include "core/waiter.h"

/* Let its loop, if it has one, watch w's deadline, if it has one; or no longer. */
void weir_op_start_timer_(struct weir_waiter_ *w);
void weir_op_stop_timer_(struct weir_waiter_ *w);

#endif /* WEIR_ASYNC_OP_H */
