#!/bin/sh
# SPDX-License-Identifier: MIT
# tools/setup: silent when nothing is missing; without root a message that names
# the packages and how to install them; with root or sudo it installs, asking
# nothing; an install that fails is shown; what is only wished for stops nothing.
# Its commands are replaced by recorders: nothing is installed here.
#
#   setup.sh ROOT
set -u
setup=$1/tools/setup
work=$(mktemp -d) || exit 1
trap 'rm -r "$work"' EXIT
mkdir "$work/bin"
export PATH="$work/bin:$PATH" WEIR_SETUP_LOG="$work/log"
export WEIR_SETUP_POLICY="$work/policy"
passed=0
failed=0

# fake NAME: a command in front of the real one, its body from standard input.
fake() {
	{ echo '#!/bin/sh'; cat; } >"$work/bin/$1"
	chmod +x "$work/bin/$1"
}

# expect NAME STATUS WORDS...: how the last run ended, and what it must have said.
expect() {
	name=$1
	wrong=
	[ "$status" -eq "$2" ] || wrong="status $status, not $2"
	shift 2
	for words; do
		case $said in
		*"$words"*) ;;
		*) wrong="did not say \"$words\"" ;;
		esac
	done
	if [ -z "$wrong" ]; then
		passed=$((passed + 1))
		echo "ok $name"
	else
		failed=$((failed + 1))
		printf 'FAIL %s: %s\n%s\n' "$name" "$wrong" "$said"
	fi
}

run() {
	: >"$WEIR_SETUP_LOG"
	said=$("$setup" "$@" 2>&1)
	status=$?
}

fake apt-get <<'TEXT'
echo "$DEBIAN_FRONTEND: $*" >>"$WEIR_SETUP_LOG"
[ "$1" != install ] || "$WEIR_SETUP_POLICY" || echo "servers: $?" >>"$WEIR_SETUP_LOG"
[ "$1" != install ] || [ -z "${WEIR_SETUP_BREAK:-}" ] || { echo 'E: no such package'; exit 100; }
TEXT

run check
expect "nothing is missing" 0
[ -z "$said$(cat "$WEIR_SETUP_LOG")" ] || {
	failed=$((failed + 1))
	echo "FAIL not silent when nothing is missing: $said"
}

export WEIR_SETUP_EXTRA="no-such-tool:weir-tool /no/such/file:weir-file-dev no-other:weir-tool"

fake id <<'TEXT'
echo 1000
TEXT
fake sudo <<'TEXT'
exit 1
TEXT
run check
expect "no root" 1 "make check" "needs root" "missing:    weir-tool weir-file-dev" \
	"sudo apt-get install -y --no-install-recommends weir-tool weir-file-dev"
[ ! -s "$WEIR_SETUP_LOG" ] || { failed=$((failed + 1)); echo "FAIL ran apt-get"; }

fake sudo <<'TEXT'
shift
exec "$@"
TEXT
run demo
expect "sudo" 0 "weir: make demo needs: weir-tool weir-file-dev" \
	"weir: sudo apt-get install"
said=$(cat "$WEIR_SETUP_LOG")
expect "sudo runs apt-get" 0 "noninteractive: update" \
	"noninteractive: install -y --no-install-recommends weir-tool weir-file-dev" \
	"servers: 101"
[ ! -e "$WEIR_SETUP_POLICY" ] || { failed=$((failed + 1)); echo "FAIL servers stay forbidden"; }

fake id <<'TEXT'
echo 0
TEXT
run bench
expect "root" 0 "weir: apt-get install"
export WEIR_SETUP_BREAK=1
run check
expect "an install that fails" 1 "E: no such package" "failed with status 100"

# What is only wished for stops nothing.
export WEIR_SETUP_EXTRA='' WEIR_SETUP_WISHES="no-such-peer:weir-peer"
run bench
expect "a wish that fails" 0 "weir: make bench would like: " "weir-peer" \
	"E: no such package" "weir: make bench goes on without weir-peer"
fake id <<'TEXT'
echo 1000
TEXT
fake sudo <<'TEXT'
exit 1
TEXT
run bench
expect "a wish without root" 0 "weir: make bench goes on without: " "weir-peer"

run nonsense
expect "usage" 2 "usage:"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
