# SPDX-License-Identifier: MIT
"""The mutation operators: each function yields (start, end, new text, what).

`what` is a short description of the mutation, and part of the key of a mutant in
tools/mutate.equivalent.
"""
import re

RELATIONS = {"<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="),
             ">=": (">", "<"), "==": ("!=",), "!=": ("==",)}
SWAPS = {"&&": "||", "||": "&&", "<<": ">>", ">>": "<<", "+=": "-=",
         "-=": "+=", "++": "--", "--": "++", "|=": "&=", "true": "false",
         "false": "true", "/=": "*="}
# These are other operators if no operand stands to their left.
BINARY = {"+": "-", "-": "+", "&": "|", "|": "&", "*": "/", "/": "*", "%": "/"}

# A constant of a family is replaced by the next one.
FAMILIES = [
    ["WEIR_OK", "WEIR_EINVAL", "WEIR_OK"],
    ["WEIR_ECANCELED", "WEIR_ETIMEDOUT", "WEIR_ECLOSED", "WEIR_ETOOBIG",
     "WEIR_EAGAIN", "WEIR_EBUSY", "WEIR_EOVERFLOW", "WEIR_EINTR",
     "WEIR_ESYSTEM", "WEIR_ECANCELED"],
    ["WEIR_NOWHERE_", "WEIR_IN_QUEUE_", "WEIR_OVERSIZED_", "WEIR_NOWHERE_"],
    ["WEIR_WAITING_", "WEIR_SLEEPING_", "WEIR_NOTIFIED_RETRY_", "WEIR_NOTIFIED_FINAL_",
     "WEIR_WAITING_"],
    ["WEIR_WANTS_PERMITS_", "WEIR_WANTS_IDLE_", "WEIR_WANTS_END_",
     "WEIR_WANTS_PERMITS_"],
    ["WEIR_PARKED_FINAL_", "WEIR_PARKED_RETRY_", "WEIR_PARKED_FINAL_"],
    ["WEIR_PARKED_LATE_", "WEIR_PARKED_SIGNAL_", "WEIR_PARKED_LATE_"],
    ["WEIR_WOKEN_", "WEIR_WOKE_LATE_", "WEIR_WOKE_SIGNAL_", "WEIR_WOKEN_"],
    ["WEIR_IS_WELL_", "WEIR_IS_DESTROYED_", "WEIR_IS_NO_SEMAPHORE_",
     "WEIR_HAD_WAITERS_", "WEIR_WAS_LOCKED_", "WEIR_IS_WELL_"],
    ["WEIR_STATE_CLOSED_", "WEIR_STATE_DRAIN_", "WEIR_STATE_CLOSED_"],
    ["WEIR_STATE_UNBOUNDED_", "WEIR_STATE_BARGING_", "WEIR_STATE_INTERRUPTIBLE_",
     "WEIR_STATE_TRACKED_", "WEIR_STATE_DESTROYED_", "WEIR_STATE_HEAP_",
     "WEIR_STATE_UNBOUNDED_"],
    ["WEIR_OPEN_", "WEIR_SPINNING_", "WEIR_SHUT_", "WEIR_LOCKED_", "WEIR_OPEN_"],
    ["WEIR_EVENT_QUEUED_", "WEIR_EVENT_ACQUIRED_", "WEIR_EVENT_LEFT_",
     "WEIR_EVENT_RELEASED_", "WEIR_EVENT_RESIZED_", "WEIR_EVENT_CLOSED_",
     "WEIR_EVENT_QUEUED_"],
    ["NM_REC_FREE", "NM_REC_WAITS", "NM_REC_OVERSIZED", "NM_REC_IDLE",
     "NM_REC_GRANTED", "NM_REC_TAKEN", "NM_REC_REVOKED", "NM_REC_ENDED",
     "NM_REC_LEFT", "NM_REC_FREE"],
    ["NM_SLOT_FREE", "NM_SLOT_CLAIMED", "NM_SLOT_LIVE", "NM_SLOT_FREE"],
    ["NM_OPEN", "NM_DRAIN", "NM_CLOSED", "NM_PAUSED", "NM_OPEN"],
]
FAMILY = {a: b for family in FAMILIES for a, b in zip(family, family[1:])}

KEYWORDS = {"if", "else", "for", "while", "do", "switch", "return", "break",
            "continue", "case", "default", "goto", "sizeof"}
LOOPS = {"if", "for", "while", "switch", "RING_EACH"}
WEAKER = {"acq_rel": ("acquire", "release"), "acquire": ("relaxed",),
          "release": ("relaxed",)}


def tokens_of(source, function):
    for i in range(function.first, function.last):
        yield i, source.tokens[i]


def follows_operand(source, i):
    left = source.tokens[i - 1]
    return left.kind in ("name", "number") and left.text not in KEYWORDS or \
        left.text in (")", "]")


def operators(source, function):
    for i, token in tokens_of(source, function):
        text = token.text
        news = RELATIONS.get(text, ())
        if text in SWAPS:
            news = (SWAPS[text],)
        elif text in BINARY and follows_operand(source, i):
            news = (BINARY[text],)
        for new in news:
            yield token.start, token.end, new, f"{text} to {new}"


