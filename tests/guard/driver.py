#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Test the arithmetic of the benchmark's driver: medians, ratios within a round, the
best peer, the CPU time of other programs, aims, bounds of the guard.

    driver.py ROOT
"""
import importlib.machinery
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import unittest
from types import SimpleNamespace

ROOT = os.path.abspath(sys.argv.pop(1))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, 'bench'))

from driver import (aims, build, measure, plan, peers, report,  # noqa: E402
                    run, stats, tables)
from driver.results import Results  # noqa: E402


def guard():
    path = os.path.join(ROOT, 'tools', 'guard')
    loader = importlib.machinery.SourceFileLoader('guard', path)
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader('guard', loader))
    loader.exec_module(module)
    return module


def results_of(rows):
    """rows: (workload, peer, round, values), values None for a hang."""
    results = Results({'skipped': {}})
    for workload, peer, round_, values in rows:
        found = {'status': 'ok', 'values': values, 'disturbed': False} \
            if values else {'status': 'hung', 'limit': 5}
        results.add(plan.Workload(workload, workload), peer, round_, found)
    return results


class Stats(unittest.TestCase):
    def test_median(self):
        self.assertEqual(stats.median([3, 1, 2]), 2)
        self.assertEqual(stats.median([4, 1, 2, 3]), 2.5)
        self.assertEqual(stats.median([7]), 7)
        with self.assertRaises(ValueError):
            stats.median([])

    def test_figure(self):
        found = stats.figure({0: 5, 1: 1, 2: 3})
        self.assertEqual((found.median, found.low, found.high, found.rounds),
                         (3, 1, 5, 3))
        self.assertIsNone(stats.figure({}))

    def test_ratio_is_formed_within_a_round(self):
        # The medians are 20 and 20; in each round weir took half.
        found = stats.ratio({0: 10, 1: 20, 2: 50}, {0: 20, 1: 40, 2: 100})
        self.assertEqual((found.median, found.low, found.high),
                         (0.5, 0.5, 0.5))

    def test_ratio_needs_both(self):
        found = stats.ratio({0: 10, 2: 30}, {1: 5, 2: 10})
        self.assertEqual((found.median, found.rounds), (3, 1))
        self.assertIsNone(stats.ratio({0: 1}, {1: 1}))
        self.assertIsNone(stats.ratio({}, {}))

    def test_best_is_by_median(self):
        # a is lowest in one round, b in the middle.
        self.assertEqual(stats.best({'a': {0: 1, 1: 9, 2: 9},
                                     'b': {0: 5, 1: 5, 2: 5}, 'c': {}}), 'b')
        self.assertIsNone(stats.best({'a': {}}))

    def test_what_others_used(self):
        # Two CPUs for one second: 150 ticks used, 1.2 s of them by this
        # program; one tick per CPU is ignored.
        self.assertAlmostEqual(stats.others_share(150, 1.2, 1.0, 2, 100),
                               (1.5 - 1.2 - 0.02) / 2)
        self.assertEqual(stats.others_share(100, 1.0, 1.0, 2, 100), 0)


class Judged(unittest.TestCase):
    def judge(self, want, mine, theirs, **kwargs):
        rows = [('pair', 'weir-fifo', r, {'ns': ns})
                for r, ns in enumerate(mine)]
        rows += [('pair', 'sem_t', r, {'ns': ns})
                 for r, ns in enumerate(theirs)]
        aim = aims.over('pair', 'pair', 'weir-fifo', 'sem_t', want, **kwargs)
        return aim.judge(results_of(rows))

    def test_met_and_short(self):
        found, verdict = self.judge(0.6, (10, 11, 12), (20, 20, 20))
        self.assertEqual((found.median, verdict), (0.55, 'met'))
        self.assertEqual(self.judge(0.55, (10, 11, 12), (20, 20, 20))[1],
                         'met')
        self.assertEqual(self.judge(0.5, (10, 11, 12), (20, 20, 20))[1],
                         'short')

    def test_not_measured(self):
        self.assertEqual(self.judge(0.5, (10,), ()), (None, 'not measured'))

    def test_against_itself(self):
        results = results_of([('pair', 'weir-fifo', 0, {'ns': 10}),
                              ('weight3', 'weir-fifo', 0, {'ns': 12})])
        aim = aims.over('weight', 'weight3', 'weir-fifo', 'its pair', 1.02,
                        own='pair')
        found, verdict = aim.judge(results)
        self.assertEqual((found.median, verdict), (1.2, 'short'))

    def test_best_of_the_cell_leaves_weir_out(self):
        key = 'contended/T2/c1/0'
        results = results_of([(key, 'weir-barging', 0, {'ns': 10}),
                              (key, 'weir-fifo', 0, {'ns': 1}),
                              (key, 'sem_t', 0, {'ns': 20}),
                              (key, 'semop', 0, {'ns': 40}),
                              (key, 'std', 0, {'ns': 2}),
                              (key, 'std', 1, None)])
        # A peer that hangs, even once, is not the best.
        self.assertEqual(aims.best_peer(key, results), 'sem_t')
        aim = aims.over_best(key, key, 'weir-barging', 1.0)
        found, verdict = aim.judge(results)
        self.assertEqual((found.median, verdict), (0.5, 'met'))

    def test_a_peer_that_hung_has_no_figure(self):
        results = results_of([('pair', 'weir-fifo', 0, {'ns': 10}),
                              ('pair', 'weir-fifo', 1, {'ns': 10}),
                              ('pair', 'std', 0, {'ns': 20}),
                              ('pair', 'std', 1, None)])
        aim = aims.over('pair', 'pair', 'weir-fifo', 'std', 1)
        self.assertEqual(aim.judge(results), (None, 'peer hung'))

    def test_fifo_has_an_aim_for_every_cell(self):
        aimed = {aim.what for _, aim in aims.every()
                 if aim.against == 'semop' and aim.what.startswith('contended/')}
        self.assertEqual(aimed, {f'contended/{plan.cell(*cell)} (weir-fifo)'
                                 for cell in plan.grid(False) if cell[1] == 1})

    def test_at_least(self):
        key = 'contended/T4/c1/1000'
        aim = aims.fairness(key, 0.8)
        for share, want in ((0.9, 'met'), (0.8, 'met'), (0.7, 'short')):
            results = results_of([(key, 'weir-fifo', 0,
                                   {'ns': 1, 'min_max': share})])
            self.assertEqual(aim.judge(results)[1], want)

    def test_floor_is_of_the_same_run(self):
        key = 'ping-pong/two'
        results = results_of([('limits/line', 'limits', 0, {'ns': 300}),
                              ('limits/line', 'limits', 1, {'ns': 400}),
                              (key, 'sem_t', 0, {'ns': 6000}),
                              (key, 'sem_t', 1, {'ns': 8000})])
        aim = aims.over(key, key, 'weir-fifo', 'sem_t', 1,
                        floor=aims.limit_over('line', key, 'sem_t'))
        self.assertEqual(aim.floor_in(results), 0.05)
        self.assertIsNone(aim.floor_in(results_of([])))
        aim = aims.over(key, key, 'weir-fifo', 'sem_t', 1, floor=1)
        self.assertEqual(aim.floor_in(results), 1)

    def test_every_aim_names_what_is_planned(self):
        """An aim for a workload or a peer that is not measured is a typo."""
        asked = set()

        class Asked(Results):
            def values(self, workload, peer, metric='ns'):
                asked.add((workload, peer))
                return {}
        for _, aim in aims.every():
            self.assertEqual(aim.judge(Asked())[1], 'not measured')
            aim.floor_in(Asked())
        planned = {(workload.key, name)
                   for workload in plan.workloads(False)
                   for name in workload.who}
        self.assertEqual(asked - planned, set())


class Kept(unittest.TestCase):
    def test_results_survive_the_file(self):
        results = results_of([('pair', 'sem_t', 0, {'ns': 1.5}),
                              ('pair', 'std', 0, None)])
        with tempfile.TemporaryDirectory() as folder:
            results.save(folder)
            again = Results.load(folder)
        self.assertEqual(json.dumps(again.rows), json.dumps(results.rows))
        self.assertEqual(again.values('pair', 'sem_t'), {0: 1.5})
        self.assertEqual(again.troubles(),
                         [('pair', 'std', 'did not end within 5 s')])

    def test_a_hang_and_a_refusal_are_results(self):
        cpus = set(os.sched_getaffinity(0))
        hung = measure.attempt(['sleep', '60'], cpus, 0.1)
        self.assertEqual(hung['status'], 'hung')
        cannot = measure.attempt(['sh', '-c', 'exit 3'], cpus, 10)
        self.assertEqual(cannot['status'], 'cannot')
        failed = measure.attempt(['sh', '-c', 'echo no >&2; exit 1'], cpus, 10)
        self.assertEqual(failed['why'], 'status 1: no')
        good = measure.attempt(['echo', '{"ns": 2}'], cpus, 10)
        self.assertEqual(good['values'], {'ns': 2})

    def test_each_repetition_counts_as_a_round(self):
        order = []

        class Recorded(run.Run):
            def measure(self, workload, name, round_):
                if workload.key == 'processes/hand-off/one':
                    order.append((round_, name))

        options = SimpleNamespace(quick=False, rounds=2, no_repeat=True)
        with tempfile.TemporaryDirectory() as folder:
            Recorded({}, {}, folder, options, 1).go(['processes'])
        self.assertEqual([round_ for round_, _ in order],
                         [n for n in range(10) for _ in peers.BETWEEN])
        for n in range(10):
            self.assertEqual({name for round_, name in order if round_ == n},
                             {peer.name for peer in peers.BETWEEN})

    def test_patterns_are_judged_against_every_peer(self):
        """Each cell of each pattern, without weir's own kinds."""
        asked = {(aim.what.split(' ')[0], aim.against)
                 for group, aim in aims.every() if group == 'Patterns' and
                 not aim.against.startswith('weir-')}
        planned = {(workload.key, name)
                   for workload in plan.workloads(False, ['patterns'])
                   for name in workload.who if not name.startswith('weir-')}
        self.assertEqual(asked, planned)
        self.assertIn(('patterns/chan/8/4:4', 'tokio-mpsc'), planned)

    def test_the_quick_form_has_every_group(self):
        for group in plan.GROUPS:
            full = list(plan.workloads(False, [group]))
            quick = list(plan.workloads(True, [group]))
            self.assertTrue(quick)
            # A full run measures everything that a quick run does.
            self.assertEqual({w.key for w in quick} - {w.key for w in full},
                             set())

    def test_a_peer_that_is_not_there_is_told(self):
        programs = {peer.program: ['true'] for peer in peers.EVERY
                    if peer.program != 'go-rate'}
        self.assertEqual(
            build.skipped(programs, {'go-rate': 'does not build: no go'}),
            {'go-rate': 'does not build: no go '
             '(Debian: golang-go, golang-golang-x-time-dev)'})

    def test_plan_names_peers(self):
        for quick in (False, True):
            for workload in plan.workloads(quick):
                for name in workload.who:
                    self.assertTrue(name in peers.BY_NAME or name == 'limits')

    def test_numbers(self):
        self.assertEqual([tables.number(value) for value in
                          (None, 0.1234, 1.234, 12.34, 123.4, 12345)],
                         ['-', '0.123', '1.23', '12.3', '123', '12,345'])


