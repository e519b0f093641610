#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The checker of histories: small histories, right and wrong, around faults."""
import os
import sys
import tempfile

sys.dont_write_bytecode = True
# pylint: disable=wrong-import-position
from history import History, Spans
from support import main

MS, TTL = 1000, 1000 * 1000
BASE = 10 ** 15         # a time of the engine, in microseconds


def problems(*lines, capacity=1, ttl=TTL, **options):
    """Each line begins with milliseconds.  "got" has the weight 1; its token is the time of the
    grant, which is the first number after the operation.  The second is its place, 1 by default.
    A third word "=" makes the ticket equal to the token."""
    text, ticket = "", 0
    for line in lines:
        when, client, what, operation, *rest = line.split()
        if what == "got":
            ticket += 1
            token = str(BASE + int(rest[0]) * MS)
            rest = ["1", token, token if "=" in rest else str(ticket), (rest[1:] or ["1"])[0]]
        elif what == "ask":
            rest = ["1"]
        elif what in ("back", "lost"):
            rest = [str(BASE + int(rest[0]) * MS)]
        text += " ".join([str(BASE + int(when) * MS), client, what, operation, *rest]) + "\n"
    with tempfile.NamedTemporaryFile("w", suffix=".history") as file:
        file.write(text)
        file.flush()
        assert os.path.getsize(file.name)
        return [p.split(":")[0] for p in
                History(file.name, capacity, ttl, **options).check()]


def turns(*between, released=100, granted=100, lines=(), ttl=TTL):
    """Client 1 holds and releases; client 2 waits and is granted."""
    return problems("0 1 ask a", "1 1 got a 1", "2 2 ask b", *lines,
                    f"{released - 1} 1 back a {released + 500}", f"{released} 1 done a WEIR_OK",
                    *between, f"{granted + 1} 2 got b {granted}",
                    f"{granted + 2} 2 back b {granted + 500}",
                    f"{granted + 3} 2 done b WEIR_OK", ttl=ttl)


def test_a_release_grants_at_once():
    assert turns() == []


def test_a_waiter_that_fits_is_blocked():
    assert turns(granted=400) == ["blocked"]


def test_the_engine_was_down():
    assert turns("101 test down -", "380 test up -", granted=400) == []
    # The connections have a second to recover.
    assert turns("101 test down -", "380 test up -", granted=1300, ttl=9 * TTL) == []
    assert turns("101 test down -", "380 test up -", granted=1800, ttl=9 * TTL) == ["blocked"]


def test_the_engine_was_down_before():
    assert turns("20 test down -", "30 test up -", released=2500, granted=2900) == ["blocked"]


def test_a_long_downtime_makes_places_unclear():
    """Longer than a part of the TTL: the request may have lost its place until the TTL has passed."""
    down = ("101 test down -", "1101 test up -")
    assert turns(*down, granted=2500) == []
    assert turns(*down, granted=3900) == ["blocked"]


def test_another_client_was_cut_off():
    """The request of client 3 may have been granted and have expired without its knowledge."""
    cut = ("101 test cut - 3", "900 test heal - 3")
    assert turns(*cut, granted=3000, lines=("3 3 ask c", "5000 3 fail c WEIR_ETIMEDOUT")) == []
    # Without a request nothing is unclear after the recovery.
    assert turns(*cut, granted=3000) == ["blocked"]


def test_a_pause_disturbs_no_other_client():
    assert turns("101 test pause - 3", "380 test resume - 3", granted=400) == ["blocked"]


def test_a_dead_holder():
    lines = ("0 1 ask a", "1 1 got a 1", "2 2 ask b", "100 test killed - 1")
    end = lambda at: (f"{at + 1} 2 got b {at}", f"{at + 2} 2 back b {at + 9}",
                      f"{at + 3} 2 done b WEIR_OK")
    assert problems(*lines, *end(1100)) == []
    assert problems(*lines, *end(2000)) == ["blocked"]
    # An engine that was down may begin the TTL again.
    down = ("200 test down -", "900 test up -")
    assert problems(*lines, *down, *end(2300)) == []


def test_an_error_needs_a_fault():
    lines = ("10 3 ask c", "60 3 fail c WEIR_ESYSTEM")
    assert problems(*lines) == ["error"]
    assert problems("20 test down -", *lines, "70 test up -") == []
    assert problems("20 test pause - 3", *lines, "70 test resume - 3") == []
    assert problems("20 test pause - 2", *lines, "70 test resume - 2") == ["error"]


def test_an_unknown_outcome_may_hold_permits():
    """A request without an answer may be granted until it has expired."""
    lost = ("3 3 ask c", "150 3 fail c WEIR_EINDETERMINATE")
    assert turns(granted=1000, lines=lost) == []
    assert turns(granted=2000, lines=lost) == ["blocked"]


