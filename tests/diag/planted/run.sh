#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Plant wrong reductions: tests/diag/verdict must fail for each.
#
#   run.sh ROOT LIBRARY...    LIBRARY: the static libraries of the test program
set -u
root=$1
shift
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cc=${CC:-cc}
failed=0

# build DIR PROGRAM: the test with the sources of the reader in DIR.
build() {
	# shellcheck disable=SC2086 # a compiler may be two words
	$cc -std=c11 -D_GNU_SOURCE -O1 -I"$1/src" -I"$root/src" -I"$root/include" \
		-I"$root/tests/support" -I"$root/tests/diag" \
		"$root/tests/diag/verdict.c" "$root/tests/diag/search.c" \
		"$1/src/diag/groups.c" "$1/src/diag/model.c" "$1/src/diag/order.c" \
		"$1/src/diag/reduce.c" "$1/src/diag/verdict.c" "$1/src/diag/ways.c" \
		"${libraries[@]}" -pthread -o "$2"
}

libraries=("$@")
for patch in "$root"/tests/diag/planted/*.patch; do
	name=$(basename "$patch" .patch)
	mkdir -p "$work/$name/src"
	cp -R "$root/src/diag" "$work/$name/src/" || exit 1
	if ! "$root/tools/plant" "$work/$name" "$patch" ||
			! build "$work/$name" "$work/$name/test"; then
		echo "FAIL $name: it does not apply or build"
		failed=1
	elif "$work/$name/test" >"$work/$name/log" 2>&1; then
		echo "FAIL $name: the test passes"
		failed=1
	else
		echo "ok $name: $(grep -m1 'verdict.c:' "$work/$name/log")"
	fi
done
exit $failed
