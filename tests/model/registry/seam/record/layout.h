/* SPDX-License-Identifier: MIT */
/* The registry with small tables: it is part of the explored state. */
#include "../../../../../src/record/layout.h"

#undef RG_OBJECTS
#undef RG_CONTEXTS
#undef RG_WAITS
#undef RG_EVENTS
#undef RG_ORDERS
#define RG_OBJECTS 4u
#define RG_CONTEXTS 6u
#define RG_WAITS 4u
#define RG_EVENTS 1u
#define RG_ORDERS 1u
