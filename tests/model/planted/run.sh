#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Show that the explorer finds bugs.  Each patch here plants one in a copy of src,
# says in plain words which, and names
#
#   Scenario: NAME...   the scenarios that must fail, each of them
#   Symptom: TEXT       what they must say: failing for another reason is no find
#
# The explorer runs one thread at a time, so a memory order that is too weak is not
# among them: that is ThreadSanitizer's part.
#
#   run.sh ROOT [PATCH...]      PATCH is seen from ROOT
#
# CC (cc), CFLAGS and LDFLAGS say how to build.  When a patch no longer applies,
# plant its bug in the new code.
set -u
cd "$1" || exit 2
shift
[ $# -gt 0 ] || set -- tests/model/planted/*.patch

# What a scenario finds it finds within its own bound.
unset WEIR_MODEL_BOUND

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
cores=$(nproc)

# As in tests/model/meson.build: what runs on the seam, and what does not.
seam=(src/core/{sem,sem_queue,sem_wait,sem_admin,sem_stat,waiter,ctx}.c
	src/base/{lock,timer}.c)
plain=(src/base/{err,hook,panic}.c)
on_seam=(-Wno-unused-value -Itests/model/seam -Itests/model)
read -ra cc <<<"${CC:-cc} ${CFLAGS:-}"
read -ra ldflags <<<"${LDFLAGS:-}"

# compile DIR ARGUMENT...: objects of files in DIR, there.
compile() (
	cd "$1" || exit
	shift
	"${cc[@]}" -std=c11 -D_GNU_SOURCE -O2 -c "$@" -Isrc -Iinclude
)

# build DIR: DIR/model from DIR's src.  The explorer and the scenarios are the same
# for all.
build() {
	compile "$1" "${on_seam[@]}" "${seam[@]}" &&
		compile "$1" "${plain[@]}" &&
		"${cc[@]}" "$1"/*.o "$work"/tests/*.o "${ldflags[@]}" -o "$1/model"
}

copy() {
	mkdir -p "$1/tests" &&
		cp -R src include "$1" && cp -R tests/model "$1/tests"
}

# field NAME PATCH: what follows "NAME: " in its head.
field() {
	sed -n "/^--- /q; s/^$1: //p" "$2"
}

# explore DIR SCENARIO: what the explorer says goes to DIR/log.
explore() {
	timeout 120 "$1/model" "$2" >"$1/log" 2>&1
}

# fail TEXT [LOG]
fail() {
	[ $# -lt 2 ] || tail -n 20 "$2"
	echo "FAIL $1"
	return 1
}

# The sources as they are: every scenario that is named must pass.
check_unpatched() {
	local dir=$work/unpatched count=0 patch scenario

	copy "$dir" || return
	build "$dir" >"$dir/log" 2>&1 ||
		{ fail "unpatched: does not build" "$dir/log"; return; }
	while read -r scenario; do
		explore "$dir" "$scenario" ||
			{ fail "unpatched: $scenario" "$dir/log"; return; }
		count=$((count + 1))
	done < <(for patch; do field Scenario "$patch"; done |
		tr ' ' '\n' | sort -u)
	echo "ok unpatched: $count scenarios pass"
}

# found NAME DIR SCENARIO SYMPTOM: whether that is what the log says.
found() {
	local said
	said=$(grep -m 1 "^FAIL $3 after [0-9]* schedules: " "$2/log")
	case $said in
	"") fail "$1: not found by $3" "$2/log" ;;
	*": "*"$4"*)
		said=${said#FAIL }
		echo "found $1 by ${said%%:*}"
		;;
	*) echo "$said"; fail "$1: $3 does not say \"$4\"" ;;
	esac
}

# check PATCH: plant it; each scenario that it names must find it.
check() {
	local name dir scenario scenarios symptom
	name=$(basename "$1" .patch)
	dir=$work/$name
	symptom=$(field Symptom "$1")
	read -ra scenarios <<<"$(field Scenario "$1")"

	copy "$dir" || return
	patch -p1 -d "$dir" --force --no-backup-if-mismatch <"$1" >"$dir/log" 2>&1 ||
		{ fail "$name: does not apply" "$dir/log"; return; }
	build "$dir" >"$dir/log" 2>&1 ||
		{ fail "$name: does not build" "$dir/log"; return; }
	if [ ${#scenarios[@]} -eq 0 ] || [ -z "$symptom" ]; then
		fail "$name: its head is not complete"
		return
	fi
	for scenario in "${scenarios[@]}"; do
		explore "$dir" "$scenario"
		found "$name" "$dir" "$scenario" "$symptom" || return
	done
}

# start NAME COMMAND...: one per core at a time; what they say is shown in order.
start() {
	local result=$work/results/$1
	shift
	{ "$@" >"$result.said" 2>&1; echo $? >"$result.status"; } &
	[ "$(jobs -pr | wc -l)" -lt "$cores" ] || wait -n
}

mkdir "$work/results"
copy "$work/tests" || exit 2
compile "$work/tests" "${on_seam[@]}" tests/model/*.c ||
	{ fail "the explorer does not build"; exit; }
start 00-unpatched check_unpatched "$@"
for patch; do
	start "$(basename "$patch" .patch)" check "$patch"
done
wait
cat "$work"/results/*.said

passed=$(cat "$work"/results/*.status | grep -cx 0)
failed=$(($# + 1 - passed))
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
