# SPDX-License-Identifier: MIT
"""A C source as tokens, and its functions.

This is not a parser: a mutation only needs to know where a token, a statement or a
condition begins and ends inside the body of a function.
"""
import re

TOKEN = re.compile(r"""
    (?P<space>\s+|/\*.*?\*/|//[^\n]*)
  | (?P<string>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
  | (?P<name>[A-Za-z_]\w*)
  | (?P<number>\d[\w.]*)
  | (?P<mark>\.\.\.|<<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)
""", re.X | re.S)
DIRECTIVE = re.compile(r"^[ \t]*\#(?:[^\n\\]|\\.)*", re.M | re.S)
CLOSES = {"(": ")", "[": "]", "{": "}"}


class Token:
    __slots__ = ("kind", "text", "start", "end")

    def __init__(self, kind, text, start):
        self.kind, self.text, self.start = kind, text, start
        self.end = start + len(text)


class Function:
    """A function; tokens[first:last] are the tokens between its braces."""

    def __init__(self, name, returns, first, last):
        self.name, self.returns, self.first, self.last = name, returns, first, last


class Source:
    def __init__(self, path, text):
        self.path, self.text = path, text
        # Directives become blanks of the same length: offsets stay valid.
        blank = DIRECTIVE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
        self.tokens = [Token(m.lastgroup, m[0], m.start())
                       for m in TOKEN.finditer(blank) if m.lastgroup != "space"]
        self.partner = self._pair()
        self.functions = self._find_functions()

    def _pair(self):
        partner, open_ = {}, []
        for i, token in enumerate(self.tokens):
            if token.text in CLOSES:
                open_.append(i)
            elif token.text in CLOSES.values():
                partner[i] = open_.pop()
                partner[partner[i]] = i
        return partner

    def _find_functions(self):
        found, begin, i = [], 0, 0
        while i < len(self.tokens):
            text = self.tokens[i].text
            if text == "{":
                last = self.partner[i]
                if i and self.tokens[i - 1].text == ")":
                    name = self.partner[i - 1] - 1
                    returns = [t.text for t in self.tokens[begin:name]]
                    found.append(Function(self.tokens[name].text, returns,
                                          i + 1, last))
                begin, i = last + 1, last
            elif text == ";":
                begin = i + 1
            elif text in CLOSES:
                i = self.partner[i]
            i += 1
        return found

    def line_of(self, offset):
        """The number and the text of the line that contains offset."""
        begin = self.text.rfind("\n", 0, offset) + 1
        end = self.text.find("\n", offset)
        return self.text.count("\n", 0, offset) + 1, self.text[begin:end].strip()
