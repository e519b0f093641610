# SPDX-License-Identifier: MIT
"""Check a history of clients (client.c) against the promises C41, C4 and C7.

Rules, each named as in the report:

    fence-unique    no two grants have the same fencing token
    fence-order     a grant that returned before another one was asked for has the
                    smaller token
    fifo            in the order of tokens, tickets increase
    capacity        at every grant, the leases that certainly exist fit into the capacity
    blocked         no request waits while it fits: a release grants at once, and the permits
                    of a dead client return after the TTL
    double          one request gets one grant
    error           a request fails only by its deadline, or because the outcome is unknown
    weight          a grant has the weight that was asked for

"Certainly" is judged by the holder: from the grant (its token is the engine's time) to the
beginning of the release, to the end of its validity, or to the last line of a client that
was killed.
"""
import sys


class Lease:
    def __init__(self, client, operation):
        self.client, self.operation = client, operation
        self.asked = self.got = self.weight = self.fence = self.ticket = None
        self.back = self.done = self.until = None
        self.failed = self.result = None
        self.wanted = 0

    def __repr__(self):
        return (f"{self.operation}: weight {self.weight} fence {self.fence} ticket "
                f"{self.ticket} asked {self.asked} got {self.got} back {self.back} "
                f"done {self.done}")


class History:
    def __init__(self, path, capacity, ttl_us, timed=True, tickets=True, errors=True,
                 limit=True, slack_us=500000):
        self.capacities = [(0, 0, capacity)]    # (call, return, capacity) of resizes
        self.ttl, self.timed, self.tickets, self.slack = ttl_us, timed, tickets, slack_us
        self.errors, self.limit = errors, limit
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
            self.capacities.append((when, 1 << 62, int(words[4])))
            return
        if what == "killed":
            self.last[words[4]] = when
            return
        if what == "resized":
            self.capacities[-1] = (self.capacities[-1][0], when, int(words[4]))
            return
        lease = self.leases.setdefault(operation, Lease(client, operation))
        if what == "ask":
            lease.asked, lease.wanted = when, int(words[4])
        elif what == "got":
            if lease.fence is not None:
                self.problem("double", lease)
            lease.got = when
            lease.weight, lease.fence, lease.ticket = map(int, words[4:7])
            if lease.weight != lease.wanted:
                self.problem("weight", lease)
        elif what == "fail":
            lease.failed = when
            if self.errors and words[4] not in ("WEIR_ETIMEDOUT", "WEIR_EAGAIN",
                                                "WEIR_EINDETERMINATE", "WEIR_ETOOBIG"):
                self.problem("error", words[4], lease)
        elif what in ("back", "lost"):
            lease.until = int(words[4])
            if what == "back":
                lease.back = when
        elif what == "done":
            lease.done, lease.result = when, words[4]

    def problem(self, rule, *about):
        self.problems.append(rule + ": " + "; ".join(map(str, about)))

    def in_effect(self, start, end):
        """The capacities that may have been in effect between these times."""
        done = [c for _, r, c in self.capacities if r <= start]
        return done[-1:] + [c for t, r, c in self.capacities if t <= end and r > start]

    def capacity_at(self, when):
        return max(self.in_effect(when - 1000, when + 1000))

    def least_capacity(self, start, end):
        return min(self.in_effect(start, end))

    def certain_end(self, lease):
        ends = [lease.back if lease.back is not None else self.last[lease.client]]
        if lease.until is not None:
            ends.append(lease.until)
        return min(ends)

    def possible_end(self, lease):
        """The lease has certainly ended then."""
        if lease.done is not None and lease.result == "WEIR_OK":
            return lease.done
        until = max(filter(None, (lease.until, lease.done, lease.back, self.last[lease.client])))
        return until + self.ttl + self.slack

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
        """From the grant: its token if that is a time, otherwise the return of the call."""
        when_of = (lambda l: l.fence) if self.timed else (lambda l: l.got)
        live = []
        for lease in sorted(self.grants, key=when_of):
            when = when_of(lease)
            live = [l for l in live if self.certain_end(l) > when + 1000]
            live.append(lease)
            total = sum(l.weight for l in live)
            if total > self.capacity_at(when):
                self.problem("capacity", f"{total} permits", *live)

    def check_blocked(self):
        """The head of the queue waits although it fits.

        The window before its grant is quiet: no other grant, no request that may have been
        ahead, no lease that may have used the permits.
        """
        window = 30000
        failed = sorted((l.asked, l.failed or self.last[l.client] + self.ttl + self.slack)
                        for l in self.leases.values() if l.fence is None)
        unknown = sorted((l.asked, self.last[l.client]) for l in self.leases.values()
                         if l.fence is None and l.failed is None)
        for k, lease in enumerate(self.grants):
            end, start = lease.fence, lease.fence - window
            if lease.asked > start - window or (k and self.grants[k - 1].fence > start):
                continue
            if any(a < end and f > start for a, f in failed):
                continue
            # A dead client that is granted after its death holds a lease of its own.
            if any(a < end and f + 2 * self.ttl + self.slack > start for a, f in unknown):
                continue
            used = sum(g.weight for g in self.grants[:k] if self.possible_end(g) > start)
            if used + lease.weight <= self.least_capacity(start, end):
                self.problem("blocked", lease, f"{used} permits were in use")

    def check(self):
        self.check_fences()
        if self.tickets:
            self.check_fifo()
        if self.limit:
            self.check_capacity()
        if self.timed:
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
