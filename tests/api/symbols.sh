#!/bin/sh
# SPDX-License-Identifier: MIT
# Check that the library exports exactly the names of symbols.txt, in version WEIR_0;
# that the headers declare exactly these names; and that the archive defines no global
# name without the prefix weir_.  Add a new function to libweir.map and to symbols.txt.
# Removing a name breaks programs.
#
#   symbols.sh ROOT LIBRARY ARCHIVE [COMMAND]
set -u
export LC_ALL=C
root=$1
library=$2
archive=$3
golden=$root/tests/api/symbols.txt
work=$(mktemp -d) || exit 1
trap 'rm -r "$work"' EXIT
passed=0
failed=0

same() {
	if diff -u "$golden" "$work/got"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAIL $1"
	fi
}

# The version itself is listed as an absolute symbol.
nm -D --defined-only "$library" | awk '$2 != "A" { print $3 }' |
	sed 's/@@WEIR_0$//' | sort >"$work/exported"
grep -v '_$' "$work/exported" >"$work/got"
same "$library does not export exactly the names of symbols.txt"

# Private names that code compiled with WEIR_INLINE refers to.
private=$(grep '_$' "$work/exported" | tr '\n' ' ')
inlined="weir_has_lse_ weir_layout_1_ weir_sem_acquire_long_ weir_sem_release_long_ "
if [ "$private" = "$inlined" ]; then
	passed=$((passed + 1))
else
	failed=$((failed + 1))
	echo "FAIL $library exports private names: $private"
fi

# libweir-cluster has its own list: tests/cluster/symbols.sh.
for header in "$root"/include/weir/*.h; do
	[ "$(basename "$header")" != cluster.h ] || continue
	echo "#include <weir/$(basename "$header")>"
done | gcc -std=c11 -E -P -I"$root/include" -x c - | tr '\n' ' ' |
	grep -oE 'visibility\("default"\)[^;{]*' |
	grep -oE 'weir_[a-z0-9_]+ *\(' | grep -oE '[a-z0-9_]+' |
	grep -v '_$' | sort -u >"$work/got"
same "the headers do not declare exactly the names of symbols.txt"

# DW.ref.*: hidden references of the compiler to its personality function.  _.stapsdt.base:
# of the probes (sys/sdt.h).
nm -g --defined-only "$archive" | awk 'NF == 3 { print $3 }' |
	grep -vE '^(weir_|DW\.ref\.|_\.stapsdt\.)' >"$work/got"
if [ -s "$work/got" ]; then
	failed=$((failed + 1))
	echo "FAIL the archive defines names without the prefix weir_:"
	cat "$work/got"
else
	passed=$((passed + 1))
fi

# A private name ends in an underscore; a public name does not.
nm -g --defined-only "$archive" | awk 'NF == 3 && $3 !~ /_$/ { print $3 }' |
	grep -vE '^(DW\.ref\.|_\.stapsdt\.)' | sort >"$work/got"
same "global names of the archive without a trailing underscore are not public"

# The list of the Debian package has the exported names.
sed -n 's/^ \(weir_.*\)@WEIR_0 .*/\1/p' "$root/debian/libweir0.symbols" |
	grep -v '_$' | sort >"$work/got"
same "debian/libweir0.symbols differs: tools/abi -u writes it"

# The library needs only libc, and the compiler's library for unwinding.
needed=$(objdump -p "$library" | awk '$1 == "NEEDED" { print $2 }' |
	grep -vE '^(libc|libgcc_s|ld-linux[a-z0-9-]*|libc\.musl-[a-z0-9_]+)\.so' | tr '\n' ' ')
soname=$(objdump -p "$library" | awk '$1 == "SONAME" { print $2 }')
if [ -n "$needed" ] || [ "$soname" != libweir.so.0 ]; then
	failed=$((failed + 1))
	echo "FAIL soname $soname, needs: $needed"
else
	passed=$((passed + 1))
fi

# Each library that the command needs is loaded at the start of every `weir run`.
if [ $# -gt 3 ] && objdump -p "$4" | grep 'NEEDED *libgcc_s'; then
	failed=$((failed + 1))
	echo "FAIL the command needs the shared library for unwinding"
else
	passed=$((passed + 1))
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
