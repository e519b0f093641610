#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The words that the completion for bash offers.  The syntax of the completions for zsh
# and fish is checked if these shells are installed.
#
#   complete.sh WEIR ROOT
set -u
weir=$(realpath "$1")
root=$2
WEIR_DIR=$(mktemp -d) || exit 1
export WEIR_DIR
trap 'rm -rf "$WEIR_DIR"' EXIT
PATH=$(dirname "$weir"):$PATH
failed=0
. "$root/completions/weir.bash"
"$weir" open builds -n 1
"$weir" open backup -n 1

# offers "LINE" WORD...: check that WORD... are offered at the end of LINE, sorted.
offers() {
	local line=$1 got
	shift
	# readline makes "=" a separate word.
	read -ra COMP_WORDS <<<"${line//=/ = }"
	[ "${line% }" = "$line" ] || COMP_WORDS+=("")
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
	COMPREPLY=()
	_weir
	got=$(printf '%s\n' "${COMPREPLY[@]}" | LC_ALL=C sort -u | paste -sd ' ')
	if [ "$got" = "$*" ]; then
		echo "ok $line"
	else
		echo "FAIL $line: offers \"$got\", not \"$*\""
		failed=1
	fi
}

offers 'weir ho' hold
offers 'weir --v' --version
offers 'weir re' release resize resume
offers 'weir stat ' backup builds
offers 'weir run bu' builds
offers 'weir run -n 3 ba' backup
offers 'weir run builds --or' --orphan
offers 'weir run builds --orphan k' keep kill
offers 'weir run builds -t ' ''
offers 'weir run -n 3 -t ' ''
offers 'weir run --capacity=3 ba' backup
offers 'weir run builds --orphan=' keep kill
offers 'weir run builds --orphan=ke' keep
offers 'weir run --label=x --orphan=keep builds sha256su' sha256sum
offers 'weir wait builds --free=' ''
offers 'weir wait builds --' --exit-code --free --help --idle --nested --shared --timeout
offers 'weir help cl' close
offers 'weir web --' --allow-remote --help --listen
offers 'weir web --listen ' ''
offers 'weir web 1 --l' --listen
offers 'weir export --' --allow-remote --help --listen --once --openmetrics --url
offers 'weir export --listen ' ''
offers 'weir export ' ''
offers 'weir stat builds ' ''
offers 'weir run builds sha256su' sha256sum
offers 'weir run builds -- sha256su' sha256sum
# The word at which the job begins; from there, its own completion is used.
# shellcheck disable=SC2317 # called by the completion
_command_offset() {
	COMPREPLY=("from ${COMP_WORDS[$1]}")
}
offers 'weir run -n 1 builds -q make al' 'from make'
offers 'weir run builds -- make -k al' 'from make'
offers 'weir jobserver --style=fifo -v make al' 'from make'
offers 'weir jobserver -n 2 make al' 'from make'
offers 'weir jobserver -- make al cle' 'from make'
unset -f _command_offset
# A name must not be expanded or executed.
cd "$WEIR_DIR" || exit 1
# shellcheck disable=SC2016 # not expanded
"$weir" open 'x$(touch${IFS}ran)' -n 1
offers 'weir stat x' 'x\$\(touch\$\{IFS\}ran\)'
[ ! -e ran ] || { echo "FAIL a name was run"; failed=1; }
# A ":" in a name does not end it.
if command -v zsh >/dev/null; then
	"$weir" open 'a:b' -n 1
	got=$(zsh -f -c 'source <(grep -v "^_weir " "$1")
		_describe() { print -r -- $names[1] }
		_weir_names' zsh "$root/completions/_weir")
	[ "$got" = 'a\:b' ] || { echo "FAIL zsh offers \"$got\""; failed=1; }
fi
for shell in zsh fish; do
	command -v $shell >/dev/null || continue
	case $shell in
	zsh) zsh -n "$root/completions/_weir" ;;
	fish) fish --no-execute "$root/completions/weir.fish" ;;
	esac || { echo "FAIL $shell cannot read it"; failed=1; }
done
exit $failed
