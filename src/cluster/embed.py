#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Print a C array with the text of one or more files: embed.py NAME FILE..."""
import sys

name, *paths = sys.argv[1:]
lines = [line for path in paths
         for line in open(path, encoding="ascii").read().splitlines()]
print("/* Generated from a script; do not edit. */")
print('#pragma GCC diagnostic ignored "-Woverlength-strings"')
print(f"extern const char {name}[];\nconst char {name}[] =")
for line in lines:
    line = line.strip()
    # Comments of Lua and SQL begin with "--".
    if not line or line.startswith("--"):
        continue
    text = line.replace("\\", "\\\\").replace('"', '\\"')
    print(f'"{text}\\n"')
print(";")
