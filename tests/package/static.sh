#!/bin/sh
# SPDX-License-Identifier: MIT
# Build the static command and run it in a chroot in which no other file exists.
#
#   static.sh ROOT
set -eu
root=$1
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
unset WEIR_DIR WEIR_URL XDG_RUNTIME_DIR

if [ -z "${WEIR_COMPLETE:-}" ] && ! command -v musl-gcc >/dev/null; then
	echo "skipped: static: needs musl-gcc (musl-tools)"
	exit 77
fi
"$root/tools/build" -q -d "$work/build" static src/cmd/weir
weir=$work/build/src/cmd/weir

echo "# one file"
! readelf -l "$weir" | grep -q INTERP || { echo "FAIL it has a loader"; exit 1; }
! readelf -d "$weir" | grep -q NEEDED || { echo "FAIL it needs libraries"; exit 1; }

echo "# the exit status of run, and what it executes"
python3 "$root/tests/cmd/status.py" "$weir" >"$work/said" 2>&1 ||
	{ cat "$work/said"; echo "FAIL tests/cmd/status.py"; exit 1; }

mkdir "$work/empty"
cp "$weir" "$work/empty/weir"
if chroot "$work/empty" /weir --version >/dev/null 2>&1; then
	enter="chroot $work/empty"
elif unshare --user --map-root-user chroot "$work/empty" /weir --version >/dev/null 2>&1; then
	enter="unshare --user --map-root-user chroot $work/empty"
else
	# Tell a refused chroot from a program that does not run.
	"$weir" --version
	echo "skipped: static: chroot is not allowed"
	exit 77
fi

# say WORDS COMMAND...: the command succeeds in the chroot and prints the words.
say() {
	words=$1
	shift
	# shellcheck disable=SC2086 # one word per argument
	said=$($enter "$@" 2>&1) || { echo "FAIL $*: status $?: $said"; exit 1; }
	case $said in
	*"$words"*) ;;
	*) echo "FAIL $*: \"$words\" is not in: $said"; exit 1 ;;
	esac
}

echo "# run, stat"
say "Run commands under limits" /weir --help
say "--try" /weir run --help
say "/slots: 1 of 2 free" /weir run /slots -n 2 -- /weir stat /slots
say "/slots: 2 of 2 free" /weir stat /slots
say '"capacity":2' /weir stat --json /slots

echo "# features that need libraries"
if $enter /weir stat redis://127.0.0.1/slots >"$work/said" 2>&1; then
	echo "FAIL stat of a URL succeeded"
	exit 1
fi
grep -q 'libweir-cluster.so.0, which this static program cannot load' "$work/said"
if $enter /weir posix -- /weir >"$work/said" 2>&1; then
	echo "FAIL posix succeeded"
	exit 1
fi
grep -q 'libweir-posix.so.0 is not installed' "$work/said"

say "" /weir rm /slots
[ "$(ls -A "$work/empty")" = weir ] ||
	{ echo "FAIL these files are left: $(ls -A "$work/empty")"; exit 1; }
echo "1 passed, 0 failed"
