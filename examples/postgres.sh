#!/bin/sh
# SPDX-License-Identifier: MIT
# Start a PostgreSQL server of its own, in a folder of its own and on a socket there,
# run a command with its address as first argument, and stop it.
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

# Fewer connections than writers, and nothing that has to last.
# shellcheck disable=SC2086
$as "$binaries/initdb" -D "$work/data" -A trust -U weir --no-sync \
	>"$work/log" 2>&1 &&
	$as "$binaries/pg_ctl" -D "$work/data" -l "$work/data/log" -w start \
		-o "-k $work -c listen_addresses= -c max_connections=60 -c fsync=off" \
		>>"$work/log" 2>&1 || {
	cat "$work/log" "$work/data/log"
	exit 1
}
"$command" "host=$work user=weir dbname=postgres" "$@"
