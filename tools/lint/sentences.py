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


def _c_lines(text):
    """(line number, text, whether a new comment begins here) of C comments.

    One-line comments that stand on consecutive lines are separate comments.
    """
    for match in C_TOKEN.finditer(text):
        body = match.group()
        if body[0] != '/':
            continue
        number = text.count('\n', 0, match.start()) + 1
        if body.startswith('//'):
            yield number, body[2:], False
            continue
        yield number, '', True
        for offset, line in enumerate(body[2:-2].split('\n')):
            yield number + offset, re.sub(r'^\s*\*(?=\s|$)', '', line), False
        yield number, '', True


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
        for piece in re.split(r'(?<=[.?!])\s+', joined):
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
