# SPDX-License-Identifier: MIT
"""
The workloads: what is measured, on which CPUs, for which peers.  The quick form
covers every group in two minutes, including the build: fewer cells and forms, shorter.
"""
from dataclasses import dataclass, field

from . import peers

THREADS = (2, 4, 8, 16, 64)
SECTIONS = (0, 100, 1000)
OVERTAKERS = (1, 4)
SHARDED_THREADS = (2, 4)
# All threads of a channel on one CPU; on all CPUs, beside two busy threads.
CROWDED = ('one', 'busy')
MANY = 2700000
LIMITS = {
    'add': 'one atomic add', 'cas': 'load then CAS',
    'add+add': 'pair: add and add', 'cas+add': 'pair: CAS and add',
    'cas+cas': 'pair: CAS and CAS',
    'two-add': 'two cores adding to one word, each',
    'two-cas': 'two cores, with CAS, each',
    'line': 'a cache line round trip',
    'futex': 'futex wait and wake round trip, two cores',
    'futex/one': 'the same, one core',
    'eventfd': 'eventfd and epoll round trip, two cores',
    'eventfd/one': 'the same, one core',
    'call': 'a system call', 'wake': 'futex wake without a waiter',
    'clock': 'clock_gettime', 'counter': 'the cycle counter',
}
NEED_TWO = ('two-add', 'two-cas', 'line')


@dataclass
class Workload:
    key: str                    # in results: 'contended/T4/c1/100'
    program: str                # workload argument of the program
    args: dict = field(default_factory=dict)
    cpus: str = 'free'          # free, one, two
    who: tuple = ()             # names of peers
    rounds: int = 99            # at most
    repeats: int = 1            # measurements of each peer in a round
    limit: int = 5              # seconds; more is a hang
    ms: int = 100
    warms: bool = False         # whether the peer's warm-up applies


def names(some):
    return tuple(peer.name for peer in some)


def main_peers():
    return tuple(peers.WEIR_MAIN + [peer.name for peer in peers.OTHERS])


def cell(threads, capacity, section):
    return f'T{threads}/c{capacity}/{section}'


