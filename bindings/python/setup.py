# SPDX-License-Identifier: MIT
"""Build the package weir.

The extension is linked with an installed libweir, which pkg-config finds; or, if
WEIR_BUILD is set, with the library in that build directory of the tree around this
folder.  It uses the limited API, so one build serves every later version of Python.
"""
import os
import re
import shlex
import subprocess

from setuptools import Extension, setup

HERE = os.path.dirname(os.path.abspath(__file__))


def flags(option):
    words = subprocess.run(["pkg-config", option, "weir"], check=True, capture_output=True,
                           text=True).stdout
    return shlex.split(words)


def version():
    """The version of the tree, from weir/base.h or from pkg-config."""
    header = os.path.join(HERE, "../../include/weir/base.h")
    if not os.path.exists(header):
        return flags("--modversion")[0]
    with open(header, encoding="utf-8") as file:
        numbers = re.findall(r"WEIR_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", file.read())
    return ".".join(numbers[:3])


build = os.environ.get("WEIR_BUILD")
if build:
    where = {"include_dirs": [os.path.join(HERE, "../../include")],
             "library_dirs": [os.path.join(os.path.abspath(build), "src")],
             "libraries": ["weir", "dl"]}
else:
    where = {"extra_compile_args": flags("--cflags"), "extra_link_args": flags("--libs"),
             "libraries": ["dl"]}

setup(
    version=version(),
    ext_modules=[Extension(
        "weir._weir",
        sources=["src/" + name for name in ("cluster.c", "cluster_load.c", "helper.c", "lease.c", "loop.c",
                                            "module.c", "named.c", "named_open.c", "named_task.c", "rate.c",
                                            "sem.c", "wait.c")],
        depends=["src/cluster.h", "src/helper.h", "src/named.h", "src/weirpy.h"],
        define_macros=[("_GNU_SOURCE", "1"), ("Py_LIMITED_API", "0x030A0000")],
        py_limited_api=True,
        **where)],
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
)
