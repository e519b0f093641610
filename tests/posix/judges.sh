#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Run the semaphore tests of other projects with libweir-posix preloaded, where their
# sources are available.  These sources are not part of weir.
#
#   judges.sh LIBRARY
#
#   LTP    a checkout of the Linux Test Project: its open_posix_testsuite, sem_*
#   GLIBC  a checkout of glibc: the tests of nptl and sysdeps/pthread that use sem_t
#          or that cancel threads
#   python3 with its test package (Debian: libpython3-testsuite): thread tests
#
# Each test runs without the library first.  A test that fails then, or does not
# compile, is left out and listed.  A test that passes without the library and fails
# with it is a failure, unless it is listed below with a reason.
set -u
library=$(realpath "${1:?usage: judges.sh LIBRARY}") || exit 2
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
passed=0
failed=0
left=0
# The philosophers of LTP sleep for a minute.
limit=${LIMIT:-180}

# Tests that ask for something else than the behaviour of a semaphore.
declare -A excused=(
	[tst-sem11]="reads the fields of glibc's sem_t"
	[tst-sem12]="reads the fields of glibc's sem_t"
	[tst-sem13]="reads the fields of glibc's sem_t"
)

# judge NAME COMMAND...
judge() {
	local name=$1
	shift
	if [ -n "${excused[$name]:-}" ]; then
		echo "left out $name: ${excused[$name]}"
		left=$((left + 1))
	elif ! timeout "$limit" "$@" >"$work/log" 2>&1 </dev/null; then
		echo "left out $name: fails on the C library"
		left=$((left + 1))
	elif LD_PRELOAD=$library timeout "$limit" "$@" >"$work/log" 2>&1 </dev/null; then
		passed=$((passed + 1))
	else
		echo "FAIL $name: status $?"
		tail -n 5 "$work/log"
		failed=$((failed + 1))
	fi
}

# build NAME ARGUMENT...: compile to $work/NAME.
build() {
	local name=$1
	shift
	if ! cc -w -std=gnu11 -D_GNU_SOURCE -o "$work/$name" "$@" -lpthread -lrt \
		>"$work/log" 2>&1; then
		echo "left out $name: does not compile here"
		left=$((left + 1))
		return 1
	fi
}

