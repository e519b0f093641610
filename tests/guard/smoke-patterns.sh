#!/bin/sh
# SPDX-License-Identifier: MIT
# Check that every measurement of a pattern runs and prints figures.  The program
# itself fails if an item, a write or a task is lost.
#
#   smoke-patterns.sh PROGRAM
set -u
program=$1
# shellcheck source=tests/guard/try.sh
. "$(dirname "$0")/try.sh"

for kind in weir weir-batch textbook; do
	for threads in 1 4; do
		try 0 chan "kind=$kind" "threads=$threads" capacity=8 ms=20
		try 0 chan "kind=$kind" "threads=$threads" capacity=1024 ms=20
	done
done
try 0 chan kind=weir threads=1 capacity=8 busy=2 ms=20
for kind in weir weir-fifo pthread; do
	try 0 rwlock "kind=$kind" threads=1 writes=0 ms=20
	try 0 rwlock "kind=$kind" threads=4 writes=200 ms=20
done
for kind in weir sem; do
	try 0 sharded "kind=$kind" threads=2 capacity=64 ms=20
	try 0 sharded "kind=$kind" threads=4 capacity=1 ms=20
done
try 0 group threads=2 ms=20
try 0 limit ms=2
try 3 chan kind=nonsense
try 3 rwlock kind=nonsense
try 3 sharded kind=nonsense
try 3 nonsense
sum_up
