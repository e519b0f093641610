#!/bin/sh
# SPDX-License-Identifier: MIT
# Run an image on an emulated Cortex-M3 and compare how it ends.
#
#   run.sh QEMU IMAGE STATUS WORDS
#       It must exit with STATUS and have printed WORDS.
#
# -icount: time passes by 64 ns an instruction, which is more than a cycle of
# the timer, so a timer that is set one cycle later strikes at most one
# instruction later.
set -u

qemu=$1 image=$2 status=$3 words=$4

output=$("$qemu" -M mps2-an385 -cpu cortex-m3 -nographic -monitor none \
	-serial none -semihosting-config enable=on,target=native \
	-icount shift=6,sleep=off -kernel "$image" 2>&1 </dev/null)
got=$?
echo "$output"
if [ "$got" -ne "$status" ]; then
	echo "exit status $got, not $status"
	exit 1
fi
case $output in
*"$words"*) ;;
*)
	echo "it did not say: $words"
	exit 1
	;;
esac
