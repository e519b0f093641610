#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Find sentences whose subject is not a thing with a name.

    tools/lint/words.py FILE...

A sentence that begins with "Who", "Whoever", "What", "Somebody" or "One that", or
that speaks of "whoever", "somebody" or "nobody", makes the reader look for the thread,
waiter or process that is meant.  Name it.  "Told", "anew", "in vain", "by the way" and
"the short path" have plain words in the glossary.  CONTRIBUTING.md, "Language", has the rules.
tools/lint/words.except lists the exceptions, at most 20: the text of a sentence, or a
part of it, on each line.
"""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from sentences import sentences     # noqa: E402

EXCEPTIONS_MAX = 20

FIRST = re.compile(
    r"(?:[(*\"']*)(Who|Whoever|Whom|Whomever|Whose|What|Whatever|Somebody|Someone|Nobody|"
    r"Anybody|Anyone|Everybody|Everyone|He|One (?:who|that|which|whose)|Those (?:who|that)|"
    r"The same,? and)\b")
ANYWHERE = re.compile(
    r'\b(whoever|whomever|somebody|someone|nobody|anybody|everybody|'
    r'himself|he|him)\b', re.I)
PRIVATE = re.compile(r'\b(anew|untold|told|in vain|by the way|short path)\b', re.I)


def marker(sentence):
    """The word that breaks the rule, and the advice; or None.

    A question may begin with such a word.
    """
    # A name in quotation marks or backticks is mentioned, not used.
    plain = re.sub(r'`[^`]*`|"[^"]*"', '""', sentence)
    found = PRIVATE.search(plain)
    if found:
        return found.group(1), 'use a word of the glossary'
    found = ANYWHERE.search(plain)
    if not found and not plain.endswith('?'):
        found = FIRST.match(plain)
    return (found.group(1), 'name the subject') if found else None


def main(paths):
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, 'words.except'), encoding='utf-8') as file:
        exceptions = [line.rstrip('\n') for line in file
                      if line.strip() and not line.startswith('#')]
    failed = False
    if len(exceptions) > EXCEPTIONS_MAX:
        print(f'tools/lint/words.except: {len(exceptions)} exceptions; '
              f'at most {EXCEPTIONS_MAX} are allowed')
        failed = True
    used = set()
    for path in paths:
        for number, sentence in sentences(path):
            found = marker(sentence)
            if not found:
                continue
            word, advice = found
            excused = [text for text in exceptions if text in sentence]
            used.update(excused)
            if not excused:
                print(f'{path}:{number}: "{word}": {advice}: {sentence}')
                failed = True
    if len(paths) > 100:    # the whole tree
        for text in exceptions:
            if text not in used:
                print(f'tools/lint/words.except: no sentence has: {text}')
                failed = True
    return failed


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
