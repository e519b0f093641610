#!/bin/sh
# SPDX-License-Identifier: MIT
# Run examples/fencing.c: the check of tokens makes the difference.
got=$("$1" "${WEIR_TEST_URL}fencing") || exit 1
[ "$got" = "without a check: old
with a check: new" ] || { echo "$got"; exit 1; }
