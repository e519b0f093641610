# SPDX-License-Identifier: MIT
"""The promises of the script for Redis and of the functions for PostgreSQL, one call at a time.

Each function below calls the program of an engine in a fixed order and checks the answers, so a bug
is found in every run: there are no other clients, and no result depends on the time.  A storm
(storm.py) finds other bugs, those of the client, but each of them by chance.

A semaphore has the methods acquire, release, cancel, renew, used and lease; see the subclasses of
Semaphore.  Answers are lists of words.
"""
import itertools

MINUTE = 60 * 1000000


class Semaphore:
    """Requests are named by a number.  An id is unique among all semaphores of a server."""
    count = itertools.count()

    def __init__(self):
        self.session = f"{next(Semaphore.count):016x}"
        self.name = "promise-" + self.session

    def id(self, number):
        return f"{self.session}.{number}"

    def get(self, number, weight=1, **options):
        """Acquire; the request must be granted.  Returns its token."""
        answer = self.acquire(number, weight, **options)
        assert answer[:2] == ["H", str(weight)], (number, answer)
        return int(answer[2])

    def wait(self, number, weight=1):
        answer = self.acquire(number, weight)
        assert answer[0] == "W", (number, answer)

    def holds(self, number):
        answer = self.renew(number)
        assert answer[0] in "HW", (number, answer)
        return answer[0] == "H"


class RedisSemaphore(Semaphore):
    def __init__(self, server, script, capacity):
        super().__init__()
        self.server, self.script = server, script
        self.call("create", capacity)

    def keys(self):
        return [f"weir:{{{self.name}}}:{key}" for key in ("e", "x", "q", "o", "w:", "r")]

    def call(self, *words):
        text = self.server.cli("EVAL", self.script, 6, *self.keys(), *words)
        assert "ERR" not in text and "WEIRBAD" not in text and not text.startswith("BAD"), text
        return text.split()

    def words(self, number, weight, ttl=MINUTE, fresh=1):
        return ("acquire", self.id(number), fresh, weight, weight, ttl, 0,
                f"0 {self.session} host 1 x")

    def acquire(self, number, weight, ttl=MINUTE, fresh=1):
        return self.call(*self.words(number, weight, ttl, fresh))

    def release(self, number, weight, keep=0):
        assert self.call("release", self.id(number), keep, weight)[0] == "R"

    def cancel(self, number):
        self.call("cancel", self.id(number))

    def renew(self, number, ttl=MINUTE):
        return self.call("renew", ttl, self.id(number))

    def used(self):
        return int(self.call("stat", 0)[2])

    def woken(self):
        """The wake-ups that no client has read, as lists of words; None: the engine keeps none."""
        lines = self.server.cli("LRANGE", f"weir:{{{self.name}}}:w:{self.session}", 0, -1)
        return [line.split() for line in lines.splitlines() if line]

    def lease(self):
        """The time until the only entry expires."""
        words = self.call("stat", 1)
        return int(words[18]) - int(words[6])


class PostgresSemaphore(Semaphore):
    def __init__(self, server, capacity):
        super().__init__()
        self.server = server
        self.call("create", capacity)

    def call(self, function, *words):
        text = self.server.sql(f"SELECT weir.{function}(" +
                               ", ".join([f"'{self.name}'", *map(str, words)]) + ")")
        assert "ERROR" not in text, text
        return text.split()

    def id(self, number):
        return f"'{super().id(number)}'"

    def acquire(self, number, weight, ttl=MINUTE, fresh=1):
        return self.call("acquire", self.id(number), bool(fresh), weight, weight, ttl, False, False,
                         "'host 1 x'")

    def release(self, number, weight, keep=0):
        del weight
        assert self.call("release", self.id(number), keep)[0] == "R"

    def cancel(self, number):
        self.call("cancel", self.id(number))

    def renew(self, number, ttl=MINUTE):
        return self.call("renew", ttl, f"ARRAY[{self.id(number)}]")

    def used(self):
        return int(self.call("info")[2])

    def woken(self):
        return None

    def lease(self):
        return int(self.server.sql("SELECT e.ends - s.last FROM weir.entry AS e, weir.sem AS s "
                                   f"WHERE e.sem = s.name AND s.name = '{self.name}'"))


def the_limit(new):
    s = new(1)
    s.get(1)
    s.wait(2)
    s.cancel(9)
    assert not s.holds(2) and s.used() == 1
    s = new(3)
    s.get(1, 2)
    s.wait(2, 2)
    assert s.used() == 2


def the_order(new):
    """A release grants to the first of the queue, at once."""
    s = new(1)
    s.get(1)
    s.wait(2)
    s.wait(3)
    s.release(1, 1)
    assert s.used() == 1
    assert not s.holds(3) and s.holds(2)


