#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Find names in the documents that do not exist in the tree.

    tools/lint/names.py FILE...

In Markdown, a name is a word in backticks that has an underscore or ends in "()",
or a path.  In a manual page, it is the argument of .Fn, .Dv, .Va or .Vt that has an
underscore, or of .In.  An identifier must stand in a source file: of the library, the
tests, the tools, the benchmarks or the examples.  A path must exist; it may be given
from the root, or from a folder that the page describes.  NAME and NN are
placeholders.  Paths below build* exist only after a build and are not checked.
"""
import glob
import os
import re
import sys

SOURCES = ('src', 'include', 'tests', 'tools', 'bench', 'examples', 'completions', 'Makefile',
           'meson.build', 'meson_options.txt')
IDENTIFIER = re.compile(r'[A-Za-z_][A-Za-z0-9_]*')
PATH = re.compile(r'[\w.{},*+-]+(/[\w.{},*+-]+)+/?|[\w-]+\.(c|h|py|sh|awk|md)')
# Names of the system, which weir's sources need not use.
FOREIGN = re.compile(r'__|(sem|pthread|sys|MAP|CLOCK|O|SIG|EPOLL|IORING|GLib|uv|PR|FUTEX|sched|SCHED)_')


def words_of_sources():
    words = set()
    for source in SOURCES:
        for folder, _, files in os.walk(source) if os.path.isdir(source) else \
                [('.', [], [source])]:
            for name in files:
                path = os.path.join(folder, name)
                # A lint's own bad examples prove nothing.
                if '/corpus' in path or '/tests/api/lint' in '/' + path or \
                        not os.path.isfile(path):
                    continue
                with open(path, encoding='utf-8', errors='replace') as file:
                    words.update(IDENTIFIER.findall(file.read()))
    return words


def markdown_names(text):
    fenced = False
    for number, line in enumerate(text.split('\n'), 1):
        if line.lstrip().startswith('```'):
            fenced = not fenced
        if fenced or line.startswith(('    ', '\t')):
            continue
        for quoted in re.findall(r'`([^`]+)`', line):
            yield number, quoted


def manual_names(text):
    for number, line in enumerate(text.split('\n'), 1):
        macro = re.match(r'\.(?:It )?(Fn|Dv|Va|Vt|In)\s+"?([^\s",]+)', line)
        if macro:
            yield number, macro.group(2)


def braces(path):
    """a/{b,c}.c -> a/b.c a/c.c"""
    match = re.match(r'(.*?)\{([^}]*)\}(.*)', path)
    if not match:
        return [path]
    return [match.group(1) + part + rest for part in match.group(2).split(',')
            for rest in braces(match.group(3))]


def exists(path):
    """Whether a path exists, seen from the root or from any folder of the sources."""
    return all(glob.glob(one) or
               any(glob.glob(os.path.join(folder, '**', one), recursive=True)
                   for folder in ('src', 'include', 'tests', 'tools', 'bench', 'examples',
                                  'docs', 'man'))
               for one in braces(path.rstrip('/')))


def problem(name, words):
    identifier = re.fullmatch(r'(?:struct |enum )?([A-Za-z_][A-Za-z0-9_]*)(\(\))?', name)
    if identifier:
        word = identifier.group(1)
        if ('_' in word or identifier.group(2)) and word not in words and \
                not FOREIGN.match(word):
            return f'{word} is not in the sources'
    elif PATH.fullmatch(name) and not re.search(r'^(/|build)|\.\.|NAME|NN', name):
        first = name.split('/')[0]
        if (os.path.isdir(first) or '/' not in name) and not exists(name):
            return f'{name} does not exist'
    return None


def main(paths):
    words = words_of_sources()
    failed = False
    for path in paths:
        with open(path, encoding='utf-8') as file:
            text = file.read()
        names = markdown_names(text) if path.endswith('.md') else manual_names(text)
        for number, name in names:
            wrong = problem(name, words)
            if wrong:
                print(f'{path}:{number}: {wrong}')
                failed = True
    return failed


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
