#!/bin/sh
# SPDX-License-Identifier: MIT
# Check README.md: its C example compiles without a warning, against a copy of the
# sources, with the compiler line of README.md and every compiler, and runs; with the
# arguments for the other headers, a callback may end its thread; the paths that it
# names exist; CI runs its test command.  The C programs of docs/guide compile.
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

# Operations on a loop: the first callback ends its thread, and the second one runs
# nevertheless (weir_async(3)).
cat >ends.c <<'END'
#include <pthread.h>

#include "weir/async.h"
#include "weir/loop.h"

static weir_sem sem = WEIR_SEM_INIT(1);
static weir_loop loop;

static void end_thread(weir_op *op, weir_err err, void *user)
{
	(void)op;
	(void)err;
	(void)user;
	weir_sem_release(&sem, 1);
	pthread_exit(NULL);
}

static void *dispatch(void *arg)
{
	(void)weir_loop_dispatch(&loop);
	return arg;
}

int main(void)
{
	weir_op ops[2];
	pthread_t thread;

	if (weir_loop_init(&loop) || weir_sem_acquire(&sem, 1, NULL))
		return 1;
	for (int i = 0; i < 2; i++) {
		weir_op_init(&ops[i], &loop, end_thread, NULL);
		if (weir_op_submit(&ops[i], &sem, 1, NULL) != WEIR_EQUEUED)
			return 1;
	}
	weir_sem_release(&sem, 1);
	for (int i = 0; i < 2; i++)
		if (pthread_create(&thread, NULL, dispatch, NULL) ||
		    pthread_join(thread, NULL))
			return 1;
	return weir_loop_destroy(&loop) || weir_sem_available(&sem) != 1;
}
END
more=$(sed -n 's/^    \([^`]*src\/async\/\*\.c[^`]*\)$/\1/p' "$root/README.md")
test -n "$more" || { echo "FAIL README.md: no arguments for the other headers"; exit 1; }
lines=${line%app.c*}$more\ ends.c${line#*app.c}
echo "# gcc ${lines#cc }"
rm -f app
eval "gcc -Wall -Wextra -Wpedantic -Werror ${lines#cc }"
./app || { echo "FAIL a callback that ends its thread"; exit 1; }

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
