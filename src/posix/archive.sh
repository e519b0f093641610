#!/bin/sh
# SPDX-License-Identifier: MIT
# Make an archive of one object in which only weir_posix_* is global.
#
#   archive.sh OUTPUT OBJCOPY ARCHIVE... -- CC...
set -eu
output=$1
objcopy=$2
shift 2
archives=
while [ "$1" != -- ]; do
	archives="$archives $1"
	shift
done
shift
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
# shellcheck disable=SC2086 # one word per archive
"$@" -r -nostdlib -o "$work/all.o" -Wl,--whole-archive $archives -Wl,--no-whole-archive
"$objcopy" --wildcard --keep-global-symbol='weir_posix_[a-z]*[a-z]' "$work/all.o" \
	"$work/weir-posix.o"
rm -f "$output"
ar rcs "$output" "$work/weir-posix.o"
