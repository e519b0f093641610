#!/bin/sh
# SPDX-License-Identifier: MIT
# Check that libweir-cluster exports exactly the functions of weir/cluster.h, that its
# version script lists them, and that its archive defines no other public name.
#
#   symbols.sh ROOT LIBRARY ARCHIVE
set -u
export LC_ALL=C
work=$(mktemp -d) || exit 1
trap 'rm -r "$work"' EXIT
failed=0

same() {
	diff -u "$work/header" "$2" || { failed=1; echo "FAIL $1"; }
}

gcc -std=c11 -E -P -I"$1/include" -x c "$1/include/weir/cluster.h" | tr '\n' ' ' |
	grep -oE 'visibility\("default"\)[^;{]*' |
	grep -oE 'weir_(cluster|lease)_[a-z0-9_]+ *\(' | grep -oE '[a-z0-9_]+' | sort -u >"$work/header"
nm -D --defined-only "$2" | awk '$2 != "A" { print $3 }' | sed 's/@@WEIR_CLUSTER_0$//' |
	sort >"$work/exported"
same "the library does not export exactly the functions of the header" "$work/exported"
nm -g --defined-only "$3" | awk 'NF == 3 { print $3 }' | grep -v '^weir_cl_.*_$' |
	sort >"$work/archive"
same "the archive defines other public names" "$work/archive"
[ "$failed" -eq 0 ] && echo "2 passed, 0 failed"
exit "$failed"
