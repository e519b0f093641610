# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# Shared by the smoke tests: run a measurement of $program and check its output.
passed=0
failed=0

# try WANTED-STATUS ARGUMENT...
# shellcheck disable=SC2154 # the including script sets program
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