def a_heavy_head(new):
    """It is passed neither in the queue nor by a newcomer."""
    s = new(2)
    s.get(1, 2)
    s.wait(2, 2)
    s.wait(3)
    s.release(1, 2, keep=1)
    s.wait(4)
    s.cancel(9)
    assert not s.holds(3) and s.used() == 1
    s.release(1, 1)
    assert s.holds(2) and not s.holds(3) and not s.holds(4)


def hand_over(new, weight):
    """A release passes the permits on: to one request, to the next one, to the last one."""
    s = new(weight)
    fences = [s.get(1, weight)]
    for number in (2, 3):
        s.wait(number, weight)
    for number in (2, 3):
        s.release(number - 1, weight)
        woken = s.woken()
        assert s.used() == weight
        answer = s.renew(number)
        assert answer[:2] == ["H", str(weight)], answer
        assert woken is None or (len(woken) == number - 1 and
                                 woken[-1] == [s.id(number), "G", *answer[1:]]), woken
        fences.append(int(answer[2]))
        assert s.renew(number - 1)[0] == "L"
    assert fences == sorted(set(fences)), fences
    s.release(3, weight)
    assert s.used() == 0


def hand_overs(new):
    hand_over(new, 1)
    hand_over(new, 2)
    s = new(3)
    for weight in (1, 2):
        s.get(1, 3)
        s.wait(2, weight)
        s.release(1, 3)     # more than the request needs
        assert s.used() == weight and s.holds(2) and 0 < s.lease() <= MINUTE
        s.release(2, weight)
        assert s.used() == 0
    s.get(1, 3)
    for number in (2, 3, 4):
        s.wait(number)
    s.release(1, 3)         # to three requests
    assert s.used() == 3
    s = new(1)
    s.get(1)
    s.wait(2)
    s.release(1, 1)
    s.release(2, 1)         # at once
    assert s.used() == 0
    s.get(3)


def leases_handed_over(new):
    """A full lease begins with the grant."""
    for weight in (1, 2):
        s = new(weight)
        s.get(1, weight)
        s.wait(2, weight)
        s.release(1, weight)
        assert MINUTE // 2 < s.lease() <= MINUTE


def tokens(new):
    s = new(3)
    fences = [s.get(1, 3)]
    for number in (2, 3, 4):
        s.wait(number)
    s.release(1, 3)
    fences += [int(s.renew(number)[2]) for number in (2, 3, 4)]
    assert fences == sorted(set(fences)), fences
    s = new(1)
    fences = []
    for number in range(10):
        fences.append(s.get(number))
        s.release(number, 1)
    assert fences == sorted(set(fences)), fences


def releases(new):
    s = new(3)
    s.get(1)
    s.get(2, 2)
    s.wait(3, 3)
    s.release(1, 1)         # while a request waits
    assert s.used() == 2 and not s.holds(3)
    s = new(3)
    for weight in (1, 2):
        s.get(weight, weight)
        s.release(weight, weight)       # a young lease
        assert s.used() == 0
    s = new(3)
    s.get(1, 2)
    s.get(2)
    s.release(1, 2)         # a young lease while there is another one
    assert s.used() == 1
    s = new(3)
    s.get(3, 2)
    s.get(4, 1)
    s.cancel(9)             # both are moved
    s.release(3, 2)
    assert s.used() == 1
    s.wait(5, 3)


def expiry(new):
    s = new(1)
    s.get(1, ttl=1)
    s.get(2)                # the young lease has expired
    s = new(1)
    s.get(1, ttl=1)
    s.cancel(9)             # it is moved, and swept
    assert s.used() == 0


def renewals(new):
    s = new(1)
    s.get(1)
    assert s.renew(1, 60 * MINUTE)[0] == "H"
    assert s.lease() > 30 * MINUTE


def repetitions(new):
    s = new(2)
    fence = s.get(1, fresh=0)
    assert s.get(1, fresh=0) == fence and s.used() == 1
    s = new(2)
    fence = s.get(1)
    assert s.get(1, fresh=0) == fence and s.used() == 1
    s = new(2)
    s.get(1, 2)
    assert s.acquire(2, 1, fresh=0)[0] == "W"
    s.release(1, 2)
    s.get(2)                # the first copy arrives after its repetition was granted
    assert s.used() == 1 and s.holds(2)
    s.release(2, 1)
    assert s.used() == 0


PROMISES = (the_limit, the_order, a_heavy_head, hand_overs, leases_handed_over, tokens, releases,
            expiry, renewals, repetitions)


def broken(new):
    """new(capacity) makes a semaphore.  Returns the first promise that is not kept, or None."""
    for promise in PROMISES:
        try:
            promise(new)
        except AssertionError as why:
            return f"{promise.__name__}: {why}"
    return None
