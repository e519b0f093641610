# SPDX-License-Identifier: MIT
"""Loads weir_gdb.py into gdb, as a module with a namespace of its own.

This file is installed as DATADIR/weir/gdb/load.py, beside the module, and in the folder
from which gdb loads it together with libweir.so: DATADIR/gdb/auto-load/LIBDIR.
"""


def weir_load(here):
    import os
    import types

    for folder in (os.path.dirname(here),
                   os.path.join(here.split("/gdb/auto-load/")[0], "weir", "gdb")):
        path = os.path.join(folder, "weir_gdb.py")
        if os.path.exists(path):
            # Do not import the module: root's gdb would leave a compiled file
            # beside it.
            module = types.ModuleType("weir_gdb")
            module.__file__ = path
            with open(path, encoding="utf-8") as file:
                exec(compile(file.read(), path, "exec"), vars(module))
            return
    raise FileNotFoundError(f"{here}: weir_gdb.py is not installed")


weir_load(__import__("os").path.realpath(__file__))
del weir_load
