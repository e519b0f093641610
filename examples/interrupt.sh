#!/bin/sh
# SPDX-License-Identifier: MIT
# Start an example, send it a signal once its output matches UNDER-WAY, and check
# the exit status, a line of the output, and that no file is left behind.
#
#   interrupt.sh SIGNAL UNDER-WAY STATUS PATTERN COMMAND...
set -u
signal=$1 under_way=$2 want=$3 pattern=$4
shift 4

scratch=$(mktemp -d) || exit 1
mkdir "$scratch/tmp"
: >"$scratch/said"
trap 'rm -rf "$scratch"' EXIT
TMPDIR=$scratch/tmp "$@" >"$scratch/said" 2>&1 &
pid=$!
# Wait for the line, not for a time.
until grep -Eq -e "$under_way" "$scratch/said"; do
	kill -0 "$pid" 2>/dev/null || break
	sleep 0.02
done
kill -s "$signal" "$pid"
wait "$pid"
status=$?

cat "$scratch/said"
failed=0
if [ "$status" -ne "$want" ]; then
	echo "FAIL: exit status $status, not $want"
	failed=1
fi
if ! grep -Eq -e "$pattern" "$scratch/said"; then
	echo "FAIL: no line like: $pattern"
	failed=1
fi
if [ -n "$(ls -A "$scratch/tmp")" ]; then
	echo "FAIL: left behind: $(ls -A "$scratch/tmp")"
	failed=1
fi
exit $failed
