# SPDX-License-Identifier: MIT
"""
Write docs/performance/<machine>/semaphores.md and patterns.md: the text is that of
bench/report/*.md, every figure is from the run.  A page without any measurement stays
unchanged.

In the template a line that begins with @ is replaced by the block that it names, and
{{...}} in a sentence by a figure:

    {{ns WORKLOAD PEER}}  {{ratio WORKLOAD PEER PEER}}  {{metric WORKLOAD PEER NAME}}
    {{mops WORKLOAD PEER}}  {{limit NAME}}  {{bytes WORKLOAD PEER}}
"""
import fnmatch
import os
import re

from . import aims, measure, plan, plots, peers, stats, tables

PATTERNS = ('Patterns',)
# Each page and its groups of aims.
PAGES = {'semaphores.md': tuple(group for group in aims.GROUPS
                                 if group not in PATTERNS),
         'patterns.md': PATTERNS}
NOT_MEASURED = 'Not measured in this run.'


class Report:
    def __init__(self, results, root, docs=None):
        self.results = results
        self.report = os.path.join(root, 'bench', 'report')
        # "processor" ends with the architecture in parentheses.
        machine = results.about['machine'].get('processor', '')
        self.folder = os.path.join(docs or os.path.join(root, 'docs'), 'performance',
                                   machine.rpartition('(')[2].rstrip(')') or 'unknown')
        self.drawn = []
        self.groups = ()                # groups of the current page
        self.unexplained = []

    # Figures in sentences.

    def figure_ns(self, workload, peer):
        return tables.number(self.median(workload, peer))

    def figure_metric(self, workload, peer, metric):
        return tables.number(self.median(workload, peer, metric))

    def figure_mops(self, workload, peer):
        median = self.median(workload, peer)
        return tables.number(1000 / median if median else None)

    def figure_limit(self, name):
        return tables.number(self.median(f'limits/{name}', 'limits'))

    def figure_ratio(self, workload, mine, theirs):
        found = stats.ratio(self.results.values(workload, mine),
                            self.results.values(workload, theirs))
        return tables.number(found.median if found else None)

    def median(self, workload, peer, metric='ns'):
        found = self.results.figure(workload, peer, metric)
        return found.median if found else None

    def figure(self, words):
        kind, *rest = words.split()
        found = getattr(self, f'figure_{kind}')(*rest)
        return found if found != '-' else '(not measured)'

    # Blocks.

    def block_machine(self):
        about = self.results.about
        rows = list(about['machine'].items())
        rows.append(('when', about['when']))
        rows.append(('rounds', about['rounds']))
        if about.get('quick'):
            rows.append(('form', 'quick: fewer cells, and shorter'))
        return tables.markdown(('', ''), rows).replace('---:', '---')

    def table(self, head, rows):
        """Returns a table, or a message instead of an empty table."""
        return tables.markdown(head, rows) if rows else NOT_MEASURED

    def block_limits(self):
        head, rows = tables.limits(self.results)
        return self.table(head, rows if self.results.workloads('limits/')
                          else [])

    def block_aims(self, *groups):
        rows = [(what, against, median, spread, want, floor,
                 verdict if verdict != 'short' else '**short**')
                for what, against, median, spread, want, floor, verdict
                in tables.aim_rows(self.results, groups)]
        return tables.markdown(tables.AIM_HEAD, rows)

    def block_verdict(self):
        rows = tables.aim_rows(self.results, self.groups)
        count = {verdict: sum(row[-1] == verdict for row in rows)
                 for verdict in ('met', 'short', 'not measured', 'peer hung')}
        hung = f', {count["peer hung"]} have no figure because the peer hung' \
            if count["peer hung"] else ''
        return f'Of {len(rows)} aims {count["met"]} are met, ' \
            f'{count["short"]} are short, ' \
            f'{count["not measured"]} were not measured{hung}.'

    def block_across(self, *keys):
        """One row for each peer, one column for each workload, medians in ns."""
        return self.across('ns', 'ns', keys)

    def block_cpu(self, *keys):
        """The same, CPU time."""
        return self.across('cpu', 'ns of CPU time', keys)

    def across(self, metric, title, keys):
        names = [name for name in peers.BY_NAME
                 if any(self.results.figure(key, name, metric)
                        for key in keys)]
        names.sort(key=lambda name: self.median(keys[0], name) or 1e12)
        rows = [(name, *['hung' if self.results.hung(key, name) else
                         self.figure_metric(key, name, metric)
                         for key in keys])
                for name in names]
        return self.table((title, *keys), rows)

    def block_peers(self, key, *metrics):
        metrics = metrics or ('ns',)
        head = ('', f'{metrics[0]} (range)', *metrics[1:],
                f'ns / {tables.base_of(key)}')
        return self.table(head, tables.peer_rows(self.results, key, metrics))

    def block_grid(self, prefix):
        return self.grid(tables.grid(self.results, prefix, plan.main_peers()))

    def block_grid_cpu(self, prefix):
        """CPU time in ns, instead of operations."""
        return self.grid(tables.grid(self.results, prefix, plan.main_peers(),
                                     'cpu', tables.ns))

    def grid(self, table):
        head, rows = table
        columns = list(zip(head, *rows))
        return self.table(columns[0], columns[1:])

    def block_fairness(self):
        """Fairness between threads, for the longest section."""
        keys = [key for key in self.results.workloads('contended/')
                if key.endswith('/c1/1000')]
        if not keys:
            return NOT_MEASURED
        rows = []
        for name in plan.main_peers():
            cells = []
            for key in keys:
                least = self.results.figure(key, name, 'min_max')
                jain = self.results.figure(key, name, 'jain')
                cells.append(f'{least.median:.2f} / {jain.median:.2f}'
                             if least else '-')
            rows.append((name, *cells))
        return tables.markdown(
            ('fewest/most / Jain', *[key.split('/')[1] for key in keys]), rows)

    def block_plot(self, name, *words):
        if name not in self.drawn:
            return f'(no plot of {name})'
        return f'![{" ".join(words)}]({name}.svg)'

    def block_skipped(self):
        skipped = self.results.about['skipped']
        if not skipped:
            return 'No peer was skipped.'
        return '\n'.join(f'- skipped: {name}: {why}'
                         for name, why in skipped.items())

    def block_troubles(self):
        found = [f'- {name}, {workload}: {what}'
                 for workload, name, what in self.results.troubles()]
        return '\n'.join(found) or 'No measurement hung or failed.'

    def block_quiet(self):
        disturbed, measured = self.results.disturbed()
        return f'{measured} measurements; ' \
            f'{self.results.about.get("repeats", 0)} were repeated because ' \
            f'other processes used more than {measure.DISTURBED:.0%} of the ' \
            f'CPUs, and {disturbed} remained disturbed.'

    def reasons(self):
        """Returns [(pattern, why)] in the order of the file."""
        found = []
        with open(os.path.join(self.report, 'reasons.txt'),
                  encoding='utf-8') as file:
            for block in file.read().split('\n\n'):
                lines = [line for line in block.splitlines()
                         if line and not line.startswith('#')]
                if lines:
                    found.append((lines[0], ' '.join(lines[1:])))
        return found

    def block_behind(self):
        """Every aim that is short, grouped by reason."""
        reasons = self.reasons()
        by_reason = {}
        measured = False
        for group, aim in aims.every():
            if group not in self.groups:
                continue
            found, verdict = aim.judge(self.results)
            measured = measured or bool(found)
            if verdict != 'short':
                continue
            against = aim.against
            if against == 'best of the cell':
                key = aim.what.split(' ')[0]
                against = aims.best_peer(key, self.results)
            name = f'{aim.what} / {against}'
            pattern = next((pattern for pattern, _ in reasons
                            if fnmatch.fnmatch(name, pattern)), None)
            if pattern is None:
                self.unexplained.append(name)
            by_reason.setdefault(pattern, []).append(
                f'  - {name}: {tables.ratio(found.median)}, '
                f'aim {aim.want:g}')
        why = dict(reasons)
        blocks = [f'- {self.fill(why.get(pattern, "Not explained yet."))}\n' +
                  '\n'.join(short) for pattern, short in by_reason.items()]
        if not measured:
            return NOT_MEASURED
        return '\n'.join(blocks) or 'Nowhere: all measured aims are met.'

    # Pages.

    def fill(self, text):
        return re.sub(r'\{\{(.*?)\}\}', lambda m: self.figure(m.group(1)), text)

    def is_measured(self, groups):
        return any(verdict in ('met', 'short') for *_, verdict
                   in tables.aim_rows(self.results, groups))

    def write_page(self, page):
        with open(os.path.join(self.report, page), encoding='utf-8') as file:
            template = file.read().splitlines()
        out = []
        for line in template:
            if line.startswith('@'):
                name, *rest = line[1:].split()
                out.append(getattr(self, f'block_{name}')(*rest))
            else:
                out.append(self.fill(line))
        path = os.path.join(self.folder, page)
        with open(path, 'w', encoding='utf-8') as file:
            file.write('\n'.join(out).rstrip() + '\n')
        return path

    def write(self):
        """Writes the pages; returns their paths."""
        written = []
        os.makedirs(self.folder, exist_ok=True)
        for page, groups in PAGES.items():
            if not self.is_measured(groups):
                continue
            if groups != PATTERNS:
                self.drawn = plots.draw(self.results, self.folder)
            self.groups = groups
            written.append(self.write_page(page))
        return written
