#!/bin/sh
# SPDX-License-Identifier: MIT
# Test the checks of the manual: break a copy of the tree in one place; the check
# must report it.
#
#   broken.sh ROOT
set -u
here=$(dirname "$0")
root=$1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
failed=0

# refuse NAME WORDS COMMAND...: COMMAND must fail, and its output must contain WORDS.
refuse() {
	name=$1 words=$2
	shift 2
	if output=$("$@" 2>&1); then
		echo "FAIL $name: passed"
		failed=1
	elif ! printf '%s\n' "$output" | grep -qF -e "$words"; then
		printf 'FAIL %s: expected "%s", got\n%s\n' "$name" "$words" \
			"$output"
		failed=1
	else
		echo "ok $name"
	fi
}

# names NAME WORDS FILE SED-SCRIPT: names.sh must fail on a tree in which FILE has
# been edited with SED-SCRIPT.
names() {
	rm -rf "$scratch/tree"
	mkdir -p "$scratch/tree/include"
	cp -R "$root/include/weir" "$scratch/tree/include/"
	cp -R "$root/man" "$scratch/tree/"
	sed "$4" "$root/$3" >"$scratch/tree/$3"
	if cmp -s "$root/$3" "$scratch/tree/$3"; then
		echo "FAIL $1: the edit changed nothing"
		failed=1
	fi
	refuse "$1" "$2" "$here/names.sh" "$scratch/tree"
}

names undocumented 'declared, but in no SYNOPSIS: weir_err weir_sem_drain(' \
	man/weir_sem.3 '/^\.Fn weir_sem_drain "/d'
names 'another type' 'in a SYNOPSIS, but not declared: weir_err weir_sem_init(' \
	man/weir_sem.3 '/^\.Fn weir_sem_init "/s/int64_t/int/'
names 'new in a header' 'declared, but in no SYNOPSIS: int weir_sem_peek(' \
	include/weir/sem.h '/weir_sem_unref/i int weir_sem_peek(weir_sem *sem);'
names 'not in NAME' 'not in its NAME: weir_sem_stat' \
	man/weir_sem.3 '/^\.Nm weir_sem_stat/d'
names 'not described' 'not described: weir_ctx_deadline' \
	man/weir_ctx.3 '/^\.Fn weir_ctx_deadline$/d'
names 'no such function' 'does not exist: weir_sem_post' \
	man/weir_sem.3 's/^\.Fn weir_sem_drain$/.Fn weir_sem_post/'
names 'no such page' 'does not exist: weir_nothing' \
	man/weir.7 's/^\.Xr weir_base 3/.Xr weir_nothing 3/'
names 'no such error' 'does not exist: WEIR_ENOSUCH' \
	man/weir.7 's/WEIR_EBUSY/WEIR_ENOSUCH/'
names 'missing link' 'links.txt is out of date' man/links.txt '1d'
names 'missing member' 'weir_cpp.3 does not have: semaphore::resize_by' \
	man/weir_cpp.3 '/^\.It Fn resize_by$/d'
names 'no such member' 'has, but not weir/semaphore.hpp: semaphore::post' \
	man/weir_cpp.3 '0,/^\.It Fn try_release$/s//.It Fn post/'
names 'missing class' 'weir_cpp.3 does not have: rwlock' \
	man/weir_cpp.3 's/^\.Ss weir::rwlock/.Ss locks/'
names 'part not included' 'has, but not weir/semaphore.hpp: rwlock::try_upgrade' \
	include/weir/semaphore.hpp '/rwlock\.hpp"$/d'
names 'missing clause' 'does not have: C7' man/weir.7 's/ (C7)$//'
names 'missing clause of named' 'does not have: C43' man/weir_named.3 's/ (C43)//'

sed '/^\.Ed/d' "$root/man/weir_ctx.3" >"$scratch/weir_ctx.3"
refuse 'not mdoc' 'FAIL weir_ctx.3' "$here/lint.sh" "$scratch/weir_ctx.3"
refuse 'no page' '' "$here/lint.sh"

sed 's/\\en/\\n/' "$root/man/weir_sem.3" >"$scratch/weir_sem.3"
refuse 'escape in a program' 'unknown escape' \
	"$here/extract.sh" "$scratch/weir_sem.3" "$scratch/list"
sed 's/^int main(void)/.Pp/' "$root/man/weir_sem.3" >"$scratch/weir_sem.3"
refuse 'macro in a program' 'a macro in a program' \
	"$here/extract.sh" "$scratch/weir_sem.3" "$scratch/list"
exit $failed
