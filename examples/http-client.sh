#!/bin/sh
# SPDX-License-Identifier: MIT
# Start a private nginx in a temporary folder, on a socket there, that answers 429
# above RATE requests per second; run COMMAND RATE ARGUMENT... with its address,
# and stop it.
#
#   http-client.sh NGINX COMMAND RATE [ARGUMENT]...
#
# It allows a burst of ten: the client's burst of five, and one delayed request of
# each of its four threads.
set -u
nginx=$1
command=$2
rate=$3
shift 3
work=$(mktemp -d) || exit 1
pid=
stop() {
	[ -z "$pid" ] || kill "$pid" 2>/dev/null
	[ -z "$pid" ] || wait "$pid" 2>/dev/null
	rm -rf "$work"
}
trap stop EXIT
trap 'exit 1' INT TERM

cat >"$work/conf" <<END
daemon off;
master_process off;
pid $work/pid;
error_log $work/errors;
events { }
http {
	access_log off;
	client_body_temp_path $work/a;
	proxy_temp_path $work/b;
	fastcgi_temp_path $work/c;
	uwsgi_temp_path $work/d;
	scgi_temp_path $work/e;
	limit_req_zone \$server_name zone=all:1m rate=${rate}r/s;
	server {
		listen unix:$work/socket;
		server_name here;
		root $work/files;
		limit_req zone=all burst=10 nodelay;
		limit_req_status 429;
	}
}
END
mkdir "$work/files" && echo hello >"$work/files/index.html"
"$nginx" -c "$work/conf" -e "$work/errors" -p "$work" &
pid=$!
until [ -S "$work/socket" ]; do
	kill -0 "$pid" 2>/dev/null || { cat "$work/errors"; exit 1; }
	sleep 0.05
done
"$command" "$rate" "$@" --unix-socket "$work/socket" http://here/
