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
    error           a request fails only by its deadline, because the outcome is unknown, or
                    during a fault
    weight          a grant has the weight that was asked for

"Certainly" is judged by the holder: from the grant (its token is the engine's time) to the
beginning of the release, to the end of its validity, or to the last line of a client that
was killed.  PostgreSQL grants a request that need not wait with a token that equals its ticket.
That token is a time before the request got the lock of the semaphore, and other requests may have
had the lock meanwhile; so this lease begins when the call returned.

Faults are lines of the test itself.  Each has a beginning and an end; one is over before the
next begins:

    down, up            the engine cannot answer
    cut, heal CLIENT... these clients cannot reach the engine
    pause, resume CLIENT

Nothing is said about waiters while the engine is down or a cable is cut, and while the
connections recover.  If a fault lasts longer than a part of the TTL, then a request of its
clients may have lost its place, or may have been granted and have expired, without a line in
the history.  It counts as being in the queue until its TTL has passed.
"""
import bisect
import heapq
import sys


class Spans:
    """Spans of time, joined; answers whether one of them overlaps another span."""

    def __init__(self, spans):
        self.starts, self.ends = [], []
        for start, end in sorted(spans):
            if self.ends and start <= self.ends[-1]:
                self.ends[-1] = max(self.ends[-1], end)
            else:
                self.starts.append(start)
                self.ends.append(end)

    def overlap(self, start, end):
        i = bisect.bisect_left(self.starts, end) - 1
        return i >= 0 and self.ends[i] > start


class Lease:
    __slots__ = ("client", "operation", "asked", "got", "weight", "fence", "ticket", "place",
                 "back", "done", "until", "failed", "result", "wanted")

    def __init__(self, client, operation):
        self.client, self.operation = client, operation
        self.asked = self.got = self.weight = self.fence = self.ticket = None
        self.place = 0
        self.back = self.done = self.until = None
        self.failed = self.result = None
        self.wanted = 0

    def __repr__(self):
        return (f"{self.operation}: weight {self.weight} fence {self.fence} ticket "
                f"{self.ticket} asked {self.asked} got {self.got} back {self.back} "
                f"done {self.done}")


class History:
    """timed: tokens are times of the engine; blocked: a waiter that fits is looked for."""

    def __init__(self, path, capacity, ttl_us, timed=True, tickets=True, errors=True,
                 limit=True, slack_us=500000, blocked=None):
        self.blocked = timed if blocked is None else blocked
        self.capacities = [(0, 0, capacity)]    # (call, return, capacity) of resizes
        self.ttl, self.timed, self.tickets, self.slack = ttl_us, timed, tickets, slack_us
        self.errors, self.limit = errors, limit
        self.leases = {}
        self.last = {}
        self.faults = []                        # [start, end, clients, what]
        self.unexpected = []                    # errors, if no fault explains them
        self.problems = []
        with open(path, encoding="ascii") as lines:
            for line in lines:
                self.event(line.split())
        self.disturbed = Spans((f[0], self.over(f)) for f in self.faults if f[3] != "pause")
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
        if what in ("down", "cut", "pause"):
            self.faults.append([when, 1 << 62, set(words[4:]), what])
            return
        if what in ("up", "heal", "resume"):
            self.faults[-1][1] = when
            return
        lease = self.leases.setdefault(operation, Lease(client, operation))
        if what == "ask":
            lease.asked, lease.wanted = when, int(words[4])
        elif what == "got":
            if lease.fence is not None:
                self.problem("double", lease)
            lease.got = when
            lease.weight, lease.fence, lease.ticket, lease.place = map(int, words[4:8])
            if lease.weight != lease.wanted:
                self.problem("weight", lease)
        elif what == "fail":
            lease.failed, lease.result = when, words[4]
            if self.errors and words[4] not in ("WEIR_ETIMEDOUT", "WEIR_EAGAIN",
                                                "WEIR_EINDETERMINATE", "WEIR_ETOOBIG"):
                self.unexpected.append((words[4], lease))
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
        i = bisect.bisect_right(self.capacities, start, key=lambda change: change[1])
        later = self.capacities[i:bisect.bisect_right(self.capacities, end, lo=i,
                                                      key=lambda change: change[0])]
        return [c for _, _, c in self.capacities[max(0, i - 1):i] + later]

    def least_capacity(self, start, end):
        return min(self.in_effect(start, end))

    def certain_start(self, lease):
        return lease.fence if self.timed and lease.fence != lease.ticket else lease.got

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
        return self.expiry(until)

    def expiry(self, when):
        """The engine has certainly forgotten an entry that was last renewed at this time.  An
        engine that starts may begin the TTL again."""
        end = when + self.ttl + self.slack
        for start, up, _, what in self.faults:
            if what == "down" and start < end:
                end = max(end, up + self.ttl + self.slack)
        return end

    @staticmethod
    def over(fault):
        """The connections have recovered.  A client repeats a call after at most a second; TCP
        repeats a lost packet after up to twice the time."""
        start, end, _, what = fault
        return end + {"down": 1000000, "cut": end - start + 500000, "pause": 0}[what]

    def phantoms(self):
        """Spans in which a request may be in the queue, or hold a lease, without a line."""
        for lease in self.leases.values():
            decided = lease.got or lease.failed
            if decided is None:
                # A dead client that is granted after its death holds a lease of its own.
                yield lease.asked, self.expiry(self.expiry(self.last[lease.client]))
            elif lease.fence is None:
                yield lease.asked, (self.expiry(decided)
                                    if lease.result == "WEIR_EINDETERMINATE" else decided)
        for fault in self.faults:
            start, over = fault[0], self.over(fault)
            # A request that is renewed every third of the TTL survives two thirds.
            if over - start > 2 * self.ttl // 3 and any(
                    self.waits(lease, start, over) for lease in self.leases.values()
                    if fault[3] == "down" or lease.client in fault[2]):
                yield start, self.expiry(over)

    @staticmethod
    def waits(lease, start, end):
        """The request has waited at some time between these."""
        return lease.asked < end and (lease.got or lease.failed or 1 << 62) > start

    def check_errors(self):
        for text, lease in self.unexpected:
            if not any(start < lease.failed and end > lease.asked and lease.client in clients
                       for start, end, clients, _ in self.faults) and \
                    not self.disturbed.overlap(lease.asked, lease.failed):
                self.problem("error", text, lease)

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

    def earliest(self):
        """The earliest time of each grant: not before its request, and not before that of a grant
        with a smaller token."""
        times, start = {}, 0
        for lease in self.grants:
            start = times[lease.operation] = max(start, lease.asked)
        return times

    def check_capacity(self):
        """From the grant: its token if that is the time, otherwise the return of the call.  All
        leases that exist then existed when the last of them was granted, and fitted into the
        capacity of that time.  A resize may have come between that and the return of the call."""
        when_of = self.certain_start
        earliest = self.earliest()
        live = []
        for lease in sorted(self.grants, key=when_of):
            when = when_of(lease)
            live = [l for l in live if self.certain_end(l) > when + 1000]
            live.append(lease)
            total = sum(l.weight for l in live)
            start = max(l.fence if self.timed else earliest[l.operation] for l in live)
            if total > max(self.in_effect(start - 1000, when + 1000)):
                self.problem("capacity", f"{total} permits", *live)

    def times(self):
        """The time of each grant.  A token of etcd is no time: then a grant was made before its
        call, or that of a later grant, returned."""
        if self.timed:
            return [lease.fence for lease in self.grants]
        times, end = [], 1 << 62
        for lease in reversed(self.grants):
            end = min(end, lease.got)
            times.append(end)
        return times[::-1]

    def busy(self):
        """Spans in which a release took long without a fault: the machine is busy, and a call that
        was granted returns late, too."""
        for lease in self.leases.values():
            late = lease.done - lease.back if lease.done is not None and \
                lease.result == "WEIR_OK" else 0
            if late > 250000 and not any(start < lease.done and end > lease.back
                                         for start, end, _, _ in self.faults):
                yield lease.back, lease.done + late

    def check_blocked(self):
        """The head of the queue waits although it fits.

        The window before its grant is quiet: no other grant, no request that may have been
        ahead, no lease that may have used the permits.  A request that was granted when it
        arrived did not wait, however late the busy machine sent it.  If the time of a grant is
        that of its return, the machine must not have been busy.
        """
        window = 30000 if self.timed else 1000000
        phantoms = Spans(self.phantoms())
        busy = Spans(() if self.timed else self.busy())
        before, in_use, used = None, [], 0
        for lease, end in zip(self.grants, self.times()):
            start = end - window
            while in_use and in_use[0][0] <= start:
                used -= heapq.heappop(in_use)[1]
            if lease.asked <= start - window and lease.place and \
                    (before is None or before <= start) and \
                    not self.disturbed.overlap(start, end) and \
                    not phantoms.overlap(start, end) and not busy.overlap(start, end) and \
                    used + lease.weight <= self.least_capacity(start, end):
                self.problem("blocked", lease, f"{used} permits were in use")
            heapq.heappush(in_use, (self.possible_end(lease), lease.weight))
            used += lease.weight
            before = end

    def check(self):
        self.check_fences()
        if self.tickets:
            self.check_fifo()
        if self.limit:
            self.check_capacity()
        if self.blocked:
            self.check_blocked()
        self.check_errors()
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
