#!/bin/sh
# SPDX-License-Identifier: MIT
# Test tools/setup.  It prints nothing if no package is missing.  Without root it
# prints the missing packages and the command that installs them.  With root or sudo it
# installs without a prompt.  It waits for another program that installs packages.  It
# reports an install that fails.  A missing optional package does not fail.  The
# commands are replaced by recorders: nothing is installed.
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

# fake NAME: create a command that replaces the real one; its body is standard input.
fake() {
	{ echo '#!/bin/sh'; cat; } >"$work/bin/$1"
	chmod +x "$work/bin/$1"
}

# expect NAME STATUS WORDS...: check the exit status and the output of the last run.
expect() {
	name=$1
	wrong=
	[ "$status" -eq "$2" ] || wrong="status $status, expected $2"
	shift 2
	for words; do
		case $said in
		*"$words"*) ;;
		*) wrong="the output does not contain \"$words\"" ;;
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
if [ -e "$WEIR_SETUP_LOG.locked" ]; then
	[ -n "${WEIR_SETUP_STUCK:-}" ] || rm "$WEIR_SETUP_LOG.locked"
	echo 'E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 4711 (apt-get)'
	exit 100
fi
echo "$DEBIAN_FRONTEND: $*" >>"$WEIR_SETUP_LOG"
[ "$1" != install ] || "$WEIR_SETUP_POLICY" || echo "servers: $?" >>"$WEIR_SETUP_LOG"
[ "$1" != install ] || [ -z "${WEIR_SETUP_BREAK:-}" ] || { echo 'E: no such package'; exit 100; }
TEXT

run check
expect "nothing is missing" 0
# Without ncurses or libdw there is a message: they are wished for.
[ -z "$said$(cat "$WEIR_SETUP_LOG")" ] || [ ! -e /usr/include/curses.h ] ||
	[ ! -e /usr/include/elfutils/libdwfl.h ] || {
	failed=$((failed + 1))
	echo "FAIL output although nothing is missing: $said"
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
[ ! -e "$WEIR_SETUP_POLICY" ] || { failed=$((failed + 1)); echo "FAIL the policy that forbids servers remains"; }

fake id <<'TEXT'
echo 0
TEXT
run bench
expect "root" 0 "weir: apt-get install"
touch "$WEIR_SETUP_LOG.locked"
run bench
expect "another program holds the lock for a moment" 0 "another program is installing"
said=$(cat "$WEIR_SETUP_LOG")
expect "the command is run again" 0 "noninteractive: update" "noninteractive: install"
touch "$WEIR_SETUP_LOG.locked"
export WEIR_SETUP_STUCK=1 WEIR_SETUP_PATIENCE=1
run bench
expect "the lock is never free" 1 "waiting 1 s at most" "held by process 4711" \
	"failed with status 100"
# Each attempt of apt-get takes ten seconds here, and nothing sleeps.
fake sleep </dev/null
fake date <<'TEXT'
now=$(($(cat "$WEIR_SETUP_LOG.clock" 2>/dev/null || echo 0) + 10))
echo "$now" | tee "$WEIR_SETUP_LOG.clock"
TEXT
export WEIR_SETUP_PATIENCE=30
run bench
expect "the lock is never free, and apt-get is slow" 1 "waiting 30 s at most"
waited=$(cat "$WEIR_SETUP_LOG.clock" 2>/dev/null || echo 0)
if [ "$waited" -lt 30 ] || [ "$waited" -gt 50 ]; then
	failed=$((failed + 1))
	echo "FAIL waits $waited s instead of 30 s"
fi
rm -f "$WEIR_SETUP_LOG.clock"
WEIR_SETUP_EXTRA='' WEIR_SETUP_WISHES="no-one:weir-one no-two:weir-two no-three:weir-three"
export WEIR_SETUP_WISHES
run bench
expect "the lock is never free, and several packages are wished for" 0 \
	"goes on without weir-one" "goes on without weir-two" "goes on without weir-three"
waited=$(cat "$WEIR_SETUP_LOG.clock" 2>/dev/null || echo 0)
# One more attempt for each of them; bench wishes for others as well.
packages=$(echo "$said" | grep -c "goes on without")
if [ "$waited" -lt 30 ] || [ "$waited" -gt $((50 + 10 * packages)) ]; then
	failed=$((failed + 1))
	echo "FAIL waits $waited s instead of 30 s for all wishes"
fi
rm "$WEIR_SETUP_LOG.locked" "$work/bin/sleep" "$work/bin/date"
unset WEIR_SETUP_STUCK WEIR_SETUP_PATIENCE WEIR_SETUP_WISHES
export WEIR_SETUP_EXTRA="no-such-tool:weir-tool /no/such/file:weir-file-dev no-other:weir-tool"
export WEIR_SETUP_BREAK=1
run check
expect "an install that fails" 1 "E: no such package" "failed with status 100"

# A missing optional package does not fail.
export WEIR_SETUP_EXTRA='' WEIR_SETUP_WISHES="no-such-peer:weir-peer"
run bench
expect "an optional package that fails" 0 "weir: make bench would like: " "weir-peer" \
	"E: no such package" "weir: make bench goes on without weir-peer"
fake id <<'TEXT'
echo 1000
TEXT
fake sudo <<'TEXT'
exit 1
TEXT
run bench
expect "an optional package without root" 0 "weir: make bench goes on without: " "weir-peer"

run nonsense
expect "usage" 2 "usage:"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
