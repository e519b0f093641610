#!/bin/sh
# SPDX-License-Identifier: MIT
# Every measurement between processes runs and prints figures.  Holders are killed, so
# it runs under tests/support/contain.py.
#
#   smoke-processes.sh PROGRAM
set -u
if [ -z "${WEIR_CONTAINED:-}" ]; then
	exec python3 "$(dirname "$0")/../support/contain.py" "$0" "$1"
fi
program=$1
# shellcheck source=tests/guard/try.sh
. "$(dirname "$0")/try.sh"

for kind in named named-strict sem_t semop undo flock; do
	try 0 pair "kind=$kind" ms=2
	try 0 hand-off "kind=$kind" ms=2
	try 0 waiters "kind=$kind" ms=10 count=3
done
for kind in named named-strict undo flock; do
	try 0 death "kind=$kind" ms=2 count=0
	try 0 death "kind=$kind" ms=2 count=8
done
# With these kinds the permits of a killed holder are lost.
try 3 death kind=sem_t ms=2 count=0
try 3 death kind=semop ms=2 count=0
for kind in weir-run flock-run exec; do
	try 0 command "kind=$kind" ms=2
done
try 3 command kind=nonsense
try 3 pair kind=nonsense
try 3 nonsense kind=named
sum_up
