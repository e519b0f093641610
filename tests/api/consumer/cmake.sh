#!/bin/sh
# SPDX-License-Identifier: MIT
# Build and run programs with CMake's find_package(weir), against the shared library and
# against the archive.
#
#   cmake.sh CONSUMER WORK [PREFIX [SOURCE]]
set -eu
consumer=$1
work=$2
prefix=${3:-}
source=${4:-}

mkdir "$work"
{
	cmake -S "$consumer" -B "$work" ${prefix:+"-DCMAKE_PREFIX_PATH=$prefix"} \
		${source:+"-DSOURCE=$source"} && cmake --build "$work"
} >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
objdump -p "$work/consumer-weir" | grep -q 'NEEDED *libweir.so.0'
! objdump -p "$work/consumer-static" | grep -q libweir || exit 1
"$work/consumer-weir"
"$work/consumer-static"
