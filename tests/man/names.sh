#!/bin/sh
# SPDX-License-Identifier: MIT
# Check that the manual and the headers agree.
#
#   names.sh ROOT            check
#   names.sh --links ROOT    print the required contents of man/links.txt
#
#   1. Every public function is in the SYNOPSIS of a page, as declared, and every
#      function of a SYNOPSIS is declared in a header.
#   2. Every function of a SYNOPSIS is in the NAME section of its page and is
#      described there.
#   3. Every function, page, error and constant of weir that a page mentions exists.
#   4. man/links.txt links every function to its page.
#   5. weir.7 has every clause from C1 to C51, except those of weir_named.3, which has C37
#      to C40, C42 and C43.
#   6. weir_cpp.3 has a section for every class of weir/semaphore.hpp, and in it every
#      public member; and nothing else.
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

# only A B MESSAGE: report every line that is in A and not in B.  If a line begins
# with the name of a page, then the name is printed before MESSAGE.
only() {
	comm -23 "$1" "$2" | sed -E "s/^([^ ]*\.[137] )?(.*)/FAIL: \1$3: \2/" >complaints
	[ ! -s complaints ] || failed=1
	cat complaints
}

# names_of KIND: print the names of that kind, as "weir_sem.3 name", sorted.
names_of() {
	sed -n "s/^$1 //p" pages | sort -u
}

# function_of: reduce "type name(type arg,...)" to the name; a page before it stays.
function_of() {
	sed -E 's/\(.*//; s/^([^ ]*\.[137] )?.*[ *]/\1/' | sort -u
}

# known A B: print the lines "page name" of A whose name is in B.
known() {
	awk 'NR == FNR { there[$1]; next } $2 in there' "$2" "$1"
}

awk -f "$here/page.awk" "$root"/man/*.[137] >pages
names_of name >names
awk '$2 ".3" != $1 { print $2 ".3", $1 }' names | sort >links
if [ $links -eq 1 ]; then
	cat links
	exit
fi

awk -f "$here/header.awk" "$root"/include/weir/*.h | sort >declared
names_of synopsis | sed 's/^[^ ]* //' | sort >synopses
only declared synopses 'declared, but in no SYNOPSIS'
only synopses declared 'in a SYNOPSIS, but not declared'
if [ ! -s declared ]; then
	echo 'FAIL: no header declares anything'
	failed=1
fi

names_of synopsis | function_of >in_synopsis
names_of described >in_text
only in_synopsis names 'not in its NAME'
only in_synopsis in_text 'not described'

# The names that may be mentioned: functions and pages of functions; constants.
{
	function_of <declared
	for page in "$root"/man/*.3; do
		basename "$page" .3
	done
} | sort -u >functions
grep -Eho 'WEIR_[A-Z0-9_]+' "$root"/include/weir/*.h "$root"/include/weir/*/*.h | sort -u >constants
for kind in function constant; do
	names_of "$kind" >used
	known used "${kind}s" >there
	only used there 'does not exist'
done

if ! diff "$root/man/links.txt" links; then
	echo 'FAIL: man/links.txt is out of date; regenerate it with'
	echo '      tests/man/names.sh --links . >man/links.txt'
	failed=1
fi

named='C37|C38|C39|C40|C42|C43'
seq 1 51 | sed 's/^/C/' | grep -vxE "$named" | sort >clauses
grep -Eo '^\.It .*\(C[0-9]+\)' "$root/man/weir.7" | grep -Eo 'C[0-9]+' |
	sort >in_page
only clauses in_page 'weir.7 does not have'
echo "$named" | tr '|' '\n' | sort >clauses
grep -Eo '\(C[0-9]+\)' "$root/man/weir_named.3" | tr -d '()' | sort -u >in_page
only clauses in_page 'weir_named.3 does not have'

sed -n 's/^#include "\(weir\/cpp\/.*\)"$/\1/p' "$root/include/weir/semaphore.hpp" >parts
# The class permit is in a header of C.
echo weir/permit.h >>parts
(cd "$root/include" && xargs awk -f "$here/members.awk") <parts | sort -u >members
awk '/^\.S[sh] / { class = "" }
	/^\.Ss weir::/ { class = substr($2, 7); print class }
	class && /^\.It Fn / { print class "::" $3 }' "$root/man/weir_cpp.3" | sort -u >documented
only members documented 'weir_cpp.3 does not have'
only documented members 'weir_cpp.3 has, but not weir\/semaphore.hpp'
if [ ! -s members ]; then
	echo 'FAIL: weir/semaphore.hpp has no classes'
	failed=1
fi
exit $failed
