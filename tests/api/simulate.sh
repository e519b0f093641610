#!/bin/sh
# SPDX-License-Identifier: MIT
# The simulation of cache lines keeps its accounts: never more permits are out than the
# capacity, and none is lost.  Planted mistakes in the model are found.
#
#   simulate.sh ROOT
set -u
root=$1
work=$(mktemp -d) || exit 2
trap 'rm -r "$work"' EXIT
passed=0
failed=0

# run PROGRAM: few operations, on every number of CPUs.
run() {
	PYTHONDONTWRITEBYTECODE=1 python3 "$1" --check --operations 300 2>&1
}

# want WHAT TEXT OUTPUT
want() {
	case $3 in
	*"$2"*) passed=$((passed + 1)) ;;
	*)
		failed=$((failed + 1))
		echo "FAIL $1: $3"
		;;
	esac
}

# plant WHAT OLD NEW MESSAGE: the model with OLD replaced by NEW must fail.
plant() {
	sed "s/$2/$3/" "$root/tools/simulate" >"$work/simulate"
	if cmp -s "$root/tools/simulate" "$work/simulate"; then
		want "$1" "planted" "the text is not in tools/simulate"
	else
		want "$1" "$4" "$(run "$work/simulate")"
	fi
}

want 'the model' '48 runs: never more permits out' "$(run "$root/tools/simulate")"
plant 'a release adds two' 'yield Add(self.word, n)' 'yield Add(self.word, n + 1)' \
	'free at the end'
plant 'a deposit adds two' 'yield Add(own, n)' 'yield Add(own, n + 1)' 'permits'
plant 'a gather loses permits' 'yield from self.rest.release(cpu, gathered)' 'pass' \
	'free at the end'
plant 'a take without a compare' 'yield Cas(self.word, value, value - n)' \
	'[(yield Swap(self.word, value - n))]' 'permits'
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