class Reported(unittest.TestCase):
    METRICS = ('ns', 'call_ns', 'p50', 'p90', 'p99', 'p999', 'max', 'min_max',
               'jain', 'bytes', 'cpu')

    def results(self, weir, only=()):
        """Results with 100 for every metric of every peer, `weir` for weir."""
        results = Results({'skipped': {'libuv': 'is not there'}, 'rounds': 1,
                           'machine': {'cpus': 2}, 'when': 'now'})
        for workload in plan.workloads(False, only):
            for name in workload.who:
                value = weir if name.startswith('weir') else 100
                results.add(workload, name, 0,
                            {'status': 'ok', 'disturbed': False, 'values':
                             dict.fromkeys(self.METRICS, value)})
        return results

    def write(self, weir, only=()):
        with tempfile.TemporaryDirectory() as docs:
            written = report.Report(self.results(weir, only), ROOT, docs)
            pages = {}
            for path in written.write():
                with open(path, encoding='utf-8') as file:
                    pages[os.path.basename(path)] = file.read()
            return written, pages

    def test_the_pages_are_filled(self):
        _, pages = self.write(1)
        self.assertEqual(list(pages), ['semaphores.md', 'patterns.md'])
        for text in pages.values():
            self.assertNotIn('{{', text)
            self.assertEqual([line for line in text.splitlines()
                              if line.startswith('@')], [])
        text = pages['semaphores.md']
        self.assertIn('| cpus | 2 |', text)
        self.assertIn('skipped: libuv: is not there', text)
        self.assertIn('reading the clock costs 100 ns', text)

    def test_cpu_time_is_reported(self):
        _, pages = self.write(1)
        text = pages['semaphores.md']
        self.assertIn('| ns of CPU time | ping-pong/two | ping-pong/one |', text)
        self.assertIn('| ns of CPU time | callbacks/T64/c1/0 |', text)
        # The grid of CPU times has as many rows as that of operations.
        self.assertEqual(text.count('| T64 c32 1000 |'), 2)
        self.assertIn('| ns of CPU time | patterns/chan/8/1:1 |',
                      pages['patterns.md'])

    def test_what_is_short_is_told(self):
        _, pages = self.write(1000)
        text = pages['semaphores.md']
        self.assertIn('pair, library (weir-fifo) / sem_t: 10.0, aim 1', text)
        self.assertNotIn('Nowhere: every aim', text)

    def test_what_was_not_measured_is_told(self):
        _, pages = self.write(1, ['uncontended'])
        self.assertEqual(list(pages), ['semaphores.md'])
        text = pages['semaphores.md']
        self.assertIn('reading the clock costs (not measured) ns', text)
        processes = text.split('## Between processes')[1].split('## ')[0]
        self.assertIn(report.NOT_MEASURED, processes)
        # No table without figures, except the table of aims.
        self.assertNotIn('| ns |', processes)
        self.assertNotIn('| met |', processes)
        self.assertIn('| not measured |', processes)

    def test_a_page_of_its_own(self):
        _, pages = self.write(1, ['patterns'])
        self.assertEqual(list(pages), ['patterns.md'])
        text = pages['patterns.md']
        self.assertNotIn('not measured |', text)
        self.assertIn('| weir-chan | 1.00 |', text)
        _, pages = self.write(1, ['limits'])
        self.assertEqual(pages, {})

    def test_a_channel_that_is_behind_is_explained(self):
        written, pages = self.write(1000, ['patterns'])
        text = pages['patterns.md']
        self.assertIn('(weir-chan) / go-chan: 10.0, aim 0.8', text)
        self.assertEqual([name for name in written.unexplained
                          if '/chan/' in name or '/rwlock/' in name], [])


