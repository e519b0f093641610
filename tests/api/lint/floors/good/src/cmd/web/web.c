/* SPDX-License-Identifier: MIT */
#include "cmd/diag/json.h"
#include "cmd/diag/source.h"
#include "cmd/http/http.h"
#include "diag/text.h"
