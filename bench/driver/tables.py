# SPDX-License-Identifier: MIT
"""Tables of results, as plain text and as Markdown."""
from . import aims, plan, stats


def number(value):
    """Formats with three significant digits, and commas between thousands."""
    if value is None:
        return '-'
    if value >= 1000:
        return f'{value:,.0f}'
    if value >= 100:
        return f'{value:.0f}'
    if value >= 10:
        return f'{value:.1f}'
    return f'{value:.2f}' if value >= 1 else f'{value:.3f}'


def ratio(value):
    """Formats a ratio with three decimals: aims differ by hundredths."""
    return f'{value:.3f}' if value < 10 else number(value)


def ranged(figure):
    if not figure:
        return '-'
    return f'{number(figure.median)} ({number(figure.low)}-{number(figure.high)})'


def text(head, rows):
    """Formats a plain table; the first column is left-aligned."""
    widths = [max(len(str(row[i])) for row in [head, *rows])
              for i in range(len(head))]
    lines = []
    for row in [head, *rows]:
        cells = [str(row[0]).ljust(widths[0])]
        cells += [str(cell).rjust(width)
                  for cell, width in zip(row[1:], widths[1:])]
        lines.append('  '.join(cells).rstrip())
    return '\n'.join(lines)


def markdown(head, rows):
    lines = ['| ' + ' | '.join(map(str, head)) + ' |',
             '|---' + '|---:' * (len(head) - 1) + '|']
    lines += ['| ' + ' | '.join(map(str, row)) + ' |' for row in rows]
    return '\n'.join(lines)


def aim_rows(results, groups=None):
    """Returns one row for each aim."""
    rows = []
    for group, aim in aims.every():
        if groups and group not in groups:
            continue
        found, verdict = aim.judge(results)
        against = aim.against
        if against == 'best of the cell':
            key = aim.what.split(' ')[0]
            against = f'best: {aims.best_peer(key, results) or "-"}'
        sign = '>=' if aim.at_least else '<='
        floor = aim.floor_in(results)
        rows.append((aim.what, against,
                     ratio(found.median) if found else '-',
                     f'{ratio(found.low)}-{ratio(found.high)}' if found
                     else '-',
                     f'{sign} {aim.want:g}',
                     '-' if floor is None else f'{floor:.2g}', verdict))
    return rows


AIM_HEAD = ('aim', 'against', 'median', 'range', 'aim', 'floor', '')


def base_of(workload):
    """Returns the peer whose ratio is 1 in a table."""
    if workload == 'processes/command':
        return 'exec'
    if workload.startswith('processes/death/'):
        return 'SEM_UNDO'
    if workload.startswith('patterns/'):
        return {'chan': 'textbook-chan', 'rwlock': 'pthread-rwlock',
                'sharded': 'weir-barging-sem',
                'group': 'go-errgroup',
                'limit': 'go-rate'}[workload.split('/')[1]]
    return 'sem_t-shared' if workload.startswith('processes/') else 'sem_t'


def peer_rows(results, workload, metrics=('ns',)):
    """Returns the figures of each peer and its ratio to the base, the fastest first."""
    rows = []
    base_values = results.values(workload, base_of(workload))
    for name in results.peers(workload):
        values = results.values(workload, name)
        figures = [results.figure(workload, name, metric)
                   for metric in metrics]
        if not figures[0] or results.hung(workload, name):
            rows.append((float('inf'), (
                name, 'hung' if results.hung(workload, name) else 'failed',
                *['-'] * len(metrics))))
            continue
        over = stats.ratio(values, base_values)
        rows.append((figures[0].median,
                     (name, ranged(figures[0]),
                      *[number(figure.median) if figure else '-'
                        for figure in figures[1:]],
                      number(over.median) if over else '-')))
    return [row for _, row in sorted(rows, key=lambda row: row[0])]


def ns(figure):
    return figure.median


def mops(figure):
    """Million operations a second."""
    return 1000 / figure.median


def grid(results, prefix, peers, metric='ns', value=mops):
    """Returns a table of peers by cells."""
    keys = results.workloads(prefix)
    head = ('', *[key[len(prefix):].replace('/', ' ') for key in keys])
    rows = []
    for name in peers:
        figures = [results.figure(key, name, metric) for key in keys]
        if any(figures):
            rows.append((name, *[
                'hung' if results.hung(key, name) else
                number(value(figure)) if figure else '-'
                for key, figure in zip(keys, figures)]))
    return head, rows


def limits(results):
    rows = []
    for key, what in plan.LIMITS.items():
        found = results.figure(f'limits/{key}', 'limits')
        rows.append((what, ranged(found)))
    return ('limit', 'ns'), rows
