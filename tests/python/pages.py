# SPDX-License-Identifier: MIT
"""The docstrings' examples run; the type stubs describe the module; mypy accepts them."""
import ast
import doctest
import os
import re
import subprocess
import tempfile
import unittest

from support import main, weir
from weir import _weir
import support

FOLDER = os.path.abspath(support.ARGV[1])
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")


class Pages(unittest.TestCase):
    def test_doctests(self):
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
        finder = doctest.DocTestFinder()
        tests = finder.find(weir)
        for kind in (_weir.Sem, _weir.Named):
            for name, method in vars(kind).items():
                if callable(method) and getattr(method, "__doc__", None):
                    tests += finder.find(method, f"{kind.__name__}.{name}",
                                         globs={"weir": weir})
        for test in tests:
            runner.run(test)
        self.assertEqual(runner.failures, 0)
        self.assertGreater(runner.tries, 35)

    def test_everything_public_has_a_docstring(self):
        for name in weir.__all__:
            thing = getattr(weir, name)
            self.assertTrue(thing.__doc__, name)
            for attribute, value in vars(thing).items():
                if not attribute.startswith("_") and (callable(value) or
                                                      isinstance(value, property)):
                    self.assertTrue(value.__doc__, f"{name}.{attribute}")

    def test_stubs_name_what_exists(self):
        with open(os.path.join(FOLDER, "_weir.pyi"), encoding="utf-8") as file:
            tree = ast.parse(file.read())
        stubs = {node.name: {item.name for item in getattr(node, "body", [])
                             if isinstance(item, ast.FunctionDef)}
                 for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
        real = {name: value for name, value in vars(_weir).items() if not name.startswith("__")}
        self.assertEqual(set(stubs), set(real))
        for name, value in real.items():
            if isinstance(value, type) and not issubclass(value, Exception):
                ignored = {"__new__", "__doc__", "__module__", "__init__"}
                self.assertEqual(stubs[name] - ignored, set(vars(value)) - ignored, name)

    def test_mypy(self):
        # It takes seconds: make check leaves it out.
        if not os.environ.get("WEIR_COMPLETE"):
            self.skipTest("only with -Dcomplete=true")
        with tempfile.TemporaryDirectory() as cache:
            done = subprocess.run(["mypy", "--strict", "--cache-dir", cache, "-p", "weir"],
                                  cwd=os.path.dirname(FOLDER), capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)

    def test_the_guide_runs(self):
        with open(os.path.join(ROOT, "docs/guide/python.md"), encoding="utf-8") as file:
            programs = re.findall(r"^```python\n(.*?)^```", file.read(), re.M | re.S)
        self.assertGreater(len(programs), 3)
        with tempfile.TemporaryDirectory() as folder:
            os.environ["WEIR_DIR"] = folder
            for program in programs:
                with self.subTest(program):
                    exec(compile(program, "docs/guide/python.md", "exec"),
                         {"__name__": "guide", "weir": weir})


if __name__ == "__main__":
    main()
