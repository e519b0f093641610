# SPDX-License-Identifier: MIT
"""The arithmetic of a run: medians, ranges, ratios within a round."""


def median(values):
    """Returns the middle value, or the mean of the two middle values."""
    values = sorted(values)
    if not values:
        raise ValueError('median of an empty list')
    middle = len(values) // 2
    if len(values) % 2:
        return values[middle]
    return (values[middle - 1] + values[middle]) / 2


class Figure:
    """A median with its range and the number of rounds."""

    def __init__(self, values):
        values = list(values)
        self.median = median(values)
        self.low = min(values)
        self.high = max(values)
        self.rounds = len(values)


def figure(by_round):
    """Returns the figure of {round: value}; None if it is empty."""
    return Figure(by_round.values()) if by_round else None


def ratio(mine, theirs):
    """
    Returns the ratio of two values, formed within each round: a disturbance of a round
    affects both.  Rounds in which one value is missing do not count.
    """
    both = {r: mine[r] / theirs[r] for r in mine
            if r in theirs and theirs[r] > 0}
    return figure(both)


def best(candidates):
    """
    Returns the name with the lowest median over all rounds.  The minimum of each round
    would combine several peers into one that does not exist.
    """
    medians = {name: median(values.values())
               for name, values in candidates.items() if values}
    return min(medians, key=medians.get) if medians else None


def growth(small, large):
    """Returns the growth of a figure: large over small, within a round."""
    return ratio(large, small)


def others_share(busy_ticks, own_seconds, elapsed, cpus, tick_hz):
    """
    Returns the share of the CPUs that other processes used.  The kernel counts whole
    ticks, so one tick for each CPU is subtracted as a tolerance.
    """
    others = busy_ticks / tick_hz - own_seconds - cpus / tick_hz
    return max(0.0, others / (elapsed * cpus))
