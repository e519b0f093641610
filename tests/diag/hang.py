# SPDX-License-Identifier: MIT
"""Diagnose the programs of docs/guide/hang.md, and compare with the outputs shown there.

    hang.py WEIR GUIDE PROGRAM...           compare
    hang.py --write WEIR GUIDE PROGRAM...   write the outputs into the guide

A PROGRAM prints "NAME hangs, process PID" when it hangs.  The guide has a line
"<!-- NAME -->" where the output of `weir explain PID` belongs, and the output behind it.
The programs in REPORTS end by themselves; there the output is the report of WEIR_DIAG=report.
Numbers of processes and threads, addresses and times differ from run to run and are not
compared, nor are the callers in the C library.
"""
import os
import re
import subprocess
import sys

LIMIT = 60      # seconds for each program
REPORTS = {"hang-limit"}


def explain(weir, program):
    """Returns the output of `weir explain` on the program, and its exit status."""
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as hanging:
        line = hanging.stdout.readline()
        found = re.fullmatch(r"\S+ hangs, process (\d+)\n", line)
        if not found:
            sys.exit(f"{program} printed {line!r}")
        done = subprocess.run([weir, "explain", found[1]], text=True, timeout=LIMIT,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        hanging.stdin.close()
        if hanging.wait(timeout=LIMIT):
            sys.exit(f"{program} ended with {hanging.returncode}")
    return done.stdout, done.returncode


def report(program):
    """Returns the reports of a program that ends, and its exit status."""
    done = subprocess.run([program], env={**os.environ, "WEIR_DIAG": "report"}, text=True,
                          timeout=LIMIT, stderr=subprocess.PIPE, check=False)
    return done.stderr, done.returncode


def command_of(weir, program):
    """Returns the command that the guide shows, its output and its exit status."""
    if os.path.basename(program) in REPORTS:
        return f"WEIR_DIAG=report ./{os.path.basename(program)}", *report(program)
    return "weir explain PID", *explain(weir, program)


def shown(text, program):
    """The text as the guide shows it: without folders."""
    return text.replace(os.path.dirname(os.path.abspath(program)) + "/", "")


def comparable(text):
    """Leave out the numbers that differ from run to run."""
    text = re.sub(r"\b(pid|tid|explain|dump) \d+", r"\1 N", text)
    text = re.sub(r"( < lib\S+)+( < \.\.\.)?", "", text)
    text = re.sub(r"\+0x[0-9a-f]+", "+0xN", text)
    text = re.sub(r"\b\d+(\.\d+)? (s|ms|us)\b|\b(\d+[hm])?\d+[ms]\d*s?\b(?! free)", "TIME", text)
    return re.sub(r"[ \t]+", " ", text)


def block_of(guide, name):
    """Returns the start, the end and the text of the output behind the mark."""
    mark = f"<!-- {name} -->\n"
    if mark not in guide:
        sys.exit(f"the guide has no line {mark!r}")
    start = end = guide.index(mark) + len(mark)
    found = re.match(r"\n((    .*\n|\n(?=    ))+)", guide[start:])
    if found:
        end = start + found.end()
    return start, end, re.sub(r"(?m)^    ", "", found[1]) if found else ""


def main():
    write = sys.argv[1] == "--write"
    weir, path, *programs = sys.argv[1 + write:]
    with open(path, encoding="utf-8") as file:
        guide = file.read()
    wrong = 0
    for program in programs:
        name = os.path.basename(program)
        command, output, status = command_of(weir, program)
        if name not in REPORTS and f"{name}.c:" not in output:
            print("skipped: hang: weir was built without libdw, or libdw is not installed")
            sys.exit(77)
        output = f"$ {command}\n{shown(output, program)}$ echo $?\n{status}\n"
        start, end, known = block_of(guide, name)
        if write:
            guide = guide[:start] + "\n" + re.sub(r"(?m)^(?=.)", "    ", output) + guide[end:]
        elif comparable(output) != comparable(known):
            print(f"FAIL {name}: the guide shows\n{known}\nand the output is\n{output}")
            wrong += 1
        else:
            print(f"ok {name}")
    if write:
        with open(path, "w", encoding="utf-8") as file:
            file.write(guide)
    sys.exit(wrong > 0)


main()
