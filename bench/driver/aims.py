# SPDX-License-Identifier: MIT
"""
The aims: ratios of times, weir over a peer in the same run, lower is better; and
a few ratios of weir to itself.  An aim is met if the median meets it.  An aim is a
ratio that a semaphore with the promises of weir can reach, or 1, which means ahead of
the peer: docs/design/bench.md, "Aims".
"""
from dataclasses import dataclass
from typing import Callable, Optional, Union

from . import peers, plan, stats

# The fastest form of weir: inlined in the caller's code.
INLINE = 'weir-signal-inline-native'


@dataclass
class Aim:
    what: str
    against: str
    want: float
    find: Callable              # results -> Figure or None
    at_least: bool = False      # otherwise: at most
    # The limit set by the machine, or how to find it in the results.
    floor: Union[float, Callable, None] = None
    peer_in: Optional[str] = None       # the workload, if `against` is a peer

    def judge(self, results):
        """Returns (figure, verdict): 'met', 'short', 'peer hung' or 'not measured'."""
        # A peer that hung has no figure, also if an earlier round ended.
        if self.peer_in and results.hung(self.peer_in, self.against):
            return None, 'peer hung'
        found = self.find(results)
        if not found:
            return None, 'not measured'
        good = found.median >= self.want if self.at_least \
            else found.median <= self.want
        return found, 'met' if good else 'short'

    def floor_in(self, results):
        """Returns the floor, or None if it is not known."""
        return self.floor(results) if callable(self.floor) else self.floor


def over(what, workload, mine, peer, want, own=None, metric='ns', floor=None):
    """weir over a peer; `own`: over the same weir in that workload."""
    def find(results):
        return stats.ratio(results.values(workload, mine, metric),
                           results.values(own or workload,
                                          mine if own else peer, metric))
    return Aim(f'{what} ({mine})', peer, want, find, floor=floor,
               peer_in=None if own else workload)


def limit_over(limit, workload, peer):
    """A floor: a limit of the machine over the peer."""
    def find(results):
        found = stats.ratio(results.values(f'limits/{limit}', 'limits'),
                            results.values(workload, peer))
        return found.median if found else None
    return find


def best_peer(workload, results):
    others = {name: results.values(workload, name)
              for name in results.peers(workload)
              if not name.startswith('weir-') and
              not results.hung(workload, name)}
    return stats.best(others)


def over_best(what, workload, mine, want):
    def find(results):
        peer = best_peer(workload, results)
        if not peer:
            return None
        return stats.ratio(results.values(workload, mine),
                           results.values(workload, peer))
    return Aim(f'{what} ({mine})', 'best of the cell', want, find)


def over_limit(what, workload, mine, limit, want):
    """weir over what the machine takes for the same atomic operations."""
    def find(results):
        return stats.ratio(results.values(workload, mine),
                           results.values(f'limits/{limit}', 'limits'))
    return Aim(f'{what} ({mine})', plan.LIMITS[limit], want, find, floor=1)


def longer(what, workload, mine, than, want, unit='ns', scale=1):
    """The difference to another peer."""
    def find(results):
        ours = results.values(workload, mine)
        theirs = results.values(workload, than)
        return stats.figure({r: (ours[r] - theirs[r]) / scale for r in ours
                             if r in theirs})
    return Aim(f'{what} ({mine})', f'{than}, {unit} longer', want, find)


def fairness(workload, want):
    return Aim(f'fairness, {workload} (weir-fifo)', 'fewest/most per thread',
               want, lambda results: results.figure(workload, 'weir-fifo',
                                                    'min_max'),
               at_least=True, floor=1)


