#!/bin/sh
# SPDX-License-Identifier: MIT
# Every workload of the benchmark runs and answers with figures, for every kind of
# semaphore, in every form that was built; and what no peer has is refused.
#
#   smoke.sh PROGRAM...
set -u
passed=0
failed=0

# try WANTED-STATUS PROGRAM ARGUMENT...
try() {
	want=$1
	shift
	said=$("$@" 2>&1)
	status=$?
	case $status/$want/$said in
	0/0/'{"'*': '[0-9]*'}') passed=$((passed + 1)) ;;
	3/3/*) passed=$((passed + 1)) ;;
	*)
		failed=$((failed + 1))
		printf 'FAIL %s: status %s\n%s\n' "$*" "$status" "$said"
		;;
	esac
}

for program; do
	for kind in fifo barging signal; do
		for path in pair weight3 try try-fail timeout deadline ctx \
			permit; do
			try 0 "$program" "$path" "kind=$kind" ms=2
		done
		try 0 "$program" acquire "kind=$kind" ops=10
		try 0 "$program" release "kind=$kind" ops=10
		try 0 "$program" semaphores "kind=$kind" ms=2 count=64
		try 0 "$program" contended "kind=$kind" ms=5 threads=4 section=100
		try 0 "$program" contended "kind=$kind" ops=100 threads=4
		try 0 "$program" latency "kind=$kind" ms=5 threads=4 capacity=2
		try 0 "$program" waiters "kind=$kind" count=50
		try 0 "$program" waiters-one "kind=$kind" count=50
		try 0 "$program" cancel-growth "kind=$kind" count=50
		try 0 "$program" cancels "kind=$kind" ms=20 threads=4
		try 0 "$program" timeouts "kind=$kind" ms=20 threads=4
		try 0 "$program" ping-pong "kind=$kind" ms=20
	done
	for path in waiters waiters-one cancel-growth; do
		try 0 "$program" "$path" kind=ops count=1000
	done
	try 0 "$program" section section=100 ms=2
	try 3 "$program" nonsense
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
