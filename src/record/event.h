/* SPDX-License-Identifier: MIT */
#ifndef WEIR_RECORD_EVENT_H
#define WEIR_RECORD_EVENT_H

#include <stdint.h>

#include "base/hook.h"

/* Write an event to the ring.  Does nothing if the id is 0.  Signal-safe. */
void weir_record_event_(uint64_t id, uint32_t kind, int64_t n,
			weir_err err);

/* The recorder of base/hook.h: writes the events of watched objects. */
void weir_record_heard_(const struct weir_event_ *event);

#endif /* WEIR_RECORD_EVENT_H */
