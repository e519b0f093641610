#!/bin/sh
# SPDX-License-Identifier: MIT
# Run an image on an emulated Cortex-M3 and check its exit status and output.
#
#   run.sh QEMU IMAGE STATUS WORDS
#       The image must exit with STATUS and print WORDS.
#
# -icount: each instruction takes 64 ns, more than one cycle of the timer.  So a
# timer that is set one cycle later interrupts at most one instruction later.
set -u

qemu=$1 image=$2 status=$3 words=$4

output=$("$qemu" -M mps2-an385 -cpu cortex-m3 -nographic -monitor none \
	-serial none -semihosting-config enable=on,target=native \
	-icount shift=6,sleep=off -kernel "$image" 2>&1 </dev/null)
got=$?
echo "$output"
if [ "$got" -ne "$status" ]; then
	echo "exit status $got, expected $status"
	exit 1
fi
case $output in
*"$words"*) ;;
*)
	echo "the output does not contain: $words"
	exit 1
	;;
esac
