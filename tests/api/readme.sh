#!/bin/sh
# SPDX-License-Identifier: MIT
# Check README.md: its C example compiles without a warning, against a copy of the
# sources, with the compiler line of README.md and every compiler, and runs; the paths
# that it names exist; CI runs its test command.  The C programs of docs/guide compile.
#
#   readme.sh ROOT
set -eu
root=$1
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
cp -R "$root/include" "$root/src" "$work"
cd "$work"

awk '/^```c$/ { inside = 1; next } /^```$/ { inside = 0 } inside' \
	"$root/README.md" >app.c
test -s app.c
line=$(sed -n 's/^ *\(cc .*src\/base\/\*\.c.*\)$/\1/p' "$root/README.md")
test "$(printf '%s\n' "$line" | wc -l)" -eq 1
case $line in
*" app.c "*) ;;
*) echo "FAIL the compiler line does not compile app.c: $line"; exit 1 ;;
esac

for compiler in gcc clang "musl-gcc -static"; do
	if [ -z "${WEIR_COMPLETE:-}" ] && ! command -v "${compiler%% *}" >/dev/null; then
		echo "skipped: readme with $compiler: not installed"
		continue
	fi
	echo "# $compiler ${line#cc }"
	rm -f app
	eval "$compiler -Wall -Wextra -Wpedantic -Werror ${line#cc }"
	./app
done

# The C programs of the guide compile, too.
for page in "$root"/docs/guide/*.md; do
	awk -v stem="$(basename "$page" .md)" '
		/^```c$/ { file = stem "-" ++count ".c"; next }
		/^```$/ { file = "" }
		file { print > file }' "$page"
done
for program in *-[0-9]*.c; do
	echo "# docs/guide: $program"
	gcc -Wall -Wextra -Wpedantic -Werror -std=c11 -Iinclude -fsyntax-only "$program"
done

# Paths, written `like/this`.
# shellcheck disable=SC2016 # these are not substitutions
grep -oE '`[a-z.]+(/[A-Za-z0-9_.-]*)+`' "$root/README.md" | tr -d '`' | sort -u >paths
test -s paths
while IFS= read -r path; do
	test -e "$root/$path" || { echo "FAIL README.md: no $path"; exit 1; }
done <paths

grep -q 'make check' "$root/README.md"
grep -q '^for target in check check-rest; do$' "$root/.ci/run"
echo "1 passed, 0 failed"
