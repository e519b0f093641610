#!/bin/sh
# SPDX-License-Identifier: MIT
# Start a PostgreSQL server of its own, in a folder of its own and on a free port of
# this machine, run a command with its address as first argument, and stop it.
#
#   postgres.sh BINARIES COMMAND [ARGUMENT]...
#
# The server does not run as root; then it is the user postgres.
set -u
binaries=$1
command=$2
shift 2
work=$(mktemp -d) || exit 1
as=
if [ "$(id -u)" -eq 0 ]; then
	as="setpriv --reuid=postgres --regid=postgres --clear-groups"
	chown postgres "$work"
fi
stop() {
	# shellcheck disable=SC2086 # a command of several words, or none
	$as "$binaries/pg_ctl" -D "$work/data" -m immediate -w stop >/dev/null 2>&1
	rm -rf "$work"
}
trap stop EXIT
trap 'exit 1' INT TERM

# shellcheck disable=SC2086
$as "$binaries/initdb" -D "$work/data" -A trust -U weir --no-sync \
	>"$work/log" 2>&1 || {
	cat "$work/log"
	exit 1
}
# As it comes, but for fewer connections than there are writers.  A port that
# somebody has taken is found out by trying.
port=$((20000 + $$ % 10000))
tries=20
# shellcheck disable=SC2086
until $as "$binaries/pg_ctl" -D "$work/data" -l "$work/data/log" -w start \
	-o "-k $work -c listen_addresses=127.0.0.1 -c port=$port \
	    -c max_connections=60" >>"$work/log" 2>&1; do
	port=$((port + 1))
	tries=$((tries - 1))
	if [ $tries -eq 0 ] || ! grep -q 'already in use' "$work/data/log"; then
		cat "$work/log" "$work/data/log"
		exit 1
	fi
	: >"$work/data/log"
done
"$command" "host=127.0.0.1 port=$port user=weir dbname=postgres" "$@"
