# SPDX-License-Identifier: MIT
"""
A run.  Rounds are the outermost loop: a round measures every workload for each peer,
with the peers in random order and one process for each measurement.  Most workloads are
measured once in a round, those that vary most from process to process several times.
"""
import os
import random
import sys
import time

from . import aims, build, machine, measure, peers, plan, plots, tables
from .results import Results

ROUNDS = {False: 5, True: 2}
REPEAT_SECONDS = {False: 180, True: 0}


class Run:
    def __init__(self, programs, skipped, folder, options, seed):
        quick = options.quick
        self.programs = programs        # program's name -> command
        self.folder = folder
        self.quick = quick
        self.rounds = options.rounds or ROUNDS[quick]
        self.random = random.Random(seed)
        self.cpus = measure.Cpus()
        self.repeats = measure.Repeats(
            0 if options.no_repeat else REPEAT_SECONDS[quick])
        self.out = set()                # (workload, peer) that is not run again
        self.results = Results({
            'when': time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime()),
            'machine': machine.describe(), 'quick': quick, 'rounds': self.rounds,
            'seed': seed, 'skipped': skipped,
        })

    def command(self, workload, name):
        """Returns the command line, or None if the program is not available."""
        if name == 'limits':
            peer = peers.Peer('limits', 'bench-limits')
        else:
            peer = peers.BY_NAME[name]
        program = self.programs.get(peer.program)
        if not program:
            return None
        args = dict(workload.args, ms=workload.ms)
        if peer.kind:
            args['kind'] = peer.kind
        if not peer.pins:
            args.pop('pin', None)
        if workload.warms:
            args['warm'] = peer.warm
        return [*program, workload.program,
                *[f'{key}={value}' for key, value in args.items()]]

    def measure(self, workload, name, round_):
        key = (workload.key, name)
        command = self.command(workload, name)
        cpus = self.cpus[workload.cpus]
        if not command or key in self.out:
            return
        if workload.cpus == 'two' and len(cpus) < 2:
            self.out.add(key)
            return
        found = self.repeats.measure(command, cpus, workload.limit)
        self.results.add(workload, name, round_, found)
        # A hang is a result: do not run the peer again.
        if found['status'] in ('hung', 'cannot'):
            self.out.add(key)
        if found['status'] in ('hung', 'failed'):
            print(f'\n{name}, {workload.key}: '
                  f'{found.get("why", "hung")}', file=sys.stderr)

    def go(self, only):
        every = list(plan.workloads(self.quick, only))
        for round_ in range(self.rounds):
            if not sys.stderr.isatty():
                print(f'bench: round {round_ + 1} of {self.rounds}', flush=True)
            for number, workload in enumerate(every):
                if round_ >= workload.rounds:
                    continue
                who = list(workload.who)
                progress(f'round {round_ + 1} of {self.rounds}, '
                         f'{number + 1} of {len(every)}: {workload.key}')
                # Ratios are formed within one repetition.
                for repeat in range(workload.repeats):
                    self.random.shuffle(who)
                    for name in who:
                        self.measure(workload, name,
                                     round_ * workload.repeats + repeat)
            self.results.about['repeats'] = self.repeats.made
            self.results.save(self.folder)
        progress('')
        return self.results


def progress(text):
    if sys.stderr.isatty():
        print(f'\r\033[K{text}', end='', file=sys.stderr, flush=True)


def show(results):
    """Prints all results."""
    if results.workloads('limits/'):
        print('\nLimits of the machine (ns)\n')
        print(tables.text(*tables.limits(results)))
    for key in results.workloads():
        if key.startswith(('limits/', 'section/', 'contended/')):
            continue
        metrics = {'latency': ('p50', 'p90', 'p99', 'p999', 'max'),
                   'ping-pong': ('ns', 'cpu'),
                   'waiters': ('ns', 'call_ns'),
                   'waiters-one': ('ns', 'call_ns'),
                   'cancel-growth': ('ns', 'call_ns')}
        used = metrics.get(key.partition('/')[0], ('ns',))
        if key.startswith('processes/waiting/'):
            used = ('ns', 'switches')
        if key.startswith(('patterns/chan/', 'patterns/rwlock/',
                           'patterns/sharded/')):
            used = ('ns', 'cpu', 'switches')
        print(f'\n{key} (ns)\n')
        print(tables.text(('', *[f'{used[0]} (range)', *used[1:]],
                           f'ns / {tables.base_of(key)}'),
                          tables.peer_rows(results, key, used)))
    for title, metric, value in (
            ('million operations a second', 'ns', tables.mops),
            ('ns of CPU time for each operation', 'cpu', tables.ns)):
        head, rows = tables.grid(results, 'contended/', plan.main_peers(),
                                 metric, value)
        if rows:
            print(f'\nContended, {title} '
                  '(threads, capacity, section in ns)\n')
            # One row for each cell: one for each peer would be too wide.
            print(tables.text(*turned(head, rows)))
    print('\nAims: time, weir over the peer, within a round\n')
    rows = tables.aim_rows(results)
    measured = [row for row in rows if row[-1] in ('met', 'short')]
    print(tables.text(tables.AIM_HEAD, measured))
    print(f'{sum(row[-1] == "met" for row in measured)} met, '
          f'{sum(row[-1] == "short" for row in measured)} short, '
          f'{len(rows) - len(measured)} not measured: a full run measures all '
          'except skipped peers and forms, and peers that hang')
    disturbed, measured = results.disturbed()
    print(f'\n{measured} measurements, {results.about.get("repeats", 0)} '
          f'repeated, {disturbed} in which other processes still used more than '
          f'{measure.DISTURBED:.0%} of the CPUs')
    for name, why in results.about['skipped'].items():
        print(f'skipped: {name}: {why}')
    for workload, name, what in results.troubles():
        print(f'{name}, {workload}: {what}')


def turned(head, rows):
    columns = list(zip(head, *rows))
    return columns[0], columns[1:]


def main(options, root):
    start = time.monotonic()
    programs, skipped, seconds = build.everything(root, options.build)
    built = time.monotonic()
    for name, why in skipped.items():
        print(f'bench: {name} is skipped: {why}')
    folder = options.out or os.path.join(
        root, 'bench', 'results', time.strftime('%Y%m%dT%H%M%SZ', time.gmtime()))
    os.makedirs(folder, exist_ok=True)
    seed = options.seed if options.seed is not None else int(time.time())
    run = Run(programs, skipped, folder, options, seed)
    share = measure.others_now(run.cpus['free'])
    if share > measure.DISTURBED:
        print(f'bench: other processes use {share:.0%} of the CPUs; the figures '
              'of a busy machine are not reliable')
    results = run.go(options.only)
    measured = time.monotonic()
    show(results)
    plots.draw(results, folder)
    print(f'\nresults are in {os.path.relpath(folder)}')
    each = ', '.join(f'{name} {took:.0f}' for name, took in seconds.items())
    print(f'{time.monotonic() - start:.0f} s: {built - start:.0f} to build '
          f'(in parallel: {each}), {measured - built:.0f} to measure')
    return folder
