# SPDX-License-Identifier: MIT
"""Write the page of weir web as a C file.

    embed.py PAGE OUTPUT

The policy names the hash of each <style> and <script> of the page, so a browser executes
no other script, even if a name got into the page as HTML.
"""
import base64
import hashlib
import re
import sys


def hashes(page, tag):
    """The sources of a policy for the elements of this kind."""
    found = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.S)
    if not found or page.count(f"<{tag}") != len(found):
        sys.exit(f"embed.py: <{tag}> with attributes, or none")
    digests = (hashlib.sha256(text.encode()).digest() for text in found)
    return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        page = file.read()
    policy = (f"default-src 'none'; style-src {hashes(page, 'style')}; "
              f"script-src {hashes(page, 'script')}; connect-src 'self'; img-src data:; "
              "base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
    data = page.encode() + b"\0"
    lines = (", ".join(str(byte) if byte < 128 else f"(char){byte}"
                       for byte in data[at:at + 16])
             for at in range(0, len(data), 16))
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write("/* Made from page.html by embed.py. */\n"
                   '#include "cmd/web/page.h"\n\n'
                   "const char web_page[] = {\n\t" + ",\n\t".join(lines) + "\n};\n\n"
                   f'const char web_policy[] = "{policy}";\n')


main()