def test_a_request_that_was_sent_late_did_not_wait():
    late = ("0 1 ask a", "401 1 got a 400 {}", "402 1 back a 9000", "403 1 done a WEIR_OK")
    assert problems(*(line.format(1) for line in late)) == ["blocked"]
    assert problems(*(line.format(0) for line in late)) == []


def test_tokens_that_are_no_times():
    late = ("0 1 ask a", "1 1 got a 1", "2 2 ask b", "9 1 back a 500", "10 1 done a WEIR_OK",
            "4001 2 got b 2", "4002 2 back b 9000", "4003 2 done b WEIR_OK")
    assert problems(*late, timed=False) == []
    assert problems(*late, timed=False, blocked=True) == ["blocked"]


def test_a_busy_machine():
    """Tokens that are no times: if a release takes long, a call that was granted returns late."""
    lines = ("0 3 ask c", "1 3 got c 1", "2 1 ask a", "3 1 got a 2", "4 2 ask b", "9 1 back a 500",
             "10 1 done a WEIR_OK", "{} 3 back c 9000", "3900 3 done c WEIR_OK", "4001 2 got b 3",
             "4002 2 back b 9000", "4003 2 done b WEIR_OK")
    said = lambda back, *faults, **options: problems(
        *(line.format(back) for line in lines), *faults, capacity=2, blocked=True, **options)
    assert said(3500, timed=False) == []
    assert said(3899, timed=False) == ["blocked"]
    # The release took long because its client was paused.
    assert said(3500, "3600 test pause - 3", "3700 test resume - 3", timed=False) == ["blocked"]


def test_a_token_from_before_the_lock():
    """Client 2 read the clock, waited for the lock of the semaphore, which client 1 used for its
    release, and was granted."""
    lines = ("0 1 ask a", "1 1 got a 1 0 =", "2 2 ask b", "50 1 back a 500", "{} 2 got b 20 0 {}",
             "56 1 done a WEIR_OK", "61 2 back b 500", "62 2 done b WEIR_OK")
    written = lambda *words: [line.format(*words) for line in lines]
    assert problems(*written(55, "=")) == []
    assert problems(*written(40, "=")) == ["capacity"]
    assert problems(*written(55, ""), tickets=False) == ["capacity"]


def test_a_call_returns_after_a_shrink():
    """Tokens that are no times: the grants may have been made before the shrink, but not if one of
    the requests came after it."""
    shrink = ("20 test resize - 1", "30 test resized - 1")
    grants = ("40 1 got a 1", "41 2 got b 2", "52 1 back a 500", "53 1 done a WEIR_OK",
              "54 2 back b 500", "55 2 done b WEIR_OK")
    assert problems("0 1 ask a", "1 2 ask b", *shrink, *grants, capacity=2, timed=False) == []
    assert problems("0 1 ask a", *shrink, "33 2 ask b", *grants, capacity=2, timed=False) == ["capacity"]


def test_a_call_returns_later_than_that_of_the_next_grant():
    """Tokens that are no times: the waiter of the second grant was not the head until the first."""
    lines = ("0 1 ask a", "1 1 got a 1", "2 2 ask b", "3 3 ask c", "4000 1 back a 5000",
             "4010 1 done a WEIR_OK", "4020 3 got c 3", "4030 2 got b 2", "4040 2 back b 9000",
             "4041 2 done b WEIR_OK", "4042 3 back c 9000", "4043 3 done c WEIR_OK")
    assert problems(*lines, capacity=2, timed=False, blocked=True, tickets=False) == ["blocked"]
    assert problems(*lines, timed=False, blocked=True, tickets=False, limit=False) == []


def test_the_other_rules():
    hold = lambda client, name, asked, got, back, fence: (
        f"{asked} {client} ask {name}", f"{got} {client} got {name} {fence}",
        f"{back} {client} back {name} {back + 9}", f"{back} {client} done {name} WEIR_OK")
    assert problems(*hold(1, "a", 0, 2, 9, 1), *hold(2, "b", 10, 12, 20, 11)) == []
    assert "fence-unique" in problems(*hold(1, "a", 0, 2, 9, 1), *hold(2, "b", 10, 12, 20, 1))
    assert "fence-order" in problems(*hold(1, "a", 0, 2, 9, 8), *hold(2, "b", 10, 12, 20, 3))
    lines = sorted(hold(1, "a", 0, 2, 90, 1) + hold(2, "b", 10, 12, 80, 11),
                   key=lambda line: int(line.split()[0]))
    assert problems(*lines) == ["capacity"]
    assert problems(*lines, capacity=2) == []


def test_spans():
    spans = Spans([(10, 20), (15, 30), (40, 50)])
    assert spans.overlap(0, 11) and spans.overlap(29, 31) and spans.overlap(0, 100)
    assert not spans.overlap(0, 10) and not spans.overlap(30, 40) and not spans.overlap(50, 60)


if __name__ == "__main__":
    main(sys.modules[__name__])
