/* SPDX-License-Identifier: MIT */
#include "core/good.h"

#include <stdint.h>

#include "base/atomic.h"
#include "weir/sem.h"

/*
#include "diag/report.h" is not included: this is a remark
 */
