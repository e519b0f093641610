# SPDX-License-Identifier: MIT
"""The machine of a run, and its use by other processes."""
import os
import platform
import re
import subprocess

TICK_HZ = os.sysconf('SC_CLK_TCK')


def first_line(*command):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = done.stdout.strip().splitlines()
    return lines[0] if done.returncode == 0 and lines else None


def read(path):
    try:
        with open(path, encoding='utf-8') as file:
            return file.read().strip()
    except OSError:
        return ''


def package(name):
    """Returns the version of a Debian package, or None."""
    return first_line('dpkg-query', '-W', '-f=${Version}\n', name)


def cpu_model():
    for line in (first_line('sh', '-c', 'lscpu | grep "Model name"') or '',
                 read('/proc/cpuinfo')):
        found = re.search(r'[Mm]odel name\s*:\s*(.+)', line)
        if found:
            return found.group(1).strip()
    return platform.machine()


def describe():
    memory = re.search(r'MemTotal:\s*(\d+)', read('/proc/meminfo'))
    facts = {
        'processor': f'{cpu_model()} ({platform.machine()})',
        'cpus': len(os.sched_getaffinity(0)),
        'memory': f'{int(memory.group(1)) / 2**20:.1f} GiB' if memory else None,
        'kernel': f'{platform.system()} {platform.release()}',
        'C library': ' '.join(platform.libc_ver()),
        'compiler': first_line('gcc', '--version'),
        'libuv': package('libuv1-dev'),
        'nsync': package('libnsync-dev'),
        'moodycamel': package('libconcurrentqueue-dev'),
        'Go': first_line('go', 'version'),
        'x/sync': package('golang-golang-x-sync-dev'),
        'x/time': package('golang-golang-x-time-dev'),
        'Java': first_line('java', '--version'),
        'Rust': first_line('rustc', '--version'),
        'tokio': package('librust-tokio-dev'),
        'frequency governor':
            read('/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor'),
    }
    return {key: value for key, value in facts.items() if value}


def busy_ticks(cpus):
    """Returns the busy ticks of these CPUs, including those of the host (steal)."""
    total = 0
    for line in read('/proc/stat').splitlines():
        name, *ticks = line.split()
        if not re.fullmatch(r'cpu\d+', name) or int(name[3:]) not in cpus:
            continue
        user, nice, system, _idle, _iowait, irq, softirq, steal = map(
            int, ticks[:8])
        total += user + nice + system + irq + softirq + steal
    return total
