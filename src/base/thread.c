/* SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include <pthread.h>

#include "base/tls.h"

static _Thread_local struct weir_to_run_ to_run WEIR_TLS_READY_;

struct weir_to_run_ *weir_thread_to_run_(void)
{
	return &to_run;
}

int weir_thread_cancel_off_(void)
{
	int before = PTHREAD_CANCEL_ENABLE;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
	return before;
}

void weir_thread_cancel_reset_(int before)
{
	pthread_setcancelstate(before, NULL);
}
