#!/bin/sh
# SPDX-License-Identifier: MIT
# Compile weir/spin.h for a bare machine.
#
#   freestanding.sh NM ALLOWED PAUSE COMPILER [OPTION...]
#       The object must have no undefined symbols except those that match ALLOWED
#       (an extended regular expression; "" allows none).  It must contain the
#       bytes PAUSE ("f3 90"), the pause instruction of that machine.
#
#   freestanding.sh refused - - COMPILER [OPTION...]
#       The machine has no compare-and-swap: the header must fail with an error
#       message that says so.
set -eu

nm=$1 allowed=$2 pause=$3
shift 3
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	echo "$*"
	exit 1
}

compile() {
	"$@" -ffreestanding -nostdlib -O2 -Wall -Wextra -Wpedantic -Wconversion \
		-Wshadow -Werror -I "$here/../../include" \
		-c "$here/freestanding.c" -o "$work/object"
}

has_pause() {
	od -An -v -tx1 "$work/object" | tr -d '\n' | grep -q " $pause"
}

if [ "$nm" = refused ]; then
	if compile "$@" 2>"$work/errors"; then
		fail "compiled for a machine without compare-and-swap: $*"
	fi
	cat "$work/errors"
	grep -q 'needs lock-free compare-and-swap' "$work/errors" ||
		fail "failed for another reason"
	exit 0
fi

# A user-defined pause replaces the header's pause.
compile "$@" '-DWEIR_SPIN_PAUSE()=((void)0)'
! has_pause || fail "the bytes $pause occur without a pause"
compile "$@"
has_pause || fail "no pause ($pause) in the spin loop"

"$nm" -u "$work/object" | awk '{ print $NF }' >"$work/undefined"
if [ -n "$allowed" ]; then
	grep -Eq "$allowed" "$work/undefined" ||
		fail "$allowed is allowed, but no such symbol is undefined"
	grep -Ev "$allowed" "$work/undefined" >"$work/rest" || :
	mv "$work/rest" "$work/undefined"
fi
[ ! -s "$work/undefined" ] ||
	fail "undefined symbols: $(tr '\n' ' ' <"$work/undefined")"
echo "no undefined symbols, pauses with $pause: $*"
