#!/bin/sh
# SPDX-License-Identifier: MIT
# Check that the table of README.md lists exactly the libc symbols that the library
# calls.  The table has the faults that are injected for each symbol, or the reason why
# there are none.
#
#   symbols.sh README LIBRARY.a [LIBRARY.so]
set -eu
readme=$1
archive=$2
shared=${3:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# First column, first word in backquotes.  Some symbols are called with one libc only.
if nm -u "$archive" | grep -q ' _pthread_cleanup_push$'; then
	other='glibc only'
else
	other='musl only'
fi
grep -v "$other" "$readme" | sed -n 's/^| `\([a-z_]*\)`.*/\1/p' |
	LC_ALL=C sort -u >"$work/table"

# Exclude symbols that are not of libc: those of the library itself, and those that the
# compiler adds for atomics, coverage and thread-local storage (below).  Some libcs have
# other names for the functions for large files, some compilers call bcmp for memcmp.
nm -u "$archive" | awk '$1 == "U" { print $2 }' |
	grep -vE '^(weir_|__aarch64_|_Unwind_|__gcc_personality_|__gcov_|__llvm_|__tls_get_addr$|_GLOBAL_OFFSET_TABLE_$)' |
	sed 's/64$//; s/^bcmp$/memcmp/' | LC_ALL=C sort -u >"$work/used"

failed=0
if [ ! -s "$work/used" ] || ! cmp -s "$work/table" "$work/used"; then
	echo "FAIL the table in README.md (-) and the library (+) differ:"
	diff -u "$work/table" "$work/used" | grep '^[-+][^-+]' || true
	failed=1
else
	echo "ok the table in README.md: $(wc -l <"$work/used") symbols"
	echo "evidence: libc symbols that the library calls, in the fault table |" \
		"$(wc -l <"$work/used") of $(wc -l <"$work/used")"
fi

# C26: no wait may allocate.  In a library loaded by dlopen, the first access of a thread
# to a thread-local variable allocates, unless the variable has the initial-exec model.
passed=$((1 - failed))
if [ -n "$shared" ]; then
	if readelf -rW "$shared" | grep -E 'DTPMOD|TLSDESC|tls_get_addr'; then
		echo "FAIL $shared allocates thread-local storage on first access"
		failed=$((failed + 1))
	else
		echo "ok thread-local storage is allocated at thread start"
		passed=$((passed + 1))
	fi
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
