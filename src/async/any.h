/* SPDX-License-Identifier: MIT */
#ifndef WEIR_ASYNC_ANY_H
#define WEIR_ASYNC_ANY_H

#include "core/waiter.h"

/* A place of a weir_any has been decided, and is told. */
bool weir_any_notified_(struct weir_waiter_ *w);

/* The clock of the head of a weir_any has run out: true if that ends it. */
bool weir_any_late_(struct weir_waiter_ *head);

/* Its head has been taken off its runner: run the callback. */
void weir_any_callback_(struct weir_waiter_ *head);

#endif /* WEIR_ASYNC_ANY_H */
