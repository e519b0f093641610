/* SPDX-License-Identifier: MIT */
#include "cmd/diag/rows.h"
#include "cmd/export/metrics.h"
#include "cmd/http/http.h"
