# SPDX-License-Identifier: MIT
"""The peers, and the programs that measure them."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Peer:
    name: str           # in tables and results
    program: str        # its file in the build directory, or the name of its build
    kind: str = ''      # kind=, where one program has several forms
    package: str = ''   # Debian package
    warm: int = 10      # ms of warm-up before a contended measurement
    pins: bool = True   # can pin a thread to a CPU
    tasks: bool = False  # tasks of a runtime, not threads of the system


def weir(kind, form, suffix):
    return Peer(f'weir-{kind}{suffix}', f'bench-weir-{form}', kind)


KINDS = ('fifo', 'barging', 'signal')
# The shared library, which most users have, has no suffix.
FORMS = {'shared': '', 'static': '-static', 'inline': '-inline',
         'inline-native': '-inline-native'}

WEIR = [weir(kind, form, suffix)
        for form, suffix in FORMS.items() for kind in KINDS]
# Each kind as a shared library, and the fastest form.
WEIR_QUICK = [peer for peer in WEIR
              if peer.program == 'bench-weir-shared' or
              peer.name == 'weir-signal-inline-native']
# Holders are recorded; only for the uncontended pair.
WEIR_WATCHED = [weir('watched', form, FORMS[form])
                for form in ('shared', 'inline')]
WEIR_MAIN = ['weir-fifo', 'weir-barging']
# Operations instead of threads; only for workloads with a number of waiters.
WEIR_OPS = weir('ops', 'shared', '')

OTHERS = [
    Peer('sem_t', 'bench-sem_t', package='libc6-dev'),
    Peer('libuv', 'bench-libuv', package='libuv1-dev'),
    Peer('std', 'bench-std', package='g++'),
    Peer('moodycamel', 'bench-moodycamel', package='libconcurrentqueue-dev'),
    Peer('nsync', 'bench-nsync', package='libnsync-dev'),
    Peer('semop', 'bench-semop', package='libc6-dev'),
    Peer('mutex-cond', 'bench-mutex-cond', package='libc6-dev'),
    Peer('xsync-c', 'bench-xsync-c', package='libc6-dev'),
    Peer('go-xsync', 'go-xsync',
         package='golang-go, golang-golang-x-sync-dev', pins=False,
         tasks=True),
    Peer('go-channel', 'go-channel', package='golang-go', pins=False,
         tasks=True),
    Peer('java-fair', 'java', 'fair', 'default-jdk-headless', warm=150,
         pins=False),
    Peer('java-unfair', 'java', 'unfair', 'default-jdk-headless', warm=150,
         pins=False),
    Peer('tokio', 'tokio', package='rustc, cargo, librust-tokio-dev',
         pins=False, tasks=True),
]
# Header-only peers: measured with the compiler's defaults, and for this machine.
NATIVE = [
    Peer('std-native', 'bench-std-native', package='g++'),
    Peer('moodycamel-native', 'bench-moodycamel-native',
         package='libconcurrentqueue-dev'),
]

THREADED = WEIR + OTHERS + NATIVE
ALL = THREADED + WEIR_WATCHED + [WEIR_OPS]

# Between processes.  Here, too, the names of weir's peers begin with weir.
BETWEEN = [Peer(name, 'bench-processes', kind, package)
           for name, kind, package in (
               ('weir-named', 'named', ''),
               ('weir-named-strict', 'named-strict', ''),
               ('sem_t-shared', 'sem_t', 'libc6-dev'),
               ('semop-plain', 'semop', 'libc6-dev'),
               ('SEM_UNDO', 'undo', 'libc6-dev'),
               ('flock', 'flock', 'libc6-dev'))]
COMMANDS = [Peer(name, 'bench-processes', kind, package)
            for name, kind, package in (
                ('weir-run', 'weir-run', ''),
                ('flock-run', 'flock-run', 'util-linux'),
                ('gnu-sem', 'sem-run', 'parallel'),
                ('exec', 'exec', ''))]
LISTING = [Peer('weir-ls', 'bench-processes', 'weir-ls')]

# Patterns.  Peers in other languages are further workloads of their programs.
GO, RUST = 'golang-go', 'rustc, cargo, librust-tokio-dev'
CHANNELS = [
    Peer('weir-chan', 'bench-patterns', 'weir'),
    Peer('weir-chan-batch', 'bench-patterns', 'weir-batch'),
    Peer('textbook-chan', 'bench-patterns', 'textbook', 'libc6-dev'),
    Peer('go-chan', 'go-channel', package=GO, tasks=True),
    Peer('java-chan', 'java', package='default-jdk-headless', warm=200),
    Peer('tokio-mpsc', 'tokio', package=RUST, tasks=True),
]
# Threads; the busy threads beside them are in the same program.
CHANNELS_IN_C = [peer for peer in CHANNELS
                 if peer.name in ('weir-chan', 'textbook-chan')]
RWLOCKS = [
    Peer('weir-rwlock', 'bench-patterns', 'weir'),
    Peer('weir-rwlock-fifo', 'bench-patterns', 'weir-fifo'),
    Peer('pthread-rwlock', 'bench-patterns', 'pthread', 'libc6-dev'),
]
SHARDED = [
    Peer('weir-sharded', 'bench-patterns', 'weir'),
    Peer('weir-barging-sem', 'bench-patterns', 'sem'),
]
# Semaphores that let newcomers pass, as the sharded semaphore does.
SHARDED_OTHERS = [peer for peer in OTHERS if peer.name in (
    'sem_t', 'std', 'moodycamel', 'nsync', 'java-unfair', 'go-xsync', 'tokio')]
TASK_GROUPS = [
    Peer('weir-group', 'bench-patterns'),
    Peer('go-errgroup', 'go-xsync',
         package=f'{GO}, golang-golang-x-sync-dev', tasks=True),
    Peer('tokio-joinset', 'tokio', package=RUST, tasks=True),
]
RATES = [
    Peer('weir-limit', 'bench-patterns'),
    Peer('go-rate', 'go-rate', package=f'{GO}, golang-golang-x-time-dev'),
]
PATTERNS = CHANNELS + RWLOCKS + SHARDED + TASK_GROUPS + RATES

EVERY = ALL + BETWEEN + COMMANDS + LISTING + PATTERNS
BY_NAME = {peer.name: peer for peer in EVERY}
