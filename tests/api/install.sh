#!/bin/sh
# SPDX-License-Identifier: MIT
# Run `make install` into an empty prefix and build programs against it with
# pkg-config and with CMake: in C and in C++, with the shared library and the archive.
#
#   install.sh ROOT
set -eu
root=$1
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
prefix=$work/prefix
cases=$root/tests/api/consumer
# Do not inherit the variables of a calling make.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL DESTDIR SAN

echo "# install"
make -C "$root" install BUILD="$work/build" FRONT="$work/front" PREFIX="$prefix" \
	>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
# The log of the static command stays only if it does not build.
test ! -e "$work/front.log"

for header in "$root"/include/weir/*.h* "$root"/include/weir/*/*.h*; do
	cmp "$header" "$prefix/include/${header#"$root"/include/}"
done
for page in "$root"/man/*.[1-8]; do
	section=${page##*.}
	cmp "$page" "$prefix/share/man/man$section/$(basename "$page")"
done
while read -r name page; do
	cmp "$root/man/$page" "$prefix/share/man/man3/$name"
done <"$root/man/links.txt"

test "$("$prefix/bin/weir" --version)" = "weir $(sed -n "s/^ *version: '\(.*\)',/\1/p" "$root/meson.build")"
cmp "$root/completions/weir.bash" "$prefix/share/bash-completion/completions/weir"
cmp "$root/completions/_weir" "$prefix/share/zsh/site-functions/_weir"
cmp "$root/completions/weir.fish" "$prefix/share/fish/vendor_completions.d/weir.fish"
for file in weir-alerts.yml weir-dashboard.json; do
	cmp "$root/share/$file" "$prefix/share/weir/$file"
done

PKG_CONFIG_LIBDIR=$(dirname "$(find "$prefix" -name weir.pc)")
export PKG_CONFIG_LIBDIR
lib=$(pkg-config --variable=libdir weir)
for file in libweir.a libweir.so libweir.so.0 "libweir.so.$(pkg-config --modversion weir)"; do
	test -s "$lib/$file"
done

# The command finds libweir-cluster, and the libweir that it needs, beside itself.
if [ -e "$lib/libweir-cluster.so.0" ]; then
	! "$prefix/bin/weir" stat redis://127.0.0.1:1/x >"$work/log" 2>&1 || exit 1
	grep -q refused "$work/log" || { cat "$work/log"; exit 1; }
fi

script=$prefix/share/gdb/auto-load$lib/libweir.so.$(pkg-config --modversion weir)-gdb.py
cmp "$root/src/gdb/load.py" "$script"
cmp "$root/src/gdb/load.py" "$prefix/share/weir/gdb/load.py"
cmp "$root/src/gdb/weir_gdb.py" "$prefix/share/weir/gdb/weir_gdb.py"

strict="-Wall -Wextra -Wpedantic -Werror"
# shellcheck disable=SC2046,SC2086 # one word per option
consume() {
	compiler=$1
	source=$2
	shift 2
	echo "# $compiler: shared"
	$compiler $strict "$@" $(pkg-config --cflags weir) "$source" \
		$(pkg-config --libs weir) -o "$work/shared"
	objdump -p "$work/shared" | grep -q 'NEEDED *libweir.so.0'
	LD_LIBRARY_PATH=$lib "$work/shared"

	echo "# $compiler: the archive"
	$compiler $strict "$@" $(pkg-config --cflags weir) "$source" \
		-Wl,-Bstatic $(pkg-config --static --libs weir) -Wl,-Bdynamic \
		-o "$work/archive"
	! objdump -p "$work/archive" | grep -q libweir || exit 1
	"$work/archive"

	echo "# $compiler: all static"
	$compiler $strict "$@" -static $(pkg-config --static --cflags weir) \
		"$source" $(pkg-config --static --libs weir) -o "$work/static"
	"$work/static"
}
# has COMPILER: returns true if it is installed, or if it is required.
has() {
	if [ -n "${WEIR_COMPLETE:-}" ] || command -v "$1" >/dev/null; then
		return 0
	fi
	echo "skipped: install with $1: not installed"
	return 1
}
for compiler in gcc clang; do
	has $compiler || continue
	consume $compiler "$cases/consumer.c" -std=c11
done
for compiler in g++ clang++; do
	has $compiler || continue
	consume $compiler "$cases/consumer.cc" -std=c++17
done

if has cmake; then
	echo "# CMake"
	"$cases/cmake.sh" "$cases" "$work/cmake" "$prefix"
fi

echo "# DESTDIR"
make -C "$root" install BUILD="$work/build" PREFIX=/opt/weir \
	FRONT="$work/front" DESTDIR="$work/dest" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
test -s "$work/dest/opt/weir/include/weir/sem.h"
grep -q '^prefix=/opt/weir$' "$(find "$work/dest" -name weir.pc)"

# Without a compiler for musl there is the full command alone.
echo "# the static command in front"
if has musl-gcc; then
	[ "$(ls "$work/dest/opt/weir/libexec/weir" "$work/dest/opt/weir/bin")" = "\
$work/dest/opt/weir/bin:
weir

$work/dest/opt/weir/libexec/weir:
weir" ]
	WEIR_DIR=$work "$work/dest/opt/weir/bin/weir" run a -n 1 -- \
		"$work/dest/opt/weir/bin/weir" stat a | grep -q "^a: 0 of 1 free"
fi

# A static command that does not build is no reason to install nothing, and an empty
# prefix is that of meson.
mkdir "$work/broken"
printf '#!/bin/sh\nexit 1\n' >"$work/broken/musl-gcc"
chmod +x "$work/broken/musl-gcc"
PATH="$work/broken:$PATH" make -C "$root" install BUILD="$work/build" PREFIX= \
	FRONT="$work/no-front" DESTDIR="$work/alone" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
grep -q '^The static command does not build' "$work/log"
test ! -e "$work/alone/usr/local/libexec/weir"
"$work/alone/usr/local/bin/weir" --version >"$work/log"

# The install succeeds even if ldconfig fails, as musl's does.
echo "# ldconfig"
mkdir "$work/bin"
printf '#!/bin/sh\necho 0\n' >"$work/bin/id"
printf '#!/bin/sh\necho meson "$@"\n' >"$work/bin/meson"
printf '#!/bin/sh\necho ldconfig\nexit 1\n' >"$work/bin/ldconfig"
chmod +x "$work"/bin/*
PATH="$work/bin:$PATH" "$root/tools/install" "$work/build" >"$work/log" 2>&1 ||
	{ cat "$work/log"; exit 1; }
grep -q '^ldconfig$' "$work/log"

echo "1 passed, 0 failed"
