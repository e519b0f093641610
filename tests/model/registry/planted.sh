#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Show that the explorer with src/record finds bugs.  Each patch in planted/ plants one
# bug in a copy of src.  Its head has the fields Scenario, Symptom and Program of
# ../planted/*.patch.  The program is "model-registry", with options if it has any.
#
#   planted.sh ROOT [PATCH...]      PATCH is relative to ROOT
#
# The compiler and its flags are CC (default cc), CFLAGS and LDFLAGS.
set -u
cd "$1" || exit 2
shift
[ $# -gt 0 ] || set -- tests/model/registry/planted/*.patch

work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
here=tests/model/registry

# As in meson.build: the sources on the seam, and those that are built as usual.
seam=(src/core/*.c
	src/record/{change,context,flow,object,ops,permit,record,registry,release,slot,thread,wait,wait_table}.c
	src/async/{all,any,any_decide,any_finish,end,inbox,loop,multi,op,op_end,run,timers}.c
	src/pattern/{chan,chan_admin,chan_count,chan_ring,chan_wait,ready}.c src/base/{lock,timer}.c
	"$here"/*.c tests/model/engine/{main,control,seam,search,state,races,stale,trace,fiber}.c)
plain=(src/base/{err,hook,lse,panic}.c)
on_seam=(-Wno-unused-value -DWEIR_BATCH_=2 -DWEIR_SLEEPS_=1 -DWEIR_OPS_=1u -DWEIR_UNUSED_MAX_=0u
	-Dpthread_key_create=ex_key_create -Dpthread_key_delete=ex_key_delete
	-Dpthread_setspecific=ex_key_set "-I$here/seam" -Itests/model/engine "-I$here")
read -ra cc <<<"${CC:-cc} ${CFLAGS:-}"
read -ra ldflags <<<"${LDFLAGS:-} -Wl,-z,now"

# build TREE: build TREE/model-registry.  The objects of files that are equal to those of
# the unpatched tree are shared, unless a header differs.
build() (
	cd "$1" || exit
	compile=("${cc[@]}" -std=c11 -D_GNU_SOURCE -O2 -c)
	objects=()
	for file in "${seam[@]}" "${plain[@]}"; do
		object=${file//\//_}.o
		flags=("${on_seam[@]}")
		[[ " ${plain[*]} " != *" $file "* ]] || flags=()
		if [ -z "$2" ] && cmp -s "$file" "$work/unpatched/$file"; then
			object=$work/unpatched/$object
		else
			"${compile[@]}" "${flags[@]}" -Isrc -Iinclude "$file" -o "$object" || exit
		fi
		objects+=("$object")
	done
	"${cc[@]}" "${objects[@]}" "${ldflags[@]}" -o model-registry
)

# field NAME PATCH: print the text after "NAME: " in its head.
field() {
	sed -n "/^--- /q; s/^$1: //p" "$2"
}

copy() {
	mkdir -p "$1/tests" && cp -R src include "$1" && cp -R tests/model "$1/tests"
}

fail() {
	[ $# -lt 2 ] || tail -n 20 "$2"
	echo "FAIL $1"
	return 1
}

# check PATCH: plant it; each scenario of its head must find it.
check() {
	local name dir symptom scenario said header program
	name=$(basename "$1" .patch)
	dir=$work/$name
	symptom=$(field Symptom "$1")
	header=$(grep '^+++ b/.*\.h$' "$1")
	read -ra program <<<"$(field Program "$1")"

	copy "$dir" && tools/plant "$dir" "$1" >"$dir/log" 2>&1 ||
		{ fail "$name: does not apply" "$dir/log"; return; }
	build "$dir" "$header" >"$dir/log" 2>&1 ||
		{ fail "$name: does not build" "$dir/log"; return; }
	[ -n "$symptom" ] || { fail "$name: its head has no Symptom"; return; }
	for scenario in $(field Scenario "$1"); do
		timeout 1200 "$dir/model-registry" "${program[@]:1}" --random 0 "$scenario" >"$dir/log" 2>&1
		said=$(grep -m 1 "^FAIL $scenario after [0-9]* schedules: " "$dir/log")
		grep -qF -- "$symptom" <<<"${said#*: }" ||
			{ fail "$name: not found by $scenario" "$dir/log"; return; }
		said=${said#FAIL }
		echo "found $name by ${said%%:*}"
	done
}

copy "$work/unpatched" && build "$work/unpatched" all >"$work/log" 2>&1 ||
	{ fail "the explorer does not build" "$work/log"; exit 1; }
found=0
for patch; do
	check "$patch" >"$work/said" 2>&1 && found=$((found + 1))
	tee -a "$work/all" <"$work/said"
done
most=$(sed -n 's/^found .* after \([0-9]*\) schedules$/\1/p' "$work/all" | sort -n | tail -n 1)
echo "evidence: planted bugs found in src/record | $found of $#, after $most schedules at most"
echo "$found passed, $(($# - found)) failed"
[ "$found" -eq $# ]
