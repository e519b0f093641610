# SPDX-License-Identifier: MIT
"""The sentences that people write in this tree: comments, manual pages, documents.

sentences(path) yields (line, text) for every sentence of one file.  A sentence ends
at a full stop, question mark or exclamation mark that is followed by white space, or
at the end of its paragraph.  Code blocks, diagrams, tables of
values and headings are not sentences and are left out.
"""
import io
import re
import tokenize

C_FILE = re.compile(r'\.(c|h|cc|cpp|hpp|rs|go|java|js|ld|map|s|S)$', re.I)
HASH_FILE = re.compile(r'(\.(sh|awk|ini|txt|bash|fish|zsh)|meson\.build|Makefile|'
                       r'mutate\.equivalent|coverage\.except)$')
MAN_FILE = re.compile(r'\.[1-8]$')

# A token of C: a comment, a string or a character constant.
C_TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'', re.S)


# A line of a list of definitions: an indented term, two spaces or more, its text.
TERM = re.compile(r'\s+(?:\S+ ){0,3}?\S*[^\s.?!:]\s{2,}(?=\S)')
# The functions of a pair: "[S1] permit  release: put   acquire: take".
PAIR = re.compile(r'\s+(\[\w+\] .*)?(release|acquire):\s')
# White space between the columns of a table.  Two spaces may follow a full stop.
COLUMNS = re.compile(r'(?<=[^\s.?!:])\s{2,}(?=\S)|(?<=\S)\s{3,}(?=\S)')


def _c_body(body):
    """(offset, text, break) of the lines inside one C comment.

    Left out: examples, which are blocks indented by five spaces or more; tables;
    diagrams; ruled headings; the lists of functions of a pair.  A term and its text are two parts.
    """
    blank, kind = True, 'prose'
    for offset, line in enumerate(body.split('\n')):
        line = re.sub(r'^\s*\*(?=\s|$)', '', line).rstrip()
        text = line.strip()
        if not text:
            blank, kind = True, 'prose'
            yield offset, '', True
            continue
        indent = len(line) - len(text)
        if blank and indent > 4 and offset:
            kind = 'example'
        blank = False
        if kind in ('example', 'table'):
            continue
        if PAIR.match(line):
            kind = 'pair'
            yield offset, '', True
            continue
        if kind == 'pair' and re.match(r'\w+(, \w+)*,?$', text):
            continue
        kind = 'prose'
        # A remark that braces several lines: "ctx was cancelled.   | Nothing is held".
        line = re.sub(r'\s{2,}[\\|/](\s.*)?$', '', line)
        term = TERM.match(line)
        if term:
            yield offset, '', True
            line = line[term.end():]
        elif re.match(r'\s*[-*] ', line):
            yield offset, '', True
            line = re.sub(r'\s*[-*] ', '', line, count=1)
        if COLUMNS.search(line.strip()) or re.search(r'--[+|]|^\s*[|+]|^\s*---', line):
            kind = 'table'
            yield offset, '', True
            continue
        yield offset, line.strip(), False


def _c_lines(text):
    """(line number, text, whether a new comment begins here) of C comments.

    One-line comments on consecutive lines are separate comments, except that a comment
    without code beside it, below a comment beside code and in its column, continues it.
    """
    above = None    # line and column of the comment beside code that may continue
    for match in C_TOKEN.finditer(text):
        body = match.group()
        if body[0] != '/':
            continue
        number = text.count('\n', 0, match.start()) + 1
        if body.startswith('//'):
            yield number, body[2:], False
            continue
        before = text[text.rfind('\n', 0, match.start()) + 1:match.start()].expandtabs(8)
        if above == (number - 1, len(before)) and not before.strip():
            above = number, len(before)
        else:
            above = (number, len(before)) if before.strip() else None
            yield number, '', True
        for offset, line, ends in _c_body(body[2:-2]):
            yield number + offset, line, ends


def _hash_lines(text):
    """(line number, text, break) of comments that begin with #."""
    for number, line in enumerate(text.split('\n'), 1):
        comment = re.match(r'(?:.*?\s)?#(?!!)(\s.*|$)', line)
        if comment and comment.group(1).strip():
            yield number, comment.group(1), not line.strip().startswith('#')
        else:
            yield number, '', True


