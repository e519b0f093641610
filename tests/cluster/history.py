# SPDX-License-Identifier: MIT
"""Check a history of clients (client.c) against the promises C41, C4 and C7.

Rules, each named as in the report:

    fence-unique    no two grants have the same fencing token
    fence-order     a grant that returned before another one was asked for has the
                    smaller token
    fifo            in the order of tokens, tickets increase
    capacity        at every grant, the leases that certainly exist fit into the capacity
    blocked         no request waits longer than the TTL and some slack while it fits
    double          one request gets one grant

"Certainly" is judged by the holder: from the grant (its token is the engine's time) to the
beginning of the release, to the end of its validity, or to the last line of a client that
was killed.
"""
import collections
import sys


class Lease:
    def __init__(self, client, operation):
        self.client, self.operation = client, operation
        self.asked = self.got = self.weight = self.fence = self.ticket = None
        self.back = self.done = self.until = None
        self.failed = None
        self.wanted = 0

    def __repr__(self):
        return (f"{self.operation}: weight {self.weight} fence {self.fence} ticket "
                f"{self.ticket} asked {self.asked} got {self.got} back {self.back} "
                f"done {self.done}")


class History:
    def __init__(self, path, capacity, ttl_us, timed=True, tickets=True, slack_us=1500000):
        self.capacities = [(0, capacity)]   # (time, capacity): the largest in effect
        self.ttl, self.timed, self.tickets, self.slack = ttl_us, timed, tickets, slack_us
        self.leases = {}
        self.last = {}
        self.problems = []
        with open(path, encoding="ascii") as lines:
            for line in lines:
                self.event(line.split())
        self.grants = sorted((l for l in self.leases.values() if l.fence is not None),
                             key=lambda l: l.fence)

    def event(self, words):
        when, client, what, operation = int(words[0]), words[1], words[2], words[3]
        self.last[client] = when
        if what == "resize":
            self.capacities.append((when, int(words[4])))
            return
        lease = self.leases.setdefault(operation, Lease(client, operation))
        if what == "ask":
            lease.asked, lease.wanted = when, int(words[4])
        elif what == "got":
            if lease.fence is not None:
                self.problem("double", lease)
            lease.got = when
            lease.weight, lease.fence, lease.ticket = map(int, words[4:7])
        elif what == "fail":
            lease.failed = when
        elif what in ("back", "lost"):
            lease.until = int(words[4])
            if what == "back":
                lease.back = when
        elif what == "done":
            lease.done = when

    def problem(self, rule, *about):
        self.problems.append(rule + ": " + "; ".join(map(str, about)))

    def capacity_at(self, when):
        """The largest capacity that may be in effect around that time."""
        around = [c for t, c in self.capacities if when - 1000000 < t <= when + 1000000]
        before = [c for t, c in self.capacities if t <= when]
        return max(around + before[-1:])

    def least_capacity(self, start, end):
        around = [c for t, c in self.capacities if start - 1000000 < t <= end + 1000000]
        before = [c for t, c in self.capacities if t <= start]
        return min(around + before[-1:])

    def certain_end(self, lease):
        ends = [lease.back if lease.back is not None else self.last[lease.client]]
        if lease.until is not None:
            ends.append(lease.until)
        return min(ends)

    def possible_end(self, lease):
        if lease.done is not None and lease.until is not None:
            return max(lease.done, min(lease.until + self.ttl, lease.done + self.ttl))
        if lease.until is not None:
            return lease.until + self.ttl
        return self.last[lease.client] + self.ttl

    def check_fences(self):
        seen = {}
        for lease in self.grants:
            if lease.fence in seen:
                self.problem("fence-unique", lease, seen[lease.fence])
            seen[lease.fence] = lease
        # Sweep by time: the largest token of grants that have returned.
        returned = sorted(self.grants, key=lambda l: l.got)
        asked = sorted(self.grants, key=lambda l: l.asked)
        largest, i = None, 0
        for lease in asked:
            while i < len(returned) and returned[i].got < lease.asked:
                if largest is None or returned[i].fence > largest.fence:
                    largest = returned[i]
                i += 1
            if largest is not None and largest.fence >= lease.fence:
                self.problem("fence-order", largest, lease)

    def check_fifo(self):
        before = None
        for lease in self.grants:
            if before is not None and lease.ticket <= before.ticket:
                self.problem("fifo", before, lease)
            before = lease

    def check_capacity(self):
        live = collections.deque()
        for lease in self.grants:
            when = lease.fence
            live = [l for l in live if self.certain_end(l) > when + 1000]
            live.append(lease)
            total = sum(l.weight for l in live)
            if total > self.capacity_at(when):
                self.problem("capacity", f"{total} permits", *live)

    def check_blocked(self):
        """The head of the queue waits although it fits."""
        for k, lease in enumerate(self.grants):
            start = max(lease.asked, max((g.fence for g in self.grants[max(0, k - 200):k]),
                                         default=0))
            end = lease.fence
            if end - start < self.ttl + self.slack:
                continue
            busy = max((self.possible_end(g) for g in self.grants[max(0, k - 200):k]),
                       default=0)
            if end - max(start, busy) > self.slack and \
                    lease.weight <= self.least_capacity(start, end):
                self.problem("blocked", lease)

    def check(self):
        self.check_fences()
        if self.tickets:
            self.check_fifo()
        if self.timed:
            self.check_capacity()
            self.check_blocked()
        return self.problems

    def summary(self):
        return (f"{len(self.leases)} requests, {len(self.grants)} grants, "
                f"{len(self.last)} clients")


if __name__ == "__main__":
    history = History(sys.argv[1], int(sys.argv[2]), int(float(sys.argv[3]) * 1e6))
    for text in history.check():
        print(text)
    print(history.summary())
    sys.exit(bool(history.problems))
