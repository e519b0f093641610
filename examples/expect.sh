#!/bin/sh
# SPDX-License-Identifier: MIT
# Run an example and check its exit status and its output.
#
#   expect.sh STATUS PATTERN... -- COMMAND...
#
# Every PATTERN (grep -E) must match a line of the output.  The output goes
# through a pipe, so it is in the form for files, not for terminals.
set -u
want=$1
shift
patterns=
while [ "$1" != -- ]; do
	patterns="$patterns$1
"
	shift
done
shift

said=$("$@" 2>&1)
status=$?
printf '%s\n' "$said"
# The environment cannot run it.
if [ "$status" -eq 77 ]; then
	echo "skipped: ${1##*/}: $said"
	exit 77
fi
failed=0
if [ "$status" -ne "$want" ]; then
	echo "FAIL: exit status $status, not $want"
	failed=1
fi
while IFS= read -r pattern; do
	[ -n "$pattern" ] || continue
	if ! printf '%s\n' "$said" | grep -Eq -e "$pattern"; then
		echo "FAIL: no line like: $pattern"
		failed=1
	fi
done <<END
$patterns
END
exit $failed
