#!/bin/sh
# SPDX-License-Identifier: MIT
# Compile weir/spin.h for a machine with nothing on it.
#
#   freestanding.sh NM ALLOWED PAUSE COMPILER [OPTION...]
#       The object may want no symbol from elsewhere, but for those that match
#       ALLOWED (an extended regular expression; "" allows none), and must hold
#       the bytes PAUSE ("f3 90"): the hint of a spin loop on that machine.
#
#   freestanding.sh refused - - COMPILER [OPTION...]
#       The machine has no compare-and-swap: the header must say so.
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
		fail "refused for another reason"
	exit 0
fi

# Its own pause is not there when the user's takes its place.
compile "$@" '-DWEIR_SPIN_PAUSE()=((void)0)'
! has_pause || fail "the bytes $pause are no sign of a pause here"
compile "$@"
has_pause || fail "no pause ($pause) in the spin loop"

"$nm" -u "$work/object" | awk '{ print $NF }' >"$work/wanted"
if [ -n "$allowed" ]; then
	grep -Eq "$allowed" "$work/wanted" ||
		fail "$allowed is allowed, but nothing wants it"
	grep -Ev "$allowed" "$work/wanted" >"$work/rest" || :
	mv "$work/rest" "$work/wanted"
fi
[ ! -s "$work/wanted" ] ||
	fail "wanted from elsewhere: $(tr '\n' ' ' <"$work/wanted")"
echo "wants nothing, pauses with $pause: $*"
