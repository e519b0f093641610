#!/bin/sh
# SPDX-License-Identifier: MIT
# mandoc must report nothing for any page.
#
#   lint.sh PAGE...
set -u
failed=0
for page; do
	if output=$(mandoc -T lint -W warning "$page" 2>&1) && [ -z "$output" ]; then
		echo "ok ${page##*/}"
	else
		printf 'FAIL %s\n%s\n' "${page##*/}" "$output"
		failed=1
	fi
done
# Without a page the test fails: a wrong path must not pass.
[ $# -gt 0 ] || failed=1
exit $failed
