#!/bin/sh
# SPDX-License-Identifier: MIT
# Install the packages, use them as a newcomer would, and remove them.  tools/deb --check
# runs this in a chroot, in which /tmp/weir has the packages and README.md.
set -eu
export LC_ALL=C DEBIAN_FRONTEND=noninteractive WEIR_DIR=/tmp
cd /tmp/weir

fail() {
	echo "FAIL $*"
	exit 1
}

# Every file of the system, without those that any installation changes.
files() {
	find /etc /opt /srv /usr /var -xdev \( -path /var/log -o -path /var/cache -o -path /var/tmp \) -prune -o -print |
		grep -vE '^/var/lib/dpkg/(status|available|lock|triggers|diversions|statoverride)' |
		sort
}

quietly() {
	"$@" >log 2>&1 || { cat log; fail "$*"; }
}

packages=$(for file in *.deb; do dpkg-deb -f "$file" Package; done)
for package in $packages; do
	! dpkg-query -W "$package" >/dev/null 2>&1 || fail "$package is installed already"
done
files >before
quietly dpkg -i ./*.deb
# Each file that a package claims is there, unchanged.
for package in $packages; do
	quietly dpkg -V "$package"
	[ ! -s log ] || { cat log; fail "dpkg -V $package"; }
done
printf '# installed: %s\n' "$(echo "$packages" | tr '\n' ' ')"

awk '/^```c$/ { inside = 1; next } /^```$/ { inside = 0 } inside' README.md >app.c
test -s app.c
strict="-Wall -Wextra -Wpedantic -Werror"
# shellcheck disable=SC2046,SC2086 # one word per option
{
	quietly gcc $strict app.c $(pkg-config --cflags --libs weir) -o app
	quietly ./app
	quietly gcc $strict app.c -Wl,-Bstatic $(pkg-config --cflags --libs --static weir) \
		-Wl,-Bdynamic -o app
	quietly ./app
	for header in /usr/include/weir/*.h /usr/include/weir/posix/*.h; do
		echo "#include <${header#/usr/include/}>"
	done | grep -v loop/ >all.c
	quietly gcc $strict -c all.c $(pkg-config --cflags weir weir-cluster weir-posix) -o all.o
	echo '#include <weir/semaphore.hpp>' >all.cc
	quietly g++ $strict -std=c++17 -c all.cc -o all.o
	printf '#include <stdio.h>\n#include <weir/cluster.h>\nint main(void) { return !weir_cluster_open; }\n' >cluster.c
	quietly gcc cluster.c $(pkg-config --cflags --libs weir-cluster) -o cluster
	quietly ./cluster
}
echo "# README's program: pkg-config"

quietly sh consumer/cmake.sh "$PWD/consumer" "$PWD/cmake" "" "$PWD/app.c"
echo "# README's program: CMake"

said=$(weir run slots -n 2 -- weir stat slots)
case $said in
"slots: 1 of 2 free"*) ;;
*) fail "weir run: $said" ;;
esac
# The static command is in front; the full one finds its libraries.
! ldd /usr/bin/weir >log 2>&1 || { cat log; fail "weir is not static"; }
[ "$(weir posix --print-library)" = "$(find /usr/lib -name 'libweir-posix.so.0.*')" ] ||
	fail "weir posix --print-library: $(weir posix --print-library)"
[ "$(weir posix -- echo preloaded)" = preloaded ] || fail "weir posix"
weir rm slots
echo "# weir run, weir posix"

python3 -c '
import weir
with weir.NamedSemaphore("/tmp/slots", 2) as held:
    assert held
with weir.Semaphore(1):
    print(weir.__version__)' >log 2>&1 || { cat log; fail "python3"; }
rm /tmp/slots
echo "# python3"

for file in man/man1/weir-run.1.gz man/man3/weir_sem_acquire.3.gz \
	man/man3/weir_cluster_open.3.gz man/man7/weir.7.gz doc/weir/README.md.gz; do
	# A slim system has no documentation.
	[ -e "/usr/share/$file" ] || grep -qs path-exclude /etc/dpkg/dpkg.cfg.d/* ||
		fail "/usr/share/$file is missing"
done

# shellcheck disable=SC2086 # one word per package
quietly dpkg --purge $packages
files >after
diff before after || fail "files are left behind, or gone"
echo "# removed"
