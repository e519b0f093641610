#!/bin/sh
# SPDX-License-Identifier: MIT
# Start a private PostgreSQL server in a temporary folder, on a free port of this
# machine, run a command with its address as the first argument, and stop it.
#
#   postgres.sh BINARIES COMMAND [ARGUMENT]...
#
# The server refuses to run as root; root runs it as the user postgres.
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
# The default configuration, with fewer connections than writers.  If the port is
# in use, try the next one.
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
