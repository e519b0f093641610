#!/bin/sh
# SPDX-License-Identifier: MIT
# Check that every public header compiles alone and included twice, as C11 and as
# C++17, with every compiler, without a warning; that a program in C99 or C++11 can
# expand the macros without a warning; and that the compiler refuses a task whose result
# would be lost.
#
#   headers.sh ROOT
set -u
root=$1
work=$(mktemp -d) || exit 1
trap 'rm -r "$work"' EXIT
passed=0
failed=0
warnings="-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Werror"
c="$warnings -std=c11 -x c -Wstrict-prototypes -Wmissing-prototypes"
cxx="$warnings -std=c++17 -x c++"

try() {
	if [ -z "${WEIR_COMPLETE:-}" ] && ! command -v "$1" >/dev/null; then
		echo "skipped: headers with $1: not installed"
	elif "$@" -fsyntax-only -I"$root/include" "$work/alone.c"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		echo "FAIL $header: $*"
	fi
}

for header in "$root"/include/weir/*.h; do
	header=weir/$(basename "$header")
	printf '#include <%s>\n#include "%s"\n' "$header" "$header" >"$work/alone.c"
	# shellcheck disable=SC2086 # one word per option
	{
		try gcc $c
		try gcc $c -DWEIR_INLINE
		try clang $c
		try musl-gcc $c
		try gcc $c -std=gnu2x
		try g++ $cxx
		try g++ $cxx -DWEIR_INLINE
		try clang++ $cxx
	}
	# C++ has no _Atomic: only the freestanding header may use it, in C.
	if [ "$header" != weir/spin.h ] &&
	   grep -nE '(^|[^A-Za-z_])(_Atomic|atomic_)' "$root/include/$header"; then
		echo "FAIL $header: atomics in a public header"
		failed=$((failed + 1))
	fi
done

# The header for C++, in every standard from C++17 on.
for header in "$root"/include/weir/*.hpp; do
	header=weir/$(basename "$header")
	printf '#include <%s>\n#include "%s"\n' "$header" "$header" >"$work/alone.c"
	for std in c++17 c++20 c++2b; do
		# shellcheck disable=SC2086
		{
			try g++ $cxx -std=$std
			try g++ $cxx -std=$std -DWEIR_INLINE
			try clang++ $cxx -std=$std
		}
	done
done

# Its parts.  No standard after C++20 adds a branch to them.
for header in "$root"/include/weir/cpp/*.hpp; do
	header=weir/cpp/$(basename "$header")
	printf '#include <%s>\n#include "%s"\n' "$header" "$header" >"$work/alone.c"
	# shellcheck disable=SC2086
	{
		try g++ $cxx
		try g++ $cxx -std=c++20
		try clang++ $cxx
		try clang++ $cxx -std=c++20
	}
done

# A task whose result would be lost is refused.
cat >"$work/alone.c" <<'EOF'
#include <weir/semaphore.hpp>
void spawn(weir::group &tasks);
void spawn(weir::group &tasks) { tasks.spawn([] { return 1; }); }
EOF
# shellcheck disable=SC2086
if g++ $cxx -fsyntax-only -I"$root/include" "$work/alone.c" 2>"$work/said" ||
   ! grep -q "a task returns nothing, or a weir_err" "$work/said"; then
	failed=$((failed + 1))
	echo "FAIL a task that returns an int: not refused"
else
	passed=$((passed + 1))
fi

# All headers in one file, in reverse order.
for header in "$root"/include/weir/*.h; do
	echo "#include <weir/$(basename "$header")>"
done | sort -r >"$work/alone.c"
header=all
# shellcheck disable=SC2086
try gcc $c
# shellcheck disable=SC2086
try g++ $cxx

# Macros, as programs expand them.
cp "$root/tests/api/macros.c" "$work/alone.c"
header=macros
for std in c99 c11 gnu2x; do
	# shellcheck disable=SC2086
	{
		try gcc $warnings -std=$std -x c
		try clang $warnings -std=$std -x c
	}
done
for std in c++11 c++17 c++20; do
	# shellcheck disable=SC2086
	{
		try g++ $cxx -std=$std -Wold-style-cast -Wzero-as-null-pointer-constant
		try g++ $cxx -std=$std -DNO_NAME=NULL
		try clang++ $cxx -std=$std -Wold-style-cast -Wzero-as-null-pointer-constant
		try clang++ $cxx -std=$std -DNO_NAME=NULL
	}
done

# Adapters, with the libraries they are for.
for header in "$root"/include/weir/loop/*.h; do
	case $header in
	*/uv.h) library=libuv ;;
	*/event.h) library=libevent ;;
	*/glib.h) library=glib-2.0 ;;
	*/uring.h) library=liburing ;;
	*) library= ;;
	esac
	libraries=
	if [ -n "$library" ]; then
		if [ -z "${WEIR_COMPLETE:-}" ] && ! pkg-config --exists $library; then
			echo "skipped: header of the adapter for $library: not installed"
			continue
		fi
		libraries=$(pkg-config --cflags $library | sed 's/-I/-isystem /g')
	fi
	header=weir/loop/$(basename "$header")
	printf '#include <%s>\n#include "%s"\n' "$header" "$header" >"$work/alone.c"
	# shellcheck disable=SC2086
	{
		try gcc $c -D_GNU_SOURCE $libraries
		try clang $c -D_GNU_SOURCE $libraries
		try g++ $cxx $libraries
	}
done

# Code with inlined functions depends on the layout.  It refers to a symbol of this
# layout, so it does not link with a library that has another layout.
printf '#define WEIR_INLINE\n#include <weir/sem.h>\n' >"$work/alone.c"
gcc -O2 -std=c11 -I"$root/include" -c "$work/alone.c" -o "$work/alone.o"
if nm -u "$work/alone.o" | grep -q ' weir_layout_1_$'; then
	passed=$((passed + 1))
else
	failed=$((failed + 1))
	echo "FAIL inlined code does not refer to weir_layout_1_"
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -ge 26 ]