def _python_lines(text):
    """(line number, text, break) of comments and docstrings."""
    begins = True
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        number = token.start[0]
        if token.type == tokenize.COMMENT and not token.string.startswith('#!'):
            yield number, token.string[1:], bool(token.line[:token.start[1]].strip())
        elif token.type == tokenize.STRING and begins:
            body = re.sub(r'^[rbuRBU]*("""|\'\'\'|"|\')|("""|\'\'\'|"|\')$', '', token.string)
            for offset, line in enumerate(body.split('\n')):
                yield number + offset, line, offset == 0
        elif token.type not in (tokenize.NL, tokenize.NEWLINE):
            yield number, '', True
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            begins = token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)


def _markdown_lines(text):
    fenced = False
    for number, line in enumerate(text.split('\n'), 1):
        if line.lstrip().startswith('```'):
            fenced = not fenced
        if fenced or re.match(r'(    |\t|#|\s*```)', line):
            yield number, '', True
        elif line.startswith('|'):
            for cell in line.strip('|').split(' | '):
                yield number, '', True
                yield number, cell.strip(), False
            yield number, '', True
        else:
            item = re.match(r'\s*([-*]|\d+\.)\s+', line)
            yield number, line[item.end():] if item else line, bool(item)


def _man_lines(text):
    literal = False
    for number, line in enumerate(text.split('\n'), 1):
        if line.startswith(('.Bd', '.nf')):
            literal = True
        elif line.startswith(('.Ed', '.fi')):
            literal = False
        if line.startswith(('.\\"', "'\\")):
            yield number, '', True
        elif literal:
            yield number, '', True
        elif line.startswith('.'):
            words = line.split()
            # Macros inside a sentence continue it; the others end it.
            if words[0] in ('.Xr', '.Fn', '.Va', '.Vt', '.Dv', '.Er', '.Nm', '.Ar',
                            '.Fl', '.Cm', '.Ql', '.Pa', '.In', '.Em', '.Ev', '.Fa',
                            '.Sx', '.Li', '.Sy'):
                yield number, ' '.join(words[1:]), False
            else:
                yield number, '', True
        else:
            yield number, line, False


def _lines(path, text):
    if C_FILE.search(path):
        return _c_lines(text)
    if MAN_FILE.search(path):
        return _man_lines(text)
    if path.endswith('.md'):
        return _markdown_lines(text)
    if path.endswith('.patch'):
        return ((n, line, False) for n, line in
                enumerate(text.split('\n--- ')[0].split('\n'), 1))
    if path.endswith('.py') or re.match(r'#!.*python', text):
        return _python_lines(text)
    if HASH_FILE.search(path) or text.startswith('#!'):
        return _hash_lines(text)
    return ()


def _is_prose(text):
    """Diagrams, code and tables have few words and much else."""
    return len(re.findall(r"(?<!\S)[A-Za-z][a-z']*(?![A-Za-z_])", text)) >= 3 and \
        len(re.findall(r"[A-Za-z ,.'()-]", text)) >= 0.7 * len(text)


def sentences(path):
    with open(path, encoding='utf-8', errors='replace') as file:
        text = file.read()
    paragraph = []

    def flush():
        joined = ' '.join(part for _, part in paragraph)
        position = 0
        for piece in re.split(r'(?<!\.\.)(?<=[.?!])\s+', joined):
            if _is_prose(piece):
                seen = 0
                for number, part in paragraph:
                    seen += len(part) + 1
                    if seen > position:
                        yield number, piece
                        break
            position += len(piece) + 1
        paragraph.clear()

    for number, line, ends in _lines(path, text):
        body = re.sub(r'\s+', ' ', line).strip()
        # Text that is indented by a tab or more in a comment is an example.
        if ends or not body or re.match(r'\s{4,}\S.*[;{}(]$', line):
            yield from flush()
        if body and not re.match(r'\s{4,}\S.*[;{}(]$', line) and \
                'SPDX-License-Identifier' not in body:
            paragraph.append((number, body))
    yield from flush()