def grid(quick):
    """(threads, capacity, section)"""
    if quick:
        return [(2, 1, 0), (4, 1, 100), (16, 1, 1000), (64, 1, 0)]
    return [(threads, capacity, section) for threads in THREADS
            for capacity in sorted({1, threads // 2})
            for section in SECTIONS]


def latency_cells(quick):
    if quick:
        return [(16, 1, 1000)]
    return [(4, 1, 100), (8, 1, 0), (16, 1, 0), (16, 1, 1000), (16, 8, 1000),
            (64, 1, 1000)]


def limits(quick):
    for key in LIMITS:
        name, _, one = key.partition('/')
        yield Workload(f'limits/{key}', name, {'pin': 0 if one else 1},
                       cpus='one' if one else 'two', who=('limits',),
                       ms=20 if quick else 60)


def uncontended(quick):
    if quick:
        who = (*names(peers.WEIR_QUICK), *names(peers.OTHERS + peers.NATIVE))
        for name in ('pair', 'try-fail', 'timeout'):
            yield Workload(name, name, who=who, ms=20)
        return
    watched = names(peers.WEIR_WATCHED)
    for name in ('pair', 'weight3', 'try', 'try-fail', 'timeout', 'deadline',
                 'ctx'):
        yield Workload(name, name, who=names(peers.THREADED) +
                       (watched if name == 'pair' else ()), ms=80)
    yield Workload('permit', 'permit', who=names(peers.WEIR), ms=80)


def contended(quick):
    main = main_peers()
    for mode in ('two', 'one'):
        yield Workload(f'ping-pong/{mode}', 'ping-pong',
                       {'pin': 1 if mode == 'two' else 0}, cpus=mode,
                       who=main, ms=30 if quick else 100, warms=True)
    for threads, capacity, section in grid(quick):
        yield Workload(f'contended/{cell(threads, capacity, section)}',
                       'contended',
                       {'threads': threads, 'capacity': capacity,
                        'section': section},
                       who=main, ms=30 if quick else 60, warms=True)
    for section in (0,) if quick else SECTIONS:
        yield Workload(callbacks_key(section), 'contended',
                       {'threads': 64, 'capacity': 1, 'section': section},
                       who=(peers.WEIR_OPS.name,) + CALLBACK_PEERS,
                       ms=30 if quick else 60, warms=True)
    for threads, capacity, section in latency_cells(quick):
        yield Workload(f'latency/{cell(threads, capacity, section)}',
                       'latency',
                       {'threads': threads, 'capacity': capacity,
                        'section': section},
                       who=main, rounds=1 if quick else 3,
                       ms=50 if quick else 200, warms=True)
    for threads in (1,) if quick else OVERTAKERS:
        for name in ('polled', 'overtaken'):
            yield Workload(f'{name}/T{threads}', name, {'threads': threads},
                           who=('weir-fifo', 'mutex-cond'),
                           ms=200 if quick else 1000)


# Tasks of runtimes, next to operations whose callbacks take turns.
CALLBACK_PEERS = ('tokio', 'go-channel', 'go-xsync')


def callbacks_key(section):
    return f'callbacks/T64/c1/{section}'


def waiting(quick):
    main = main_peers()
    tasks = tuple(peer.name for peer in peers.OTHERS if peer.tasks)
    rounds = 1 if quick else 3
    for count in (1000,) if quick else (16, 1000, 10000, 100000):
        # 100,000 threads are too many; as many tasks are not.
        who = (main if count <= 10000 else tasks) + (peers.WEIR_OPS.name,)
        for name in ('waiters', 'waiters-one', 'cancel-growth'):
            yield Workload(f'{name}/{count}', name, {'count': count}, who=who,
                           rounds=1 if count == 10000 else rounds, limit=30)
    for name in ('waiters', 'waiters-one', 'cancel-growth'):
        if not quick:
            yield Workload(f'{name}/{MANY}', name, {'count': MANY},
                           who=(peers.WEIR_OPS.name,), rounds=3, limit=20)
            # The tasks take gigabytes.
            yield Workload(f'{name}/{MANY}', name, {'count': MANY},
                           who=('go-xsync', 'tokio'), rounds=1, limit=90)
    yield Workload('cancels/T16', 'cancels', {'threads': 16}, who=main,
                   rounds=rounds, ms=40 if quick else 100)
    yield Workload('timeouts/T16', 'timeouts',
                   {'threads': 16, 'timeout': 1000}, who=main, rounds=rounds,
                   ms=40 if quick else 100)


def semaphores(quick):
    for power in (16,) if quick else (0, 10, 16, 20):
        yield Workload(f'semaphores/{2 ** power}', 'semaphores',
                       {'count': 2 ** power}, who=main_peers(),
                       rounds=1 if quick else 3, ms=30 if quick else 80)


def sections(quick):
    """Checks that the busy loop is equally long in every language."""
    for section in SECTIONS[2 if quick else 1:]:
        yield Workload(f'section/{section}', 'section', {'section': section},
                       who=main_peers(), rounds=1, ms=20)


def processes(quick):
    """Between processes; the last part of a key is the size in MB, or the waiters."""
    who = names(peers.BETWEEN)
    yield Workload('processes/pair', 'pair', who=who, ms=30 if quick else 80)
    rounds = 1 if quick else 3
    # A wake-up takes 2 to 10 us, and two processes in a row differ by half: many
    # short measurements.
    repeats = 1 if quick else 5
    for mode in ('free', 'one', 'two'):
        yield Workload(f'processes/hand-off/{mode}', 'hand-off',
                       {'pin': 1 if mode == 'two' else 0}, cpus=mode, who=who,
                       rounds=rounds, repeats=repeats,
                       ms=100 if quick else 300)
    for size in (0, 512) if quick else (0, 512, 2048):
        yield Workload(f'processes/death/{size}', 'death', {'count': size},
                       who=who, rounds=rounds, limit=30,
                       repeats=1 if size else repeats,
                       ms=100 if quick or not size else 1000)
    yield Workload('processes/open', 'open', who=('weir-named', 'sem_t-shared'),
                   repeats=repeats, ms=30 if quick else 80)
    for count in (10,) if quick else (10, 1000):
        yield Workload(f'processes/crowd/{count}', 'crowd', {'count': count},
                       who=who, rounds=rounds, limit=60,
                       ms=100 if quick else 1000)
    yield Workload('processes/waiting/100', 'waiters', {'count': 100}, who=who,
                   rounds=1, limit=30, ms=500 if quick else 10000)
    yield Workload('processes/command', 'command', rounds=rounds, limit=30,
                   who=names(peers.COMMANDS),
                   ms=100 if quick else 500)
    yield Workload('processes/listing', 'listing', rounds=rounds, limit=60,
                   who=names(peers.LISTING), ms=100 if quick else 1000)


def channel_cells(quick):
    """(slots, number of senders and of receivers)"""
    if quick:
        return [(8, 1), (1024, 4)]
    return [(slots, pairs) for slots in (8, 1024) for pairs in (1, 4)]


def rwlock_cells(quick):
    """(threads, writes in a thousand operations)"""
    return [(4, 10)] if quick else [(1, 0), (4, 10), (4, 200)]


def channel_key(slots, pairs, setting=''):
    key = f'patterns/chan/{slots}/{pairs}:{pairs}'
    return f'{key}/{setting}' if setting else key


def rwlock_key(threads, writes):
    return f'patterns/rwlock/T{threads}/{writes}'


def sharded_key(threads):
    return f'patterns/sharded/T{threads}'


def patterns(quick):
    ms = 40 if quick else 200
    for slots, pairs in channel_cells(quick):
        yield Workload(channel_key(slots, pairs), 'chan',
                       {'capacity': slots, 'threads': pairs},
                       who=names(peers.CHANNELS), ms=ms, warms=True)
    for slots, pairs in [] if quick else channel_cells(quick):
        for setting in CROWDED:
            one = setting == 'one'
            yield Workload(channel_key(slots, pairs, setting), 'chan',
                           {'capacity': slots, 'threads': pairs,
                            'busy': 0 if one else 2},
                           cpus='one' if one else 'free',
                           who=names(peers.CHANNELS_IN_C), ms=ms, warms=True)
    for threads, writes in rwlock_cells(quick):
        yield Workload(rwlock_key(threads, writes), 'rwlock',
                       {'threads': threads, 'writes': writes},
                       who=names(peers.RWLOCKS), ms=ms, warms=True)
    for threads in SHARDED_THREADS:
        args = {'capacity': 64, 'threads': threads}
        yield Workload(sharded_key(threads), 'sharded', args,
                       who=names(peers.SHARDED), ms=ms, warms=True)
        # The same loop, in the programs of the semaphores.
        yield Workload(sharded_key(threads), 'contended', args,
                       who=names(peers.SHARDED_OTHERS), ms=ms, warms=True)
    yield Workload('patterns/group/2', 'group', {'threads': 2},
                   who=names(peers.TASK_GROUPS), ms=ms)
    yield Workload('patterns/limit', 'limit', who=names(peers.RATES), ms=ms)


GROUPS = {'limits': limits, 'sections': sections, 'uncontended': uncontended,
          'contended': contended, 'waiting': waiting,
          'semaphores': semaphores, 'processes': processes,
          'patterns': patterns}


def workloads(quick, only=()):
    for name, group in GROUPS.items():
        if not only or name in only:
            yield from group(quick)
