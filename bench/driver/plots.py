# SPDX-License-Identifier: MIT
"""Plots of a run, by gnuplot, as SVG."""
import os
import pathlib
import shutil
import subprocess

from . import plan, peers

SIZE = '900,{height}'
# weir stands out; the others differ by colour and dash.
COLOURS = ('#1f77b4', '#2ca02c', '#9467bd', '#8c564b', '#e377c2', '#7f7f7f',
           '#bcbd22', '#17becf', '#ff9f40')
WEIR_COLOURS = {'weir-fifo': '#c00000', 'weir-barging': '#ff5050'}


def line_style(name, number):
    if name in WEIR_COLOURS:
        return f'lw 3 lc rgb "{WEIR_COLOURS[name]}" pt 7 ps 0.6'
    colour = COLOURS[number % len(COLOURS)]
    dash = 1 + number // len(COLOURS)
    return f'lw 1.5 lc rgb "{colour}" dt {dash} pt 6 ps 0.4'


def quoted(text):
    return '"' + text.replace('\\', '').replace('"', '').replace('_', '\\\\_') + '"'


def lines_of(results, keys_by_x, metric='ns', value=lambda figure: figure.median):
    """{peer: [(x, y)]} over the workloads of keys_by_x."""
    found = {}
    for name in plan.main_peers():
        points = []
        for x, key in keys_by_x.items():
            figure = results.figure(key, name, metric)
            if figure:
                points.append((x, value(figure)))
        if len(points) > 1:
            found[name] = points
    return found


def curves(lines):
    """Data blocks and a plot command for {name: points}."""
    blocks, parts = [], []
    # weir last: on top of the others.
    ordered = sorted(lines.items(), key=lambda item: item[0] in WEIR_COLOURS)
    for number, (name, points) in enumerate(ordered):
        block = f'$line{number}'
        rows = '\n'.join(f'{x} {y:.6g}' for x, y in points)
        blocks.append(f'{block} << END\n{rows}\nEND')
        parts.append(f'{block} using 1:2 with linespoints '
                     f'{line_style(name, number)} title {quoted(name)}')
    return '\n'.join(blocks), 'plot ' + ', \\\n  '.join(parts)


def head(path, height):
    return (f'set terminal svg size {SIZE.format(height=height)} '
            'font "sans,11" background "white"\n'
            f'set output "{path}"\nset grid ytics lc rgb "#dddddd"\n')


def pair(results):
    """Bars, the fastest on top."""
    rows = []
    for peer in peers.ALL:
        figure = results.figure('pair', peer.name)
        # A peer that makes a system call would compress all other bars.
        if figure and figure.median < 150:
            rows.append((figure.median, figure.low, figure.high, peer.name))
    if not rows:
        return None
    rows.sort(reverse=True)
    data = '\n'.join(f'{y} {median:.3f} {low:.3f} {high:.3f} "{name}" '
                     f'{0xc00000 if name.startswith("weir") else 0x6090c0}'
                     for y, (median, low, high, name) in enumerate(rows))
    data = data.replace('_', '\\\\_')
    labels = ', '.join(f'{quoted(row[3])} {y}' for y, row in enumerate(rows))
    limit = results.figure('limits/add+add', 'limits')
    arrow = f'set arrow from {limit.median},-0.5 to {limit.median},' \
        f'{len(rows) - 0.5} nohead front dt 2 lc rgb "black"\n' if limit else ''
    return 120 + 22 * len(rows), (
        f'$bars << END\n{data}\nEND\nset ytics ({labels})\n{arrow}'
        f'set yrange [-0.6:{len(rows) - 0.4}]\nset xrange [0:*]\n'
        'set xlabel "ns for an acquire and a release, uncontended '
        '(dashed: two atomic adds)"\nunset key\n'
        'set style fill solid 0.85\n'
        'plot $bars using ($2/2):1:($2/2):(0.38):6 with boxxyerror '
        'lc rgb variable, $bars using 2:1:3:4 with xerrorbars lc rgb "black" '
        'pt 0')


