#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Show that the explorer finds bugs.  Each patch in this folder plants one bug in a
# copy of src.  Its head describes the bug and the interleaving that fails, and has
# these fields:
#
#   Scenario: NAME...   the scenarios; each of them must fail
#   Symptom: TEXT       part of their message; a failure with another message does
#                       not count.  "TEXT or TEXT" if the message depends on the
#                       machine
#   Program: NAME       the program with its options, if it is not "model"
#
#   run.sh ROOT [PATCH...]      PATCH is relative to ROOT
#
# The compiler and its flags are CC (default cc), CFLAGS and LDFLAGS.  If a patch no
# longer applies, plant its bug in the new code.
set -u
cd "$1" || exit 2
shift
[ $# -gt 0 ] || set -- tests/model/planted/*.patch

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cores=$(nproc)

# As in tests/model/meson.build: the sources that run on the seam, and the others.
seam=(src/core/*.c src/async/*.c
	src/pattern/{chan,chan_admin,chan_async,chan_count,chan_ring,chan_wait,group,group_admin,pool,pool_admin,pool_async,pool_user,rate,rate_admin,rate_wait,ready,rwlock,rwlock_admin,rwlock_leave,rwlock_recall,sharded,sharded_admin,sharded_central}.c
	src/base/{lock,timer}.c)
plain=(src/base/{err,hook,lse,panic}.c)
on_seam=(-Wno-unused-value -DWEIR_BATCH_=2 -DWEIR_SLEEPS_=1 -Itests/model/seam -Itests/model/engine -Itests/model)
read -ra cc <<<"${CC:-cc} ${CFLAGS:-}"
read -ra ldflags <<<"${LDFLAGS:-}"

# compile DIR ARGUMENT...: compile files in DIR, $jobs at a time; the objects, and the
# lists of the files that they depend on, go to DIR.
jobs=$cores
compile() (
	cd "$1" || exit
	shift
	flags=() files=()
	for argument; do
		case $argument in
		*.c) files+=("$argument") ;;
		*) flags+=("$argument") ;;
		esac
	done
	printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "$jobs" \
		"${cc[@]}" -std=c11 -D_GNU_SOURCE -O2 -MMD "${flags[@]}" -Isrc -Iinclude -c
)

# build DIR PROGRAM [FILE...]: build DIR/PROGRAM from DIR's src.  If FILEs are given,
# only they are compiled, and the objects of the unpatched sources serve for the
# rest.  The objects of the explorer and of the scenarios are shared by all builds.
build() {
	local dir=$1 program=$2 instrument=()
	shift 2

	[ "$program" = model ] || instrument=(-fsanitize=thread)
	rm -f "$dir"/*.o
	if [ $# -gt 0 ]; then
		cp "$work/objects/$program"/*.o "$dir" &&
			compile "$dir" "${on_seam[@]}" "${instrument[@]}" "$@"
	else
		compile "$dir" "${on_seam[@]}" "${instrument[@]}" "${seam[@]}" &&
			compile "$dir" "${plain[@]}"
	fi &&
		"${cc[@]}" "$dir"/*.o "$work"/tests/*.o "$work/$program/main.o" \
			"${ldflags[@]}" -o "$dir/$program"
}

# dependents PROGRAM FILE: print the sources whose objects depend on FILE.
dependents() {
	# "sem.o: src/core/sem.c src/core/sem.h ..."
	grep -lwF -- "$2" "$work/objects/$1"/*.d |
		xargs -r sed -n 's/^[^ ]*\.o: *\([^ ]*\.c\).*/\1/p'
}

# changed PATCH PROGRAM: print the sources to compile again if all of them are on the
# seam.  Print nothing otherwise: this requires a full build.
changed() {
	local file files

	files=$(sed -n 's|^+++ b/||p' "$1" | while read -r file; do
		dependents "$2" "$file"
	done | sort -u)
	while read -r file; do
		case " ${seam[*]} " in
		*" $file "*) ;;
		*) return ;;
		esac
	done <<<"$files"
	echo "$files"
}

