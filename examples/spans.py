# SPDX-License-Identifier: MIT
"""Run the example spans and check its lines.

    spans.py PROGRAM
"""
import collections
import json
import re
import subprocess
import sys

done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, text=True, check=True, timeout=100)
spans = [json.loads(line) for line in done.stdout.splitlines()]
print(done.stdout)


def value(span, key):
    found = [a["value"] for a in span["attributes"] if a["key"] == key]
    return list(found[0].values())[0] if found else None


def key(span):
    """name, permits, status."""
    return (span["name"], value(span, "weir.permits"), span["status"].get("message", "OK"))


# The main thread holds both permits without a wait; three requests wait and hold one
# each; one waits and times out.
want = {("request", None, "OK"): 4, ("request", None, "WEIR_ETIMEDOUT"): 1,
        ("weir.wait", "1", "OK"): 3, ("weir.wait", "1", "WEIR_ETIMEDOUT"): 1,
        ("weir.hold", "1", "OK"): 3, ("weir.hold", "2", "OK"): 1}
got = collections.Counter(map(key, spans))
assert got == want, got

for span in spans:
    assert re.fullmatch("[0-9a-f]{32}", span["traceId"]), span
    assert re.fullmatch("[0-9a-f]{16}", span["spanId"]), span
    assert int(span["startTimeUnixNano"]) <= int(span["endTimeUnixNano"]), span
    assert span["kind"] == 1 and span["status"]["code"] == (2 if key(span)[2] != "OK" else 1), span
assert len({span["spanId"] for span in spans}) == len(spans)

by_id = {span["spanId"]: span for span in spans}
traces = collections.defaultdict(dict)
for span in spans:
    traces[span["traceId"]][span["name"]] = span
    if span["name"] == "request":
        assert span["parentSpanId"] == "", span
        continue
    assert value(span, "weir.semaphore") == "db_pool", span
    parent = by_id[span["parentSpanId"]]
    assert parent["name"] == "request" and parent["traceId"] == span["traceId"], span
    assert int(parent["startTimeUnixNano"]) <= int(span["startTimeUnixNano"]), span
    assert int(parent["endTimeUnixNano"]) >= int(span["endTimeUnixNano"]), span
assert len(traces) == 5, traces
for trace in traces.values():
    # A hold begins when its wait has ended.
    if "weir.wait" in trace and "weir.hold" in trace:
        assert int(trace["weir.wait"]["endTimeUnixNano"]) <= \
            int(trace["weir.hold"]["startTimeUnixNano"]), trace
print(f"{len(spans)} spans of {len(traces)} requests")

# A full disk loses spans, and does not end the program earlier.
with open("/dev/full", "w") as full:
    done = subprocess.run(sys.argv[1:], stdout=full, stderr=subprocess.PIPE, text=True,
                          check=False, timeout=100)
assert (done.returncode, done.stderr) == (1, "spans: a call failed\n"), done
