/* SPDX-License-Identifier: MIT */
#ifndef WEIR_RECORD_WAIT_TABLE_H
#define WEIR_RECORD_WAIT_TABLE_H

/* The table of waits: how a record of it is found and freed. */
#include "record/layout.h"

/* Returns a record that is MAKING; null: the table is full. */
struct rg_wait *weir_wait_make_(char *base);

/* Free a record that is MAKING or LIVE. */
void weir_wait_free_(struct rg_wait *wait);

#endif /* WEIR_RECORD_WAIT_TABLE_H */