ltp() {
	local suite=$1/testcases/open_posix_testsuite source name

	for source in "$suite"/conformance/interfaces/sem_*/*.c \
		"$suite"/functional/semaphores/*.c; do
		[ -e "$source" ] || continue
		name=$(basename "$(dirname "$source")")-$(basename "$source" .c)
		build "$name" -Dtest_main=main -I"$suite/include" "$source" &&
			judge "$name" "$work/$name"
	done
}

# The tests of glibc use its support library.  This is as much of it as they need.
support() {
	mkdir -p "$work/include/support"
	cat >"$work/include/support/check.h" <<'END'
#pragma once
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int support_failed;
#define FAIL(...) do { printf(__VA_ARGS__); puts(""); support_failed = 1; } while (0)
#define FAIL_RET(...) do { FAIL(__VA_ARGS__); return 1; } while (0)
#define FAIL_EXIT1(...) do { FAIL(__VA_ARGS__); exit(1); } while (0)
#define FAIL_UNSUPPORTED(...) exit(0)
#define TEST_VERIFY(e) do { if (!(e)) FAIL("%d: %s", __LINE__, #e); } while (0)
#define TEST_VERIFY_EXIT(e) do { if (!(e)) FAIL_EXIT1("%d: %s", __LINE__, #e); } while (0)
#define TEST_COMPARE(a, b) TEST_VERIFY((a) == (b))
END
	cat >"$work/include/support/test-driver.c" <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int write_message(const char *text)
{
	return write(1, text, strlen(text)) < 0;
}
static void *delay(void *seconds)
{
	sleep((int)(long)seconds);
	exit(0);
}
void delayed_exit(int seconds)
{
	pthread_t thread;
	pthread_create(&thread, 0, delay, (void *)(long)seconds);
}
#ifdef TEST_FUNCTION
int main(int argc, char **argv) { return TEST_FUNCTION; }
#else
int main(void)
{
	int result = do_test();
#ifdef FAIL
	result |= support_failed;
#endif
	return result;
}
#endif
END
	cp "$work/include/support/test-driver.c" "$work/include/test-skeleton.c"
	cat >"$work/include/support/timespec.h" <<'END'
#pragma once
#include <time.h>
#define TIMESPEC_HZ 1000000000
static struct timespec make_timespec(time_t s, long ns)
{
	return (struct timespec){ s, ns };
}
static struct timespec timespec_add(struct timespec a, struct timespec b)
{
	struct timespec sum = { a.tv_sec + b.tv_sec, a.tv_nsec + b.tv_nsec };
	if (sum.tv_nsec >= 1000000000) {
		sum.tv_nsec -= 1000000000;
		sum.tv_sec++;
	}
	return sum;
}
static struct timespec xclock_now(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return now;
}
#define TEST_TIMESPEC_NOW_OR_AFTER(clock, at)                                  \
	do {                                                                   \
		struct timespec n_ = xclock_now(clock);                        \
		TEST_VERIFY(n_.tv_sec > (at).tv_sec ||                         \
			    (n_.tv_sec == (at).tv_sec &&                       \
			     n_.tv_nsec >= (at).tv_nsec));                     \
	} while (0)
END
	cat >"$work/include/support/xtime.h" <<'END'
#include "timespec.h"
static void xclock_gettime(clockid_t clock, struct timespec *now)
{
	clock_gettime(clock, now);
}
END
	cat >"$work/include/support/xthread.h" <<'END'
#pragma once
#include <pthread.h>
#include <stdlib.h>
#define xpthread_mutex_lock(m) do { if (pthread_mutex_lock(m)) abort(); } while (0)
#define xpthread_mutex_unlock(m) do { if (pthread_mutex_unlock(m)) abort(); } while (0)
#define xpthread_rwlock_rdlock(l) do { if (pthread_rwlock_rdlock(l)) abort(); } while (0)
#define xpthread_rwlock_wrlock(l) do { if (pthread_rwlock_wrlock(l)) abort(); } while (0)
#define xpthread_barrier_init(b, a, n) do { if (pthread_barrier_init(b, a, n)) abort(); } while (0)
#define xpthread_barrier_wait(b) pthread_barrier_wait(b)
static pthread_t xpthread_create(pthread_attr_t *a, void *(*f)(void *), void *p)
{
	pthread_t t;
	if (pthread_create(&t, a, f, p))
		abort();
	return t;
}
static void *xpthread_join(pthread_t t)
{
	void *r;
	if (pthread_join(t, &r))
		abort();
	return r;
}
static void xpthread_cancel(pthread_t t)
{
	if (pthread_cancel(t))
		abort();
}
END
	cat >"$work/include/support/xstdio.h" <<'END'
#pragma once
#include <stdio.h>
#include <stdlib.h>
static char *xfgets(char *to, int size, FILE *file)
{
	char *read = fgets(to, size, file);
	if (!read && ferror(file))
		abort();
	return read;
}
END
	echo >"$work/include/support/support.h"
	echo >"$work/include/support/test-driver.h"
	echo >"$work/include/support/xunistd.h"
}

glibc() {
	local source name

	support
	mkdir -p "$work/a/nptl" && cp "$work/include/test-skeleton.c" "$work/a"
	while IFS= read -r source; do
		name=$(basename "$source" .c)
		case $name in
		*-static | *-time64 | *cancelx* | tst-mqueue* | tst-timer*) continue ;;
		esac
		# Its includes are relative: "../test-skeleton.c".
		cp "$(dirname "$source")"/tst-*.[ch] "$work/a/nptl" 2>/dev/null
		build "$name" -I"$work/include" -I"$work/a/nptl" \
			"$work/a/nptl/$name.c" && judge "$name" "$work/$name"
	done < <(grep -lE 'sem_|pthread_cancel' "$1"/nptl/tst-*.c "$1"/sysdeps/pthread/tst-*.c)
}

python() {
	local name

	for name in test_thread test_threading test_threading_local test_queue test_fork1 \
		test_threadsignals test_thread_local_bytecode test_concurrent_futures \
		test_threadedtempfile test_sched; do
		python3 -c "import test.$name" >/dev/null 2>&1 ||
			{ echo "left out $name: not installed"; left=$((left + 1)); continue; }
		# This one finds that a site package has imported threading.
		limit=600 judge "$name" python3 -m test -q \
			-i test_import_from_another_thread "$name"
	done
}

if [ -d "${LTP:-}" ]; then ltp "$LTP"; else echo "skipped: LTP is not set"; fi
if [ -d "${GLIBC:-}" ]; then glibc "$GLIBC"; else echo "skipped: GLIBC is not set"; fi
if python3 -c 'import test.test_threading' 2>/dev/null; then
	python
else
	echo "skipped: python3 has no test package"
fi
echo "$passed passed, $failed failed, $left left out"
[ "$failed" -eq 0 ]
