/* SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include "base/tls.h"

static _Thread_local struct weir_to_run_ to_run WEIR_TLS_READY_;

struct weir_to_run_ *weir_thread_to_run_(void)
{
	return &to_run;
}
