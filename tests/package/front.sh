#!/bin/sh
# SPDX-License-Identifier: MIT
# Build the static command that is installed in front of the full one.  It does `weir
# run` with names of this machine itself, and leaves everything else to the full one.
#
#   front.sh ROOT FULL
set -eu
root=$1
full=$2
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
# Tests run the command as another user.
chmod 755 "$work"
unset WEIR_DIR WEIR_URL XDG_RUNTIME_DIR

if [ -z "${WEIR_COMPLETE:-}" ] && ! command -v musl-gcc >/dev/null; then
	echo "skipped: front: needs musl-gcc (musl-tools)"
	exit 77
fi
# As they are installed.
behind=$work/libexec/weir/weir
weir=$work/bin/weir
WEIR_BUILD_FULL=$behind "$root/tools/build" -q -d "$work/build" static src/cmd/weir
mkdir -p "$work/bin" "$work/libexec/weir"
cp "$work/build/src/cmd/weir" "$weir"
# shellcheck disable=SC2016 # expanded by the script
printf '#!/bin/sh\necho "full:" "$@"\n' >"$behind"
chmod +x "$behind"

# same WANT COMMAND...: the command prints that.
same() {
	want=$1
	shift
	said=$("$@" 2>&1) || { echo "FAIL $*: status $?: $said"; exit 1; }
	[ "$said" = "$want" ] || { echo "FAIL $*: \"$said\", not \"$want\""; exit 1; }
}

echo "# what the full command does"
same "full:" "$weir"
same "full: --version" "$weir" --version
same "full: stat a --json" "$weir" stat a --json
same "full: run redis://host/a -n 2 -- echo -n job" \
	"$weir" run redis://host/a -n 2 -- echo -n job
same "full: run a -- echo job" env WEIR_URL=redis://host "$weir" run a -- echo job

echo "# what the static command does"
same job "$weir" run "$work/a" -n 1 -- echo job
same job env WEIR_URL=redis://host "$weir" run "$work/a" -- echo job

echo "# the full command inherits the signal mask, also if the options were parsed before"
cp "$behind" "$work/full"
printf '#!/bin/sh\nexec grep SigBlk /proc/self/status\n' >"$behind"
mask=$(env --block-signal=RTMIN grep SigBlk /proc/self/status)
same "$mask" env --block-signal=RTMIN "$weir" stat a
same "$mask" env --block-signal=RTMIN "$weir" run redis://host/a -- true
cp "$work/full" "$behind"

echo "# a full command that cannot be executed, or is not there"
chmod -x "$behind"
if "$weir" --version >"$work/said" 2>&1 || [ $? -ne 125 ] ||
		! grep -q "$behind: Permission denied" "$work/said"; then
	cat "$work/said"
	echo "FAIL a full command that cannot be executed"
	exit 1
fi
echo "# a copy of the static command in the place of the full one"
cp "$weir" "$behind.copy"
mv "$behind.copy" "$behind"
same "$("$full" --version)" timeout 20 "$weir" --version
echo "# a link to the static command in the place of the full one"
ln -sf ../../bin/weir "$behind"
same "$("$full" --version)" timeout 20 "$weir" --version
echo "# no full command"
rm "$behind"
same "$("$full" --version)" "$weir" --version

echo "# the installed files have been moved"
mkdir -p "$work/moved/bin" "$work/moved/libexec/weir"
cp "$weir" "$work/moved/bin/weir"
cp "$weir" "$work/moved/libexec/weir/weir"
same "$("$full" --version)" timeout 20 "$work/moved/bin/weir" --version
# shellcheck disable=SC2016 # expanded by the script
printf '#!/bin/sh\necho "full:" "$@"\n' >"$work/moved/libexec/weir/weir"
same "full: --version" "$work/moved/bin/weir" --version
same job "$weir" run "$work/a" -- echo job

echo "# the tests of run, with both"
cp "$full" "$behind"
for name in status signals interrupt death inherit; do
	python3 "$root/tests/cmd/$name.py" "$weir" >"$work/said" 2>&1 ||
		{ cat "$work/said"; echo "FAIL tests/cmd/$name.py"; exit 1; }
done

echo "# weir explain, the full command, knows weir run, the static one"
WEIR_DIAG_TARGET=none WEIR_DIAG_REAL=none python3 "$root/tests/diag/commands.py" "$weir" \
	test_c50_runs_that_are_the_jobs_of_runs_are_a_deadlock >"$work/said" 2>&1 ||
	{ cat "$work/said"; echo "FAIL weir explain"; exit 1; }

echo "# WEIR_BUILD_FULL is a path, and that of one call"
if WEIR_BUILD_FULL=libexec/weir "$root/tools/build" -q -d "$work/none" static >"$work/said" 2>&1 ||
		! grep -q "libexec/weir is no absolute path" "$work/said"; then
	cat "$work/said"
	echo "FAIL a relative path"
	exit 1
fi
grep -q WEIR_FULL "$work/build/build.ninja"
"$root/tools/build" -q -d "$work/build" static src/cmd/web_page.c
! grep -q WEIR_FULL "$work/build/build.ninja" || { echo "FAIL it stays"; exit 1; }
echo "1 passed, 0 failed"
