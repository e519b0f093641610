#!/bin/sh
# SPDX-License-Identifier: MIT
# Check that every workload of the benchmark runs and prints figures, for every kind
# of semaphore, in every form that was built, and that an unknown workload is refused.
#
#   smoke.sh PROGRAM...
set -u
# shellcheck source=tests/guard/try.sh
. "$(dirname "$0")/try.sh"

for program; do
	for kind in fifo barging signal; do
		for path in pair weight3 try try-fail timeout deadline ctx \
			permit; do
			try 0 "$path" "kind=$kind" ms=2
		done
		try 0 acquire "kind=$kind" ops=10
		try 0 release "kind=$kind" ops=10
		try 0 semaphores "kind=$kind" ms=2 count=64
		try 0 contended "kind=$kind" ms=5 threads=4 section=100
		try 0 contended "kind=$kind" ops=100 threads=4
		try 0 latency "kind=$kind" ms=5 threads=4 capacity=2
		try 0 waiters "kind=$kind" count=50
		try 0 waiters-one "kind=$kind" count=50
		try 0 cancel-growth "kind=$kind" count=50
		try 0 cancels "kind=$kind" ms=20 threads=4
		try 0 timeouts "kind=$kind" ms=20 threads=4
		try 0 ping-pong "kind=$kind" ms=20
		try 0 overtaken "kind=$kind" ms=20 threads=2
	done
	for path in waiters waiters-one cancel-growth; do
		try 0 "$path" kind=ops count=1000
	done
	try 0 section section=100 ms=2
	try 3 nonsense
done
sum_up
