# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# For the smoke tests: a measurement of $program must run and answer with figures.
passed=0
failed=0

# try WANTED-STATUS ARGUMENT...
# shellcheck disable=SC2154 # program is set by who reads this
try() {
	want=$1
	shift
	said=$("$program" "$@" 2>&1)
	status=$?
	case $status/$want/$said in
	0/0/'{"'*': '[0-9]*'}') passed=$((passed + 1)) ;;
	3/3/*) passed=$((passed + 1)) ;;
	*)
		failed=$((failed + 1))
		printf 'FAIL %s: status %s\n%s\n' "$*" "$status" "$said"
		;;
	esac
}

sum_up() {
	echo "$passed passed, $failed failed"
	[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}
