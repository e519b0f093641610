#!/bin/sh
# SPDX-License-Identifier: MIT
# Each lint can fail.  tests/api/lint/<lint>/good* are trees that it passes,
# bad-* trees that it refuses for the reasons in their "expect", and for no other.
#
#   lint.sh ROOT
set -u
root=$1
failed=0
count=0

for tree in "$root"/tests/api/lint/*/*/; do
	tree=${tree%/}
	lint=$(basename "$(dirname "$tree")")
	name=$lint/$(basename "$tree")
	said=$("$root/tools/lint/run" -C "$tree" "$lint")
	status=$?
	wrong=
	case $(basename "$tree") in
	good*)
		[ "$status" -eq 0 ] || wrong="refused a good tree"
		;;
	bad-*)
		[ "$status" -eq 1 ] || wrong="exit status $status, not 1"
		while IFS= read -r line; do
			case $said in
			*"$line"*) ;;
			*) wrong="did not say \"$line\"" ;;
			esac
		done <"$tree/expect"
		# One complaint a line, and the verdict.
		got=$(printf '%s\n' "$said" | wc -l)
		want=$(($(wc -l <"$tree/expect") + 1))
		[ -n "$wrong" ] || [ "$got" -eq "$want" ] ||
			wrong="said $got lines, not $want"
		;;
	*)
		wrong="neither good nor bad"
		;;
	esac
	count=$((count + 1))
	if [ -n "$wrong" ]; then
		failed=$((failed + 1))
		printf 'FAIL %s: %s\n%s\n' "$name" "$wrong" "$said"
	else
		echo "ok $name"
	fi
done

# Nothing to look at is no pass: a wrong path must not look like a clean tree.
empty=$(mktemp -d) && mkdir "$empty/src"
if "$root/tools/lint/run" -C "$empty" seam >/dev/null; then
	echo "FAIL an empty tree passes"
	failed=$((failed + 1))
fi
rm -r "$empty"
count=$((count + 1))

echo "$((count - failed)) passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$count" -gt 15 ]
