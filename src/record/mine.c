/* SPDX-License-Identifier: MIT */
#include "record/mine.h"

_Thread_local struct weir_self_ weir_mine_ WEIR_TLS_READY_;