# copy DIR: the sources, as links; tools/plant replaces the files that it changes.
mkdir "$work/sources" && cp -R src include "$work/sources" || exit 2
copy() {
	mkdir -p "$1" && ln -s "$PWD/tests" "$1" && cp -Rl "$work"/sources/* "$1"
}

# field NAME PATCH: print the text after "NAME: " in its head.
field() {
	sed -n "/^--- /q; s/^$1: //p" "$2"
}

# program PATCH
program() {
	local name
	name=$(field Program "$1")
	echo "${name:-model}"
}

# explore DIR SCENARIO PROGRAM [OPTION]: the explorer's output goes to DIR/log.
explore() {
	local dir=$1 scenario=$2
	shift 2
	timeout 1200 "$dir/$1" "${@:2}" "$scenario" >"$dir/log" 2>&1
}

# fail TEXT [LOG]
fail() {
	[ $# -lt 2 ] || tail -n 20 "$2"
	echo "FAIL $1"
	return 1
}

# Build the unpatched sources; keep their objects for the other builds.
build_unpatched() {
	local dir=$work/unpatched program

	copy "$dir" || return
	for program in model model-races; do
		build "$dir" "$program" >"$dir/log" 2>&1 ||
			{ fail "unpatched: does not build" "$dir/log"; return; }
		mkdir -p "$work/objects/$program" &&
			mv "$dir"/*.[od] "$work/objects/$program" || return
	done
}

# Every scenario named by a patch must exist and pass on the unpatched sources.  One
# quick run each: the other tests of this suite explore the schedules.
check_unpatched() {
	local dir=$work/unpatched count=0 program scenario

	while read -r scenario program; do
		# shellcheck disable=SC2086 # a program and its options
		explore "$dir" "$scenario" $program --at-most 0 --random 0 ||
			{ fail "unpatched: $scenario" "$dir/log"; return; }
		count=$((count + 1))
	done < <(for patch; do
			for scenario in $(field Scenario "$patch"); do
				echo "$scenario $(program "$patch")"
			done
		done | sort -u)
	echo "ok unpatched: $count scenarios pass"
}

# found NAME DIR SCENARIO SYMPTOM: check that the log has this failure.
found() {
	local said
	said=$(grep -m 1 "^FAIL $3 after [0-9]* schedules: " "$2/log")
	if [ -z "$said" ]; then
		fail "$1: not found by $3" "$2/log"
	elif grep -qF -- "${4// or /$'\n'}" <<<"${said#*: }"; then
		said=${said#FAIL }
		echo "found $1 by ${said%%:*}"
	else
		echo "$said"
		fail "$1: the message of $3 does not contain \"$4\""
	fi
}

# check PATCH: plant it; each scenario of its head must find it.
check() {
	local name dir program scenario scenarios symptom files
	name=$(basename "$1" .patch)
	dir=$work/$name
	symptom=$(field Symptom "$1")
	read -ra scenarios <<<"$(field Scenario "$1")"

	copy "$dir" || return
	tools/plant "$dir" "$1" >"$dir/log" 2>&1 ||
		{ fail "$name: does not apply" "$dir/log"; return; }
	read -ra program <<<"$(program "$1")"
	mapfile -t files < <(changed "$1" "${program[0]}")
	build "$dir" "${program[0]}" "${files[@]}" >"$dir/log" 2>&1 ||
		{ fail "$name: does not build" "$dir/log"; return; }
	if [ ${#scenarios[@]} -eq 0 ] || [ -z "$symptom" ]; then
		fail "$name: its head has no Scenario or no Symptom"
		return
	fi
	for scenario in "${scenarios[@]}"; do
		explore "$dir" "$scenario" "${program[@]}"
		found "$name" "$dir" "$scenario" "$symptom" || return
	done
}

# start NAME COMMAND...: at most one per core; the outputs are printed in order.
start() {
	local result=$work/results/$1
	shift
	{ "$@" >"$result.said" 2>&1; echo $? >"$result.status"; } &
	[ "$(jobs -pr | wc -l)" -lt "$cores" ] || wait -n
}

mkdir "$work/results"
copy "$work/tests" || exit 2
mkdir "$work/model" "$work/model-races"
compile "$work/tests" "${on_seam[@]}" tests/model/*.c tests/model/engine/*.c &&
	mv "$work/tests/main.o" "$work/model" &&
	compile "$work/tests" "${on_seam[@]}" -DEX_RACES=1 tests/model/engine/main.c &&
	mv "$work/tests/main.o" "$work/model-races" ||
	{ fail "the explorer does not build"; exit 1; }
build_unpatched || exit 1
jobs=1	# for each patch
start 00-unpatched check_unpatched "$@"
for patch; do
	start "$(basename "$patch" .patch)" check "$patch"
done
wait
cat "$work"/results/*.said

found=$(grep -l '^found ' "$work"/results/*.said | wc -l)
most=$(sed -n 's/^found .* after \([0-9]*\) schedules$/\1/p' "$work"/results/*.said |
	sort -n | tail -n 1)
echo "evidence: planted bugs found | $found of $#, after $most schedules at most"
passed=$(cat "$work"/results/*.status | grep -cx 0)
failed=$(($# + 1 - passed))
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
