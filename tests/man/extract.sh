#!/bin/sh
# SPDX-License-Identifier: MIT
# Write the programs of a page beside LIST, and their names into it.
#
#   extract.sh PAGE LIST
set -eu
stem=$(dirname "$2")/$(basename "$1")
rm -f "$stem"-[0-9]*.c
awk -v stem="$stem" -f "$(dirname "$0")/programs.awk" "$1" >"$2"