def uncontended():
    # A bounded semaphore checks the count and adds in one step: two CAS.
    yield over_limit('pair, inline', 'pair', INLINE, 'cas+cas', 1.03)
    yield over_limit('pair, library', 'pair', 'weir-fifo', 'cas+cas', 1.08)
    for peer in ('sem_t', 'go-xsync', 'tokio'):
        yield over('pair, library', 'pair', 'weir-fifo', peer, 1)
    # C47: the holders are recorded.
    for form in ('', '-inline'):
        yield longer('pair, watched', 'pair', f'weir-watched{form}',
                     f'weir-fifo{form}', 5)
    yield over('weight 3', 'weight3', 'weir-fifo', 'its weight 1', 1.02,
               own='pair', floor=1)
    yield over('unneeded timeout, inline', 'timeout', INLINE, 'its pair', 1.15,
               own='pair', floor=1)
    yield over('failing try, inline', 'try-fail', INLINE, 'sem_t', 0.5)
    yield over('failing try, library', 'try-fail', 'weir-fifo', 'sem_t', 0.6)


def ping_pong():
    two, one = 'ping-pong/two', 'ping-pong/one'
    for mine, peer, want in (('weir-barging', 'sem_t', 0.055),
                             ('weir-barging', 'moodycamel', 1.1),
                             ('weir-fifo', 'sem_t', 0.08),
                             ('weir-fifo', 'go-xsync', 0.5)):
        yield over('ping-pong, two cores', two, mine, peer, want,
                   floor=limit_over('line', two, peer))
    for mine in ('weir-fifo', 'weir-barging'):
        yield over('ping-pong, one core', one, mine, 'sem_t', 1.05)
        yield over('ping-pong, one core', one, mine, 'moodycamel', 1)


# Semaphores for threads whose order is FIFO.
FIFO_PEERS = ('xsync-c', 'semop', 'java-fair')


def contended():
    for threads, capacity, section, want in ((2, 1, 0, 1), (4, 1, 0, 0.4),
                                             (16, 1, 0, 0.15),
                                             (64, 1, 0, 0.2),
                                             (16, 1, 1000, 0.6),
                                             (16, 8, 1000, 0.7)):
        key = f'contended/{plan.cell(threads, capacity, section)}'
        yield over(key, key, 'weir-barging', 'sem_t', want)
    for threads, capacity, section in plan.grid(False):
        key = f'contended/{plan.cell(threads, capacity, section)}'
        yield over_best(key, key, 'weir-barging',
                        1.15 if capacity > 1 and not section else 1.1)
    for threads, capacity, section in plan.grid(False):
        if capacity > 1:
            continue
        key = f'contended/{plan.cell(threads, capacity, section)}'
        # With many more threads than CPUs, a switch of threads limits all of them.
        want = 0.2 if threads <= 4 and section < 1000 else 0.85
        for peer in FIFO_PEERS:
            yield over(key, key, 'weir-fifo', peer, want)
    for peer in plan.CALLBACK_PEERS:
        yield over('FIFO callbacks, T64', plan.callbacks_key(0), 'weir-ops',
                   peer, 1)


def fair():
    for threads in (2, 4, 8, 16):
        yield fairness(f'contended/{plan.cell(threads, 1, 1000)}', 0.8)
    for threads, capacity, section in plan.latency_cells(False):
        if capacity == 1 and threads <= 16:
            key = f'latency/{plan.cell(threads, capacity, section)}'
            for peer in FIFO_PEERS:
                yield over(f'{key}, p99', key, 'weir-fifo', peer, 1,
                           metric='p99')
    for name in ('polled', 'overtaken'):
        for threads in plan.OVERTAKERS:
            key = f'{name}/T{threads}'
            for metric, want in (('p99', 2), ('max', 5)):
                yield over(f'{key}, {metric}', key, 'weir-fifo', 'mutex-cond',
                           want, metric=metric)


