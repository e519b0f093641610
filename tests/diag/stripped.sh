#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# C51: a static program without unwind tables has a timeout report without callers.  The
# unwinder aborts if it does not find its own tables.
#
#   stripped.sh PROGRAM STRIP...
set -u
program=$1
shift
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# report PROGRAM: the line of the call.
report() {
	if ! WEIR_DIAG=report "$1" >"$work/log" 2>&1; then
		echo "FAIL: $1 does not end as usual" >&2
		cat "$work/log" >&2
		exit 1
	fi
	grep '^  by    tid ' "$work/log" || exit 1
}

case $(report "$program") in
*" < "*) ;;
*) echo "FAIL: a program with unwind tables has no callers"; exit 1;;
esac
"$@" -R .eh_frame -R .eh_frame_hdr -o "$work/program" "$program" || exit 1
case $(report "$work/program") in
*" < "*) echo "FAIL: callers without unwind tables"; exit 1;;
*"tid"*) ;;
*) exit 1;;
esac
