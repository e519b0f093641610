#!/bin/sh
# SPDX-License-Identifier: MIT
# The manual and the headers speak of the same things.
#
#   names.sh ROOT            check
#   names.sh --links ROOT    print what man/links.txt has to say
#
#   1. Every public function has a place in some SYNOPSIS, as declared, and every
#      function there is declared so in a header.
#   2. What a page has in its SYNOPSIS it also has in its NAME, and speaks of.
#   3. Whatever else a page calls a function, a manual page, an error or a
#      constant of weir's exists.
#   4. man/links.txt leads from every function to its page.
#   5. weir.7 has every promise that concerns threads, C1 to C36.
set -u
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
links=0
if [ "$1" = --links ]; then
	links=1
	shift
fi
root=$(cd "$1" && pwd) || exit 1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
failed=0

# only A B MESSAGE: complain of every line that is in A and not in B.
only() {
	comm -23 "$1" "$2" | sed "s/^/FAIL: $3: /" >complaints
	[ ! -s complaints ] || failed=1
	cat complaints
}

# "weir_sem_init weir_sem.3" for each name of each page of functions.
for page in "$root"/man/*.3; do
	sed -n '/^\.Sh NAME/,/^\.Nd/s/^\.Nm \([a-z0-9_]*\).*/\1/p' "$page" |
		sed "s/\$/ ${page##*/}/"
done | sort >names
awk '$1 ".3" != $2 { print $1 ".3", $2 }' names >links
if [ $links -eq 1 ]; then
	cat links
	exit
fi

awk -f "$here/header.awk" "$root"/include/weir/*.h | sort >declared
awk -f "$here/page.awk" "$root"/man/*.3 | sort >synopses
only declared synopses 'declared, but in no SYNOPSIS'
only synopses declared 'in a SYNOPSIS, but not declared'
if [ ! -s declared ]; then
	echo 'FAIL: no header declares anything'
	failed=1
fi

# What may be named: functions and pages of functions; constants.
{
	sed 's/(.*//; s/.*[ *]//' declared
	for page in "$root"/man/*.3; do
		basename "$page" .3
	done
} | sort -u >functions
grep -Eho 'WEIR_[A-Z0-9_]+' "$root"/include/weir/*.h | sort -u >constants

for page in "$root"/man/*.[137]; do
	name=${page##*/}
	awk -f "$here/page.awk" "$page" | sed 's/(.*//; s/.*[ *]//' |
		sort >in_synopsis
	sed -n "s/ $name\$//p" names | sort >in_name
	sed '1,/^\.Sh DESCRIPTION/d' "$page" |
		sed -n 's/^\.Fn \([a-z0-9_]*\).*/\1/p' | sort -u >in_text
	only in_synopsis in_name "$name: not in its NAME"
	only in_synopsis in_text "$name: not described"

	sed -En 's/^\.(Fn|Fo|Nm) (weir_[a-z0-9_]+).*/\2/p
		s/^\.(It|Pq|Op) (Fn|Xr) (weir_[a-z0-9_]+).*/\3/p
		s/^\.Xr (weir_[a-z0-9_]+) 3.*/\1/p' "$page" | sort -u >used
	only used functions "$name: there is no"
	grep -vE '^\.(Dt|Ev|It Ev) ' "$page" | grep -Eo 'WEIR_[A-Z0-9_]+' | sort -u >used
	only used constants "$name: there is no"
done

if ! diff "$root/man/links.txt" links; then
	echo 'FAIL: man/links.txt is old; make it again with'
	echo '      tests/man/names.sh --links . >man/links.txt'
	failed=1
fi

seq 1 36 | sed 's/^/C/' | sort >promises
grep -Eo '^\.It .*\(C[0-9]+\)' "$root/man/weir.7" | grep -Eo 'C[0-9]+' |
	sort >promised
only promises promised 'weir.7 does not have'
exit $failed