def contended(results):
    """Throughput over threads: capacity 1, one panel for each section."""
    panels = []
    for section in plan.SECTIONS:
        keys = {threads: f'contended/{plan.cell(threads, 1, section)}'
                for threads in plan.THREADS}
        lines = lines_of(results, keys, value=lambda f: 1000 / f.median)
        if not lines:
            return None
        blocks, plot = curves(lines)
        panels.append(f'{blocks}\nset title "section of {section} ns"\n{plot}')
    return 1100, (
        'set multiplot layout 3,1\nset logscale x 2\nset logscale y\n'
        'set key outside right\nset xlabel "threads"\n'
        'set ylabel "million operations a second"\nset xtics (2,4,8,16,64)\n'
        'set xrange [1.8:72]\n' +
        '\n'.join(panels) + '\nunset multiplot')


def latency(results):
    """Duration of an acquire: percentiles up to the maximum."""
    key = f'latency/{plan.cell(16, 1, 1000)}'
    metrics = ('p50', 'p90', 'p99', 'p999', 'max')
    lines = {}
    for name in plan.main_peers():
        figures = [results.figure(key, name, metric) for metric in metrics]
        if all(figures):
            lines[name] = [(x, max(1, figure.median))
                           for x, figure in enumerate(figures)]
    if not lines:
        return None
    blocks, plot = curves(lines)
    return 520, (
        f'{blocks}\nset logscale y\nset key outside right\n'
        'set xtics ("50%%" 0, "90%%" 1, "99%%" 2, "99.9%%" 3, "longest" 4)\n'
        'set xrange [-0.2:4.2]\n'
        'set ylabel "ns to acquire"\n'
        'set xlabel "16 threads, capacity 1, section of 1 us"\n' + plot)


def growth(results, prefix, what):
    keys = {int(key.rpartition('/')[2]): key
            for key in results.workloads(prefix)}
    lines = lines_of(results, dict(sorted(keys.items())))
    if not lines:
        return None
    blocks, plot = curves(lines)
    return 460, (f'{blocks}\nset logscale xy\nset key outside right\n'
                 f'set xlabel "{what[0]}"\nset ylabel "{what[1]}"\n{plot}')


PLOTS = {
    'pair': pair,
    'contended': contended,
    'latency': latency,
    'waiters': lambda results: growth(
        results, 'waiters/', ('waiters', 'ns for each until all run')),
    'cancel': lambda results: growth(
        results, 'cancel-growth/', ('waiters', 'ns for each cancelled')),
    'semaphores': lambda results: growth(
        results, 'semaphores/', ('semaphores', 'ns for a pair')),
}


def draw(results, folder):
    """Returns the names of the plots drawn; prints a message for every other plot."""
    if not shutil.which('gnuplot'):
        print('bench: no plots: gnuplot is not installed (Debian: gnuplot-nox)')
        return []
    os.makedirs(folder, exist_ok=True)
    for name in PLOTS:
        # Remove the plots of an older run.
        pathlib.Path(folder, f'{name}.svg').unlink(missing_ok=True)
    drawn = []
    for name, make in PLOTS.items():
        made = make(results)
        if not made:
            continue
        height, script = made
        path = os.path.join(folder, f'{name}.svg')
        done = subprocess.run(['gnuplot'], input=head(path, height) + script +
                              '\n', text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        if done.returncode:
            print(f'bench: no plot {name}: {done.stdout.strip()}')
            pathlib.Path(path).unlink(missing_ok=True)
            continue
        with open(path, encoding='utf-8') as file:
            lines = [line.rstrip() for line in file]
        with open(path, 'w', encoding='utf-8') as file:
            file.write('\n'.join(lines) + '\n')
        drawn.append(name)
    return drawn