def grown():
    """10,000 threads against 1,000; more operations, also against tasks."""
    for name, want in (('waiters', 1.3), ('waiters-one', 1.3),
                       ('cancel-growth', 4)):
        yield over(f'{name}, 10,000 waiters', f'{name}/10000', 'weir-fifo',
                   'its 1,000', want, own=f'{name}/1000', floor=1)
    for name in ('waiters', 'waiters-one', 'cancel-growth'):
        # Operations that are cancelled at random miss the cache.
        yield over(f'{name}, {plan.MANY:,} operations', f'{name}/{plan.MANY}',
                   'weir-ops', 'its 1,000', 4 if name == 'cancel-growth' else
                   1.5, own=f'{name}/1000', floor=1)
        for peer in ('go-xsync', 'tokio'):
            for count in (1000, 10000, 100000, plan.MANY):
                yield over(f'{name}, {count:,} operations', f'{name}/{count}',
                           'weir-ops', peer, 1)
    for peer in ('go-xsync', 'tokio'):
        for count in (1000, 10000, 100000, plan.MANY):
            yield over(f'queueing {count:,} operations', f'waiters/{count}',
                       'weir-ops', peer, 1, metric='queue_ns')
    yield Aim(f'bytes of one of {plan.MANY:,} operations (weir-ops)',
              'all of the process', 128 * 1.02,
              lambda results: results.figure(f'waiters/{plan.MANY}',
                                             'weir-ops', 'bytes'))


def processes():
    mine = 'weir-named'
    yield over('pair, processes', 'processes/pair', mine, 'sem_t-shared', 1.4)
    yield over('pair, processes', 'processes/pair', mine, 'semop-plain', 0.2)
    for mode, where in (('free', ''), ('one', ', one core'),
                        ('two', ', two cores')):
        yield over(f'hand-off, processes{where}', f'processes/hand-off/{mode}',
                   mine, 'sem_t-shared', 1.3, floor=1)
    yield over('hand-off, processes', 'processes/hand-off/free', mine, 'flock',
               1)
    for size, name in ((0, 'small'), (512, '512 MB'), (2048, '2 GB')):
        for peer in ('SEM_UNDO', 'flock'):
            yield over(f'death of a {name} holder',
                       f'processes/death/{size}', mine, peer, 1)
    yield over('hand-off in a queue of 1,000 processes', 'processes/crowd/1000',
               mine, 'its 10', 1.2, own='processes/crowd/10')
    yield Aim(f'open and close a handle ({mine})', 'us', 60,
              lambda results: results.figure('processes/open', mine, 'us'))
    yield Aim(f'100 processes that wait ({mine})', 'switches a second', 0,
              lambda results: results.figure('processes/waiting/100', mine,
                                             'switches'))
    for peer, want in (('flock-run', 1), ('exec', 0.9)):
        yield longer('a command', 'processes/command', 'weir-run', peer, want,
                     'ms', 1e6)
    yield over('a command', 'processes/command', 'weir-run', 'gnu-sem', 0.033)
    yield Aim('10,000 files, half of them hostile (weir-ls)', 'ms', 1000,
              lambda results: results.figure('processes/listing', 'weir-ls',
                                             'ms'))


def over_each(workload, mine, some, want=1):
    """Ahead of every peer."""
    for peer in some:
        if not peer.name.startswith('weir-'):
            yield over(workload, workload, mine, peer.name, want)


def patterns():
    for cell in plan.channel_cells(False):
        yield from over_each(plan.channel_key(*cell), 'weir-chan',
                             peers.CHANNELS, 0.8)
        # Where the threads do not have two CPUs for themselves.
        for setting in plan.CROWDED:
            key = plan.channel_key(*cell, setting)
            yield from over_each(key, 'weir-chan', peers.CHANNELS_IN_C)
    for cell in plan.rwlock_cells(False):
        # Strict order is shown beside it: pthread_rwlock does not offer it.
        yield from over_each(plan.rwlock_key(*cell), 'weir-rwlock',
                             peers.RWLOCKS)
    for threads in plan.SHARDED_THREADS:
        key = plan.sharded_key(threads)
        yield over(key, key, 'weir-sharded', 'weir-barging-sem', 0.5)
        yield from over_each(key, 'weir-sharded', peers.SHARDED_OTHERS, 0.5)
    yield from over_each('patterns/group/2', 'weir-group', peers.TASK_GROUPS)
    yield from over_each('patterns/limit', 'weir-limit', peers.RATES)


GROUPS = {
    'Uncontended': uncontended,
    'Ping-pong': ping_pong,
    'Contended': contended,
    'Fairness': fair,
    'Growth': grown,
    'Processes': processes,
    'Patterns': patterns,
}

def every():
    for group, aims in GROUPS.items():
        for aim in aims():
            yield group, aim