class Guarded(unittest.TestCase):
    def test_room(self):
        room = guard().with_room
        self.assertEqual([room(count) for count in (1, 20, 21, 100)],
                         [2, 21, 23, 105])

    def test_calls_in_a_table(self):
        calls = guard().futex_calls
        self.assertEqual(calls('% time seconds usecs/call calls errors syscall\n'
                               '100.00 14.62  92  158265      6 futex\n'
                               '100.00 14.62  92  158265      6 total\n'),
                         158265)
        self.assertEqual(calls('100.00    0.000852    426    2    futex\n'), 2)
        self.assertEqual(calls('{"ns": 0.000}\n'), 0)

    def test_a_peer_is_found_that_was_installed_later(self):
        """`make bench` after `make check`: meson caches failed searches."""
        with tempfile.TemporaryDirectory() as folder:
            source, directory = (os.path.join(folder, name) for name in ('source', 'build'))
            installed = os.path.join(folder, 'installed')
            os.mkdir(source)
            os.mkdir(installed)
            with open(os.path.join(source, 'main.c'), 'w') as file:
                file.write('int main(void) { return 0; }\n')
            with open(os.path.join(source, 'meson.build'), 'w') as file:
                file.write(f"""project('peers', 'c')
cc = meson.get_compiler('c')
executable('always', 'main.c')
if run_command(cc.cmd_array(), '-I{installed}', '-x', 'c', '-E', '-o', '/dev/null', '/dev/null',
    '-include', 'peer.h', check: false).returncode() == 0
  executable('bench-header', 'main.c')
endif
if cc.find_library('peer', dirs: '{installed}', required: false).found()
  executable('bench-library', 'main.c')
endif
""")
            subprocess.run(['meson', 'setup', directory, source], check=True,
                           stdout=subprocess.DEVNULL)
            wanted = ['always', 'bench-header', 'bench-library']
            self.assertEqual(list(build.all_targets(source, directory, wanted)), ['always'])
            with open(os.path.join(installed, 'peer.h'), 'w'):
                pass
            subprocess.run(['ar', 'rc', os.path.join(installed, 'libpeer.a')], check=True)
            # bench/meson.build searches in the same way; has_header is cached for good.
            with open(os.path.join(ROOT, 'bench', 'meson.build')) as file:
                self.assertNotRegex(file.read(), r'(\.has_header\(|has_headers:)')
            # An ordinary build does not search again.
            self.assertEqual(list(build.meson_targets(directory)), ['always'])
            self.assertEqual(sorted(build.all_targets(source, directory, wanted)), wanted)

    def test_bounds_can_be_passed(self):
        module = guard()

        class Counter:
            build = 'build'

            def all_futex(self):
                return [(('any', 'futex', 'fifo', 'pair'), 0.5)]

            def all_bytes(self):
                return [(('any', 'bytes', 'weir_sem'), 64)]

            def all_instructions(self):
                return []
        module.print = lambda *_: None
        module.has = lambda _: True
        self.assertEqual(module.check(Counter()), 1)


if __name__ == '__main__':
    unittest.main(verbosity=1)
