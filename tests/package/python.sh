#!/bin/sh
# SPDX-License-Identifier: MIT
# Build the wheel of the Python package with the standard tools, without a network, and
# run the tests of threads and tasks on the files that it installs.
#
#   python.sh ROOT BUILD
set -eu
root=$1
build=$2
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT

python=
for candidate in python3 /usr/bin/python3; do
	$candidate -c 'import setuptools, wheel, pip' 2>/dev/null || continue
	printf '#include <Python.h>\n' | cc -E -I"$($candidate -c \
		'import sysconfig; print(sysconfig.get_path("include"))')" - >/dev/null 2>&1 || continue
	python=$candidate
	break
done
if [ -z "$python" ]; then
	echo "skipped: python wheel: needs pip, setuptools and wheel, and Python.h"
	[ -z "${WEIR_COMPLETE:-}" ] || exit 1
	exit 77
fi

# setuptools writes beside its sources.
cp -R "$root/bindings" "$root/include" "$work"
export WEIR_BUILD="$build" PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INDEX=1 HOME="$work"
quietly() {
	"$@" >"$work/log" 2>&1 || { cat "$work/log"; echo "FAIL $*"; exit 1; }
}
quietly "$python" -m pip wheel --no-build-isolation --no-deps -w "$work/wheels" \
	"$work/bindings/python"
wheel=$(ls "$work"/wheels)
case $wheel in
weir-0.*-cp310-abi3-linux_*.whl) ;;
*) echo "FAIL the wheel is $wheel"; exit 1 ;;
esac
echo "# $wheel"

quietly "$python" -m pip install --no-deps --target "$work/site" "$work/wheels/$wheel"
for file in __init__.py _weir.abi3.so _weir.pyi py.typed; do
	[ -e "$work/site/weir/$file" ] || { echo "FAIL $file is not installed"; exit 1; }
done
export LD_LIBRARY_PATH="$build/src"
for name in threads tasks; do
	quietly "$python" "$root/tests/python/$name.py" "$work/site/weir" \
		"$work/site/weir/_weir.abi3.so"
done
echo "1 passed, 0 failed"
