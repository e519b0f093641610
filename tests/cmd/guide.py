# SPDX-License-Identifier: MIT
"""The examples of docs/guide/command.md.  The blocks of commands of a section are run by
bash in an empty folder, in order; the output of each must be the block after it."""
import os
import re
import subprocess

from support import *
import support

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def sections():
    with open(os.path.join(ROOT, "docs", "guide", "command.md")) as file:
        text = file.read()
    for section in re.split(r"^## ", text, flags=re.M)[1:]:
        blocks = re.findall(r"^```sh\n(.*?)^```\n^```text\n(.*?)^```$", section, re.M | re.S)
        yield section.splitlines()[0], blocks


def run_section(title, blocks):
    folder, names = path("work"), path("names")
    os.mkdir(folder)
    os.mkdir(names)
    env = {**ENV, "WEIR_DIR": names,
           "PATH": os.path.dirname(support.WEIR) + ":" + os.environ["PATH"]}
    for script, want in blocks:
        done = subprocess.run(["bash", "-c", script], cwd=folder, env=env, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT)
        same(done.stdout, want, f"{title}: {done.stderr}")
        same(done.stderr, "", title)


every = list(sections())
same(len(every), 5, "everyday uses")
for number, (heading, code) in enumerate(every):
    check(code, f"{heading}: nothing is run")
    word = re.sub(r"\W+", "_", heading.lower())
    globals()[f"test_{number}_{word}"] = lambda h=heading, c=code: run_section(h, c)

if __name__ == "__main__":
    main()
