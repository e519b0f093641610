# SPDX-License-Identifier: MIT
# Only src/base may use raw atomics, system calls, the heap, the clock and futexes.
# Run over src/*/*.[ch] from the root of the tree.  Needs strip.awk.
#
# The rest of the library uses the interface of src/base, so that the same source
# builds for production, for the schedule explorer and with faults injected.
BEGIN {
	# Forbidden words.
	word["_Atomic"] = "atomics"
	word["__asm__"] = word["__asm"] = word["asm"] = "assembly"

	# Words that are forbidden as calls; struct members may have these names.
	n = split("syscall vsyscall", list)
	for (i = 1; i <= n; i++)
		call[list[i]] = "system calls"
	n = split("malloc calloc realloc reallocarray free aligned_alloc " \
		  "posix_memalign memalign valloc alloca strdup strndup " \
		  "asprintf vasprintf mmap munmap brk sbrk", list)
	for (i = 1; i <= n; i++)
		call[list[i]] = "memory"
	n = split("clock_gettime clock_nanosleep clock timespec_get time " \
		  "gettimeofday nanosleep usleep sleep", list)
	for (i = 1; i <= n; i++)
		call[list[i]] = "the clock"
	n = split("sched_yield sched_getcpu getcpu", list)
	for (i = 1; i <= n; i++)
		call[list[i]] = "the scheduler"

	n = split("stdatomic.h threads.h linux/futex.h sys/syscall.h syscall.h " \
		  "time.h sys/time.h malloc.h sys/mman.h", list)
	for (i = 1; i <= n; i++)
		header[list[i]] = 1
}

{ code = strip($0) }

# The command is an ordinary program, and libweir-cluster is built on other libraries.
FILENAME ~ /^src\/(base|cluster|cmd)\// { next }

code ~ /^[ \t]*#[ \t]*include[ \t]*</ {
	name = $0
	sub(/^[^<]*</, "", name)
	sub(/>.*/, "", name)
	if (name in header)
		bad(FILENAME ":" FNR, "<" name "> belongs to src/base")
	next
}

{
	before = ""
	while (match(code, /[A-Za-z_][A-Za-z0-9_]*/)) {
		id = substr(code, RSTART, RLENGTH)
		before = before substr(code, 1, RSTART - 1)
		code = substr(code, RSTART + RLENGTH)
		if (id in word)
			bad(FILENAME ":" FNR, id ": only src/base touches " word[id])
		else if (id ~ /^(atomic_|__atomic|__sync_|__ATOMIC)/)
			bad(FILENAME ":" FNR, id ": only src/base touches atomics")
		else if (id ~ /^(SYS_|__NR_)/)
			bad(FILENAME ":" FNR, id ": only src/base touches system calls")
		else if (id ~ /^(futex|FUTEX)/)
			bad(FILENAME ":" FNR, id ": only src/base touches futexes")
		else if (id in call && code ~ /^[ \t]*\(/ &&
			 before !~ /(\.|->)[ \t]*$/)
			bad(FILENAME ":" FNR, id "(): only src/base touches " call[id])
		before = before id
	}
}

END { exit failed }