def negations_dropped(source, function):
    for i, token in tokens_of(source, function):
        if token.text in ("!", "~") or \
                token.text == "-" and not follows_operand(source, i):
            yield token.start, token.end, "", f"no {token.text}"


def constants(source, function):
    for i, token in tokens_of(source, function):
        if token.kind == "name" and token.text in FAMILY:
            new = FAMILY[token.text]
            yield token.start, token.end, new, f"{token.text} to {new}"
        match = re.fullmatch(r"(\d+)([uUlL]*)", token.text)
        if token.kind != "number" or not match:
            continue
        value, suffix = int(match[1]), match[2]
        for new in ((1,) if value == 0 else (value - 1, value + 1)):
            yield (token.start, token.end, f"{new}{suffix}",
                   f"{value} to {new}")


def condition_spans(source, function):
    """The conditions of if, while, for and ?:, as pairs of token numbers."""
    tokens = source.tokens
    for i, token in tokens_of(source, function):
        if token.text in ("if", "while"):
            yield i + 2, source.partner[i + 1]
        elif token.text == "for":
            parts, j, end = [], i + 2, source.partner[i + 1]
            while j < end:
                if tokens[j].text == ";":
                    parts.append(j)
                j = source.partner[j] + 1 if tokens[j].text in ("(", "[", "{") \
                    else j + 1
            if parts[0] + 1 < parts[1]:
                yield parts[0] + 1, parts[1]
        elif token.text == "?":
            j = i
            while tokens[j - 1].text not in ("=", "+=", "-=", "return", ",",
                                             ";", "?", ":", "(", "{", "["):
                j = source.partner[j - 1] if tokens[j - 1].text in (")", "]") \
                    else j - 1
            yield j, i


def negations(source, function):
    for first, last in condition_spans(source, function):
        start, end = source.tokens[first].start, source.tokens[last - 1].end
        text = source.text[start:end]
        yield start, end, f"!({text})", "negate"


def statement_starts(source, function):
    tokens = source.tokens
    yield function.first
    for i, token in tokens_of(source, function):
        if token.text in ("{", "}", ";", "else", "do"):
            yield i + 1
        elif token.text == ":" and is_label(source, i):
            yield i + 1
        elif token.text == ")" and \
                tokens[source.partner[i] - 1].text in LOOPS:
            yield i + 1


def is_label(source, i):
    while source.tokens[i - 1].kind in ("name", "number", "string"):
        i -= 1
    return source.tokens[i].text in ("case", "default")


def statement_end(source, i):
    """The number of the ; that ends the expression statement at i, or None."""
    tokens = source.tokens
    if tokens[i].text in KEYWORDS | LOOPS | {"{", "}", ";"}:
        return None
    second = i + 1
    while tokens[second].text == "*":
        second += 1
    if tokens[i].kind == "name" and tokens[second].kind == "name":
        return None     # a declaration
    while tokens[i].text != ";":
        if tokens[i].text in ("}", ")", "]"):
            return None     # inside for (...) or an initialiser
        i = source.partner[i] + 1 if tokens[i].text in ("(", "[", "{") else i + 1
    return i


def statements_dropped(source, function):
    for i in statement_starts(source, function):
        text = source.tokens[i].text
        if text in ("break", "continue"):
            end = i + 1
            if text == "continue":
                yield (source.tokens[i].start, source.tokens[i].end, "break",
                       "continue to break")
        else:
            end = statement_end(source, i)
        if end is not None:
            start, stop = source.tokens[i].start, source.tokens[end].start
            yield start, stop, "", "drop"


def returns(source, function):
    for i, token in tokens_of(source, function):
        if token.text != "return" or source.tokens[i + 1].text == ";":
            continue
        end = i + 1
        while source.tokens[end].text != ";":
            end += 1
        start, stop = source.tokens[i + 1].start, source.tokens[end].start
        value = source.text[start:stop]
        if "*" in function.returns:
            new, what = "NULL", "return NULL"
        elif "weir_err" in function.returns:
            new = "WEIR_EINVAL" if value == "WEIR_OK" else "WEIR_OK"
            what = f"return {new}"
        elif "bool" in function.returns:
            new, what = f"!({value})", "return the opposite"
        elif {"int64_t", "uint64_t", "uint32_t", "uint8_t", "int"} & \
                set(function.returns):
            new, what = f"({value}) + 1", "return one more"
        else:
            continue
        yield start, stop, new, what


def orders(source, function):
    for _, token in tokens_of(source, function):
        match = re.fullmatch(r"((?:weir_)?at_\w+?_)(acq_rel|acquire|release)(_?)",
                             token.text)
        if match:
            for order in WEAKER[match[2]]:
                new = match[1] + order + match[3]
                yield token.start, token.end, new, f"{token.text} to {new}"


LOGIC = (operators, negations_dropped, constants, negations,
         statements_dropped, returns)
