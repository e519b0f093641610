#!/bin/sh
# SPDX-License-Identifier: MIT
# Test tools/build.  Meson keeps the results of its searches for headers, also those that
# failed, so tools/build clears them if packages may have been installed since the last
# configuration: `make bench` after `make check` otherwise skips peers that were
# installed in between.  meson and ninja are replaced by recorders: nothing is built.
#
#   build.sh ROOT
set -u
build=$1/tools/build
status=/var/lib/dpkg/status
[ -e "$status" ] || { echo "there is no $status"; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -r "$work"' EXIT
mkdir "$work/bin" "$work/dir"
export PATH="$work/bin:$PATH" WEIR_BUILD_LOG="$work/log"
unset PREFIX
for name in meson ninja; do
	printf '#!/bin/sh\necho "%s $*" >>"$WEIR_BUILD_LOG"\n' "$name" >"$work/bin/$name"
	chmod +x "$work/bin/$name"
done
failed=0

# expect NAME COMMAND...: the commands of one run of tools/build.
expect() {
	name=$1
	shift
	: >"$WEIR_BUILD_LOG"
	"$build" -q -d "$work/dir" gcc || failed=1
	printf '%s\n' "$@" >"$work/expected"
	if cmp -s "$work/expected" "$WEIR_BUILD_LOG"; then
		echo "ok $name"
	else
		failed=1
		echo "FAIL $name"
		diff "$work/expected" "$WEIR_BUILD_LOG"
	fi
}

# The times of the system's files may be later than the clock of this machine.
touch -d 2100-01-01 "$work/dir/build.ninja"
expect "no package was installed" "ninja -C $work/dir"
touch -d @0 "$work/dir/build.ninja"
expect "packages may have been installed" "meson configure --clearcache $work/dir" \
	"ninja -C $work/dir"
exit $failed
