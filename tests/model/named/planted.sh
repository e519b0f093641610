#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Show that the explorer for src/named finds bugs.  Each patch in planted/ plants one
# bug in a copy of src.  Its head has the same fields as those of
# ../planted/*.patch: Scenario, Symptom, optionally Options for the explorer, and
# "Program: model-named-races" for a bug of the memory orders.
#
#   planted.sh ROOT [PATCH...]      PATCH is relative to ROOT
#
# The compiler and its flags are CC (default cc), CFLAGS and LDFLAGS.
set -u
cd "$1" || exit 2
shift
[ $# -gt 0 ] || set -- tests/model/named/planted/*.patch

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cores=$(nproc)
here=tests/model/named

# As in ../meson.build: the sources with processes, the other sources on the seam, and
# the sources that are built as usual.
mapfile -t named < <(ls src/named/*.c | grep -vxE 'src/named/(bytes|create|file|place|lent)\.c')
seam=(src/core/*.c src/base/{lock,timer}.c)
plain=(src/base/{err,hook,lse,panic}.c)
main=tests/model/engine/main.c
mapfile -t engine < <(ls tests/model/engine/*.c "$here"/*.c | grep -vx "$main")
on_seam=(-Wno-unused-value -DEX_PROCESSES=1 -DEX_HEAP_LINES=250 -DWEIR_BATCH_=2 -DWEIR_SLEEPS_=1
	"-I$here/seam" -Itests/model/seam -Itests/model/engine "-I$here")
wrapped=(pthread_create pthread_join pthread_mutex_lock pthread_mutex_unlock
	pthread_setcancelstate pthread_sigmask pthread_atfork close stat getpid pread pread64)
read -ra cc <<<"${CC:-cc} ${CFLAGS:-}"
read -ra ldflags <<<"${LDFLAGS:-} ${wrapped[*]/#/-Wl,--wrap=} -Wl,-z,now"

# compile TREE OBJECTS ARGUMENT...: compile files of TREE, $jobs at a time; the objects go
# to OBJECTS.
jobs=$cores
compile() (
	tree=$1 objects=$2
	shift 2
	mkdir -p "$objects" && objects=$(cd "$objects" && pwd) && cd "$tree" || exit
	flags=() files=()
	for argument; do
		case $argument in
		*.c) files+=("$argument") ;;
		*) flags+=("$argument") ;;
		esac
	done
	for file in "${files[@]}"; do
		printf '%s\0' -c "$file" -o "$objects/${file//\//_}.o"
	done | xargs -0 -n 4 -P "$jobs" \
		"${cc[@]}" -std=c11 -D_GNU_SOURCE -O2 "${flags[@]}" -Isrc -Iinclude
)

# link OBJECTS PROGRAM
link() {
	"${cc[@]}" "$work"/shared/*.o "$work/$2"/*.o "$1"/*.o "${ldflags[@]}" -o "$1/program"
}

# field NAME PATCH: print the text after "NAME: " in its head.
field() {
	sed -n "/^--- /q; s/^$1: //p" "$2"
}

fail() {
	[ $# -lt 2 ] || tail -n 20 "$2"
	echo "FAIL $1"
	return 1
}

# changed PATCH: print the files to compile again: those that it changes, or all if it
# changes a header.
changed() {
	if grep -q '^+++ b/.*\.h$' "$1"; then
		printf '%s\n' "${named[@]}"
	else
		sed -n 's|^+++ b/||p' "$1"
	fi
}

# check PATCH: plant it; each scenario of its head must find it.
check() {
	local name dir symptom scenario said options files program
	name=$(basename "$1" .patch)
	dir=$work/$name
	symptom=$(field Symptom "$1")
	program=$(field Program "$1")
	read -ra options <<<"$(field Options "$1")"

	# The sources, as links; tools/plant replaces the files that it changes.
	mkdir -p "$dir" && ln -s "$PWD/tests" "$dir" && cp -Rl "$work"/sources/* "$dir" || return
	tools/plant "$dir" "$1" >"$dir/log" 2>&1 ||
		{ fail "$name: does not apply" "$dir/log"; return; }
	mapfile -t files < <(changed "$1")
	mkdir -p "$dir/objects" && cp "$work"/named/*.o "$dir/objects" || return
	compile "$dir" "$dir/objects" "${on_seam[@]}" -fsanitize=thread \
		"${files[@]}" >"$dir/log" 2>&1 &&
		link "$dir/objects" "${program:-model-named}" >>"$dir/log" 2>&1 ||
		{ fail "$name: does not build" "$dir/log"; return; }
	[ -n "$symptom" ] || { fail "$name: its head has no Symptom"; return; }
	for scenario in $(field Scenario "$1"); do
		timeout 1200 "$dir/objects/program" --random 0 "${options[@]}" "$scenario" \
			>"$dir/log" 2>&1
		said=$(grep -m 1 "^FAIL $scenario after [0-9]* schedules: " "$dir/log")
		if [ -z "$said" ]; then
			fail "$name: not found by $scenario" "$dir/log"
			return
		elif ! grep -qF -- "${symptom// or /$'\n'}" <<<"${said#*: }"; then
			echo "$said"
			fail "$name: the message of $scenario does not contain \"$symptom\""
			return
		fi
		said=${said#FAIL }
		echo "found $name by ${said%%:*}"
	done
}

# start NAME COMMAND...: at most one per core; the outputs are printed in order.
start() {
	local result=$work/results/$1
	shift
	{ "$@" >"$result.said" 2>&1; echo $? >"$result.status"; } &
	[ "$(jobs -pr | wc -l)" -lt "$cores" ] || wait -n
}

mkdir "$work/results" "$work/sources" && cp -R src include "$work/sources" || exit 2
compile . "$work/shared" "${on_seam[@]}" "${engine[@]}" "${seam[@]}" >"$work/log" 2>&1 &&
	compile . "$work/shared" "${plain[@]}" >>"$work/log" 2>&1 &&
	compile . "$work/model-named" "${on_seam[@]}" "$main" >>"$work/log" 2>&1 &&
	compile . "$work/model-named-races" "${on_seam[@]}" -DEX_RACES=1 "$main" \
		>>"$work/log" 2>&1 ||
	{ fail "the explorer does not build" "$work/log"; exit 1; }
compile . "$work/named" "${on_seam[@]}" -fsanitize=thread "${named[@]}" >"$work/log" 2>&1 ||
	{ fail "src/named does not build" "$work/log"; exit 1; }
jobs=1	# for each patch
for patch; do
	start "$(basename "$patch" .patch)" check "$patch"
done
wait
cat "$work"/results/*.said
found=$(cat "$work"/results/*.status | grep -cx 0)
most=$(sed -n 's/^found .* after \([0-9]*\) schedules$/\1/p' "$work"/results/*.said |
	sort -n | tail -n 1)
echo "evidence: planted bugs found in src/named | $found of $#, after $most schedules at most"
echo "$found passed, $(($# - found)) failed"
[ "$found" -eq $# ]
