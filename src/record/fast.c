/* SPDX-License-Identifier: MIT */
#include "record/fast.h"

weir_err weir_record_took_call_(struct rg_slot *slot, int64_t n)
{
	struct weir_ready_ ready = { .slot = slot };

	weir_ready_read_(&ready);
	weir_ready_write_(&ready, n);
	return WEIR_OK;
}
