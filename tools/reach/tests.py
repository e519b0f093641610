# SPDX-License-Identifier: MIT
"""Build the tests with instrumentation, and run them."""
import concurrent.futures
import glob
import json
import os
import re
import shlex
import subprocess

from .place import BUILD, LLVM, ROOT, give_up, said


def at_once(function, *each):
    with concurrent.futures.ThreadPoolExecutor(
            len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(function, *each))


def configure():
    os.makedirs(BUILD, exist_ok=True)
    flush = os.path.join(BUILD, "flush.o")
    said("clang" + LLVM, "-O1", "-fPIC", "-Wall", "-Werror", "-c",
         os.path.join(ROOT, "tools/reach/flush.c"), "-o", flush)
    link_args = "-fprofile-instr-generate " + flush
    again = os.path.exists(os.path.join(BUILD, "build.ninja"))
    said("meson", "setup", *(["--reconfigure"] if again else []),
         "-Dbuildtype=debug", "-Dtests=true", "-Dprobes=disabled",
         "-Dc_link_args=" + link_args, "-Dcpp_link_args=" + link_args,
         BUILD, ROOT,
         # Meson runs programs of its own, whose counts are discarded.
         env={**os.environ, "LLVM_PROFILE_FILE": os.devnull,
              "CC": os.path.join(ROOT, "tools/reach/cc"),
              "CXX": "clang++" + LLVM})


def introspect(what):
    return json.loads(said("meson", "introspect", BUILD, what))


def build(suites):
    """Return the tests of the suites, and the library and the tests' programs."""
    configure()
    tests = [test for test in introspect("--tests")
             if suites & {suite.split(":")[-1] for suite in test["suite"]}
             # Leave out scripts: they do not run the instrumented library.
             and test["cmd"][0].startswith(BUILD)]
    wanted = {target for test in tests for target in test["depends"]}
    targets = introspect("--targets")
    library = [target["filename"][0] for target in targets
               if target["type"] == "shared library"]
    programs = library + [target["filename"][0] for target in targets
                          if target["id"] in wanted]
    said("ninja", "-C", BUILD,
         *(os.path.relpath(program, BUILD) for program in programs))
    return tests, programs


def complaints_of(entry):
    words = shlex.split(entry["command"])
    for option in "-o", "-MF":
        words[words.index(option) + 1] = os.devnull
    done = subprocess.run(words, cwd=BUILD, text=True, stderr=subprocess.PIPE)
    if done.returncode:
        give_up(done.stderr)
    return re.findall(r"src/\S*: warning: .*MC/DC.*", done.stderr)


def not_followed():
    """Decisions for which clang counts no MC/DC.  Clang reports them only while it
    compiles, so compile the library once more for these warnings."""
    with open(os.path.join(BUILD, "compile_commands.json")) as commands:
        library = [entry for entry in json.load(commands)
                   if entry["output"].startswith("src/libweir.")]
    return [text for found in at_once(complaints_of, library) for text in found]


def run(test):
    """Run one test; return its output if it failed, else an empty string."""
    name = re.sub(r"\W", "-", test["suite"][0] + "-" + test["name"])
    # %m: separate files for programs that a test starts.  A child process adds to
    # the file of its parent.
    counts = os.path.join(BUILD, "counts", name + "-%m.profraw")
    env = {**os.environ, **test["env"], "LLVM_PROFILE_FILE": counts,
           "WEIR_COVERAGE_UNFINISHED":
           counts.replace("/counts/", "/unfinished/"),
           "WEIR_FULL": "", "WEIR_TEST_SCALE": "1", "WEIR_TEST_LIMIT": "500"}
    try:
        done = subprocess.run(test["cmd"], env=env, timeout=600, text=True,
                              cwd=test["workdir"] or BUILD, errors="replace",
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
    except subprocess.TimeoutExpired:
        return f"FAIL {name}: timeout\n"
    # 77: skipped.
    if done.returncode in (0, 77):
        return ""
    return f"FAIL {name}: status {done.returncode}\n{done.stdout[-4000:]}"


def run_all(tests):
    for kind in "counts", "unfinished":
        os.makedirs(os.path.join(BUILD, kind), exist_ok=True)
        for old in glob.glob(os.path.join(BUILD, kind, "*.profraw")):
            os.remove(old)
    return [text for text in at_once(run, tests) if text]
