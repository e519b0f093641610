#!/bin/sh
# SPDX-License-Identifier: MIT
# Extract the example programs of a page into the folder of LIST, and write their
# names to LIST.
#
#   extract.sh PAGE LIST
set -eu
stem=$(dirname "$2")/$(basename "$1")
rm -f "$stem"-[0-9]*.c "$stem"-[0-9]*.cpp
awk -v stem="$stem" -f "$(dirname "$0")/programs.awk" "$1" >"$2"
