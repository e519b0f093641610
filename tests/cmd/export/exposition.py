# SPDX-License-Identifier: MIT
"""A strict parser of Prometheus text 0.0.4 and of OpenMetrics 1.0, for the tests.

parse(text, openmetrics) returns {family: Family}.  It raises Wrong for anything that the
formats forbid, and for anything that weir promises not to do.
"""
import math
import re

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
SAMPLE = re.compile(rf"({NAME})(?:\{{(.*?)\}})? (\S+)(?: # \{{(.*)\}} (\S+) (\S+))?")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)')
SUFFIXES = {"gauge": [""], "counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"],
            "info": ["_info"]}
NEVER = {"pid", "tid", "site", "tenant", "thread", "function", "file", "line"}


class Wrong(Exception):
    pass


class Family:
    def __init__(self, name):
        self.name, self.type, self.help, self.unit = name, None, None, None
        self.samples = {}       # (sample name, frozenset of labels): value
        self.exemplars = {}     # the same key: (labels, value, time)


def need(condition, line, what):
    if not condition:
        raise Wrong(f"{what}: {line!r}")


def labels_of(text, line, never=NEVER):
    found = {}
    while text:
        match = LABEL.match(text)
        need(match, line, "a label")
        name, value, comma = match.groups()
        need(name not in found, line, "the same label twice")
        need(name not in never, line, "a label that must not exist")
        found[name] = re.sub(r"\\(.)", lambda m: {"n": "\n"}.get(m[1], m[1]), value)
        text = text[match.end():]
        need(not comma or text, line, "a comma at the end")
    return found


def number(text, line):
    need(re.fullmatch(r"-?\d+(\.\d+)?(e[-+]\d+)?|\+Inf", text), line, "a number")
    return float(text.replace("+Inf", "inf"))


def exemplar(line, key, match, openmetrics):
    """The labels, the value and the time of the exemplar of a bucket."""
    text, value, time = match.groups()[3:]
    labels = labels_of(text, line, NEVER - {"site"})
    need(openmetrics, line, "an exemplar in text 0.0.4")
    need(key[0].endswith("_bucket"), line, "an exemplar that is not of a bucket")
    need(set(labels) <= {"site"}, line, "another label in an exemplar")
    need(sum(len(name) + len(value) for name, value in labels.items()) <= 128, line, "its length")
    value = number(value, line)
    need(value <= float(dict(key[1])["le"].replace("+Inf", "inf")), line, "not of this bucket")
    return labels, value, number(time, line)


def comment(line, families, current, openmetrics):
    match = re.fullmatch(rf"# (HELP|TYPE|UNIT) ({NAME}) (.+)", line)
    need(match, line, "a comment that is not HELP, TYPE or UNIT")
    kind, name, rest = match.groups()
    if current is None or current.name != name:
        need(name not in families, line, "a family in two places")
        current = families[name] = Family(name)
    need(not current.samples, line, "metadata after samples")
    key = kind.lower()
    need(getattr(current, key) is None, line, f"{kind} twice")
    setattr(current, key, rest)
    if kind == "TYPE":
        need(rest in SUFFIXES and (openmetrics or rest != "info"), line, "the type")
        if rest == "counter":
            need(name.endswith("_total") != openmetrics, line, "the name of a counter")
    if kind == "UNIT":
        need(openmetrics and name.endswith("_" + rest), line, "the unit")
    return current


def check_histogram(family, line=""):
    series = {}
    for (name, labels), value in family.samples.items():
        rest = frozenset(pair for pair in labels if pair[0] != "le")
        kind = name[len(family.name):]
        series.setdefault(rest, {}).setdefault(kind, []).append((dict(labels).get("le"), value))
    for parts in series.values():
        bounds = [float(bound.replace("+Inf", "inf")) for bound, _ in parts["_bucket"]]
        counts = [value for _, value in parts["_bucket"]]
        need(bounds == sorted(set(bounds)) and bounds[-1] == math.inf, bounds, "bounds")
        need(counts == sorted(counts), counts, "buckets are cumulative")
        need(parts["_count"] == [(None, counts[-1])] and len(parts["_sum"]) == 1, parts, "count")


def parse(text, openmetrics=False):
    families, current = {}, None
    need(text.endswith("\n") and "\r" not in text, text[-20:], "the end of the last line")
    lines = text[:-1].split("\n")
    if openmetrics:
        need(lines.pop() == "# EOF", lines[-1:], "# EOF")
    for line in lines:
        if line.startswith("#"):
            current = comment(line, families, current, openmetrics)
            continue
        match = SAMPLE.fullmatch(line)
        need(match, line, "a sample")
        name, labels, value = match.groups()[:3]
        need(current and current.type, line, "a sample without TYPE")
        family = current.name
        if current.type == "counter" and not openmetrics:
            family = family[:-len("_total")]
        suffixes = SUFFIXES[current.type]
        need(name in [family + suffix for suffix in suffixes], line, "not of this family")
        key = name, frozenset(labels_of(labels or "", line).items())
        need(key not in current.samples, line, "the same sample twice")
        current.samples[key] = number(value, line)
        if match[4] is not None:
            current.exemplars[key] = exemplar(line, key, match, openmetrics)
    for family in families.values():
        need(family.type and family.help, family.name, "HELP and TYPE")
        need(family.samples, family.name, "a family without samples")
        if family.type == "histogram":
            check_histogram(family)
    return families


def values(families, name, scope="host"):
    """{semaphore: value} of a family with one sample for each semaphore.

    Processes outside the test may have watched semaphores, of the scope process.
    """
    return {dict(labels)["semaphore"]: value
            for (_, labels), value in (families[name].samples if name in families else {}).items()
            if ("scope", scope) in labels}
