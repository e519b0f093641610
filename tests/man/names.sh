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

# only A B MESSAGE: complain of every line that is in A and not in B.  A page's
# name before what it says goes before the message.
only() {
	comm -23 "$1" "$2" | sed -E "s/^([^ ]*\.[137] )?(.*)/FAIL: \1$3: \2/" >complaints
	[ ! -s complaints ] || failed=1
	cat complaints
}

# said KIND: "weir_sem.3 what", sorted.
said() {
	sed -n "s/^$1 //p" pages | sort -u
}

# function_of: from "type name(type arg,...)" its name, whatever is before.
function_of() {
	sed -E 's/\(.*//; s/^([^ ]*\.[137] )?.*[ *]/\1/' | sort -u
}

# known A B: the lines of A, "page what", whose what is in B.
known() {
	awk 'NR == FNR { there[$1]; next } $2 in there' "$2" "$1"
}

awk -f "$here/page.awk" "$root"/man/*.[137] >pages
said name >names
awk '$2 ".3" != $1 { print $2 ".3", $1 }' names | sort >links
if [ $links -eq 1 ]; then
	cat links
	exit
fi

awk -f "$here/header.awk" "$root"/include/weir/*.h | sort >declared
said synopsis | sed 's/^[^ ]* //' | sort >synopses
only declared synopses 'declared, but in no SYNOPSIS'
only synopses declared 'in a SYNOPSIS, but not declared'
if [ ! -s declared ]; then
	echo 'FAIL: no header declares anything'
	failed=1
fi

said synopsis | function_of >in_synopsis
said described >in_text
only in_synopsis names 'not in its NAME'
only in_synopsis in_text 'not described'

# What may be named: functions and pages of functions; constants.
{
	function_of <declared
	for page in "$root"/man/*.3; do
		basename "$page" .3
	done
} | sort -u >functions
grep -Eho 'WEIR_[A-Z0-9_]+' "$root"/include/weir/*.h | sort -u >constants
for kind in function constant; do
	said "$kind" >used
	known used "${kind}s" >there
	only used there 'there is no'
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
