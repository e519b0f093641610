#!/bin/sh
# SPDX-License-Identifier: MIT
# mandoc has nothing to say of any page.
#
#   lint.sh PAGE...
set -u
failed=0
for page; do
	if said=$(mandoc -T lint -W warning "$page" 2>&1) && [ -z "$said" ]; then
		echo "ok ${page##*/}"
	else
		printf 'FAIL %s\n%s\n' "${page##*/}" "$said"
		failed=1
	fi
done
# No page is no pass: a wrong path must not look clean.
[ $# -gt 0 ] || failed=1
exit $failed
