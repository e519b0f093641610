# SPDX-License-Identifier: MIT
"""The arithmetic of a run: medians, ranges, ratios within a round."""


def median(values):
    """The middle value; between two, their mean."""
    values = sorted(values)
    if not values:
        raise ValueError('the median of nothing')
    middle = len(values) // 2
    if len(values) % 2:
        return values[middle]
    return (values[middle - 1] + values[middle]) / 2


class Figure:
    """A median with its range and how many rounds are behind it."""

    def __init__(self, values):
        values = list(values)
        self.median = median(values)
        self.low = min(values)
        self.high = max(values)
        self.rounds = len(values)


def figure(by_round):
    """by_round maps a round to a value; None if there is none."""
    return Figure(by_round.values()) if by_round else None


def ratio(mine, theirs):
    """
    The ratio of two things measured in the same rounds, formed within each: what
    disturbed a round disturbed both.  Rounds in which one is missing do not count.
    """
    both = {r: mine[r] / theirs[r] for r in mine
            if r in theirs and theirs[r] > 0}
    return figure(both)


def best(candidates):
    """
    The name with the lowest median.  Chosen over all rounds: the lowest of each
    round would be a peer that nobody can have.
    """
    medians = {name: median(values.values())
               for name, values in candidates.items() if values}
    return min(medians, key=medians.get) if medians else None


def growth(small, large):
    """How a figure grows: large over small, within a round."""
    return ratio(large, small)


def others_share(busy_ticks, own_seconds, elapsed, cpus, tick_hz):
    """
    What part of the CPUs somebody else used.  The kernel counts in ticks, and the
    beginning and the end of a tick are not seen: one is forgiven for each CPU.
    """
    others = busy_ticks / tick_hz - own_seconds - cpus / tick_hz
    return max(0.0, others / (elapsed * cpus))
