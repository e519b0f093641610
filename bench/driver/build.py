# SPDX-License-Identifier: MIT
"""Build the measuring programs; report which are not available, and why."""
import json
import os
import shutil
import subprocess
import time
from concurrent import futures

from . import peers


def first_error(output):
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    wrong = [line for line in lines if 'error' in line.lower()]
    return (wrong or lines or ['no output'])[0][:200]


def attempt(command, **kwargs):
    """Returns None on success, else the error."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, **kwargs)
    except OSError as error:
        return str(error)
    return None if done.returncode == 0 else first_error(done.stdout)


def meson_targets(directory):
    done = subprocess.run(['meson', 'introspect', '--targets', directory],
                          stdout=subprocess.PIPE, text=True, check=True)
    return {target['name']: target['filename'][0]
            for target in json.loads(done.stdout)
            if target['type'] == 'executable'}


def all_targets(root, directory, wanted):
    """The programs that meson offers.

    Meson caches failed searches for headers and libraries, so a peer that was installed
    after the directory was configured is missing.  If a program is missing, meson searches
    again without its cache.
    """
    targets = meson_targets(directory)
    if all(program in targets for program in wanted):
        return targets
    why = attempt(['meson', 'configure', '--clearcache', directory]) or \
        attempt(['meson', 'setup', '--reconfigure', directory, root])
    if why:
        raise SystemExit(f'bench: {directory} cannot be configured again: {why}')
    return meson_targets(directory)


def install_front(root, directory):
    """`make install` installs a static command in front of the full one if it can be built.

    The programs then measure that one, by $WEIR_COMMAND.
    """
    front = os.path.join(root, 'build-front')
    full = os.path.join(directory, 'src', 'cmd', 'weir')
    if not shutil.which('musl-gcc'):
        return
    why = attempt([os.path.join(root, 'tools', 'build'), '-q', '-d', front, 'static',
                   'src/cmd/weir'], env=dict(os.environ, WEIR_BUILD_FULL=full))
    if why:
        raise SystemExit(f'bench: the static command does not build: {why}')
    os.environ['WEIR_COMMAND'] = os.path.join(front, 'src', 'cmd', 'weir')


def native(root, directory, wanted):
    """The programs in C and C++ that meson offers; a single one may fail."""
    programs, missing = {}, {}
    # The weir command is also measured.
    why = attempt([os.path.join(root, 'tools', 'build'), '-q', '-d', directory,
                   'gcc', 'src/cmd/weir'])
    if why:
        raise SystemExit(f'bench: weir does not build: {why}')
    install_front(root, directory)
    targets = all_targets(root, directory, wanted)
    # All at once, which is faster; then one by one, to find out which failed.
    attempt(['ninja', '-C', directory, '-k', '0',
             *[os.path.relpath(targets[program], directory)
               for program in wanted if program in targets]])
    for program in wanted:
        if program not in targets:
            missing[program] = 'weir/sem.h has no WEIR_INLINE' \
                if 'inline' in program else \
                'its headers or its compiler are not installed'
            continue
        why = attempt(['ninja', '-C', directory,
                       os.path.relpath(targets[program], directory)])
        if why:
            missing[program] = f'does not build: {why}'
        else:
            programs[program] = [targets[program]]
    return programs, missing


def go(source, work, tag):
    """Debian installs Go libraries as sources in one tree, without modules."""
    target = os.path.join(work, f'go-{tag}')
    env = dict(os.environ, GO111MODULE='off', GOPATH='/usr/share/gocode',
               GOFLAGS='', GOCACHE=os.path.join(work, 'go-cache'))
    why = attempt(['go', 'build', '-tags', tag, '-o', target, '.'],
                  cwd=os.path.join(source, 'go'), env=env)
    return [target], why


def java(source, work):
    target = os.path.join(work, 'java')
    folder = os.path.join(source, 'java')
    files = sorted(os.path.join(folder, name) for name in os.listdir(folder))
    why = attempt(['javac', '-d', target, *files])
    # A collector without its own threads: the programs create no garbage.
    return ['java', '-XX:+UseSerialGC', '-cp', target, 'Bench'], why


def tokio(source, work):
    """Uses the crates of Debian.  Builds a copy: cargo writes beside the sources."""
    folder = os.path.join(work, 'tokio')
    shutil.copytree(os.path.join(source, 'tokio'), folder, dirs_exist_ok=True)
    crates = 'source.debian.directory="/usr/share/cargo/registry"'
    why = attempt(['cargo', 'build', '--release', '--offline',
                   '--config', 'source.crates-io.replace-with="debian"',
                   '--config', crates,
                   '--target-dir', os.path.join(folder, 'target')], cwd=folder)
    return [os.path.join(folder, 'target', 'release', 'tokio-bench')], why


def foreign(name, build):
    """A program in another language, built with its own tools.  Returns as native."""
    command, why = build()
    if why:
        return {}, {name: f'does not build: {why}'}
    return {name: command}, {}


def timed(seconds, name, build, *args):
    start = time.monotonic()
    built = build(*args)
    seconds[name] = time.monotonic() - start
    return built


def everything(root, directory):
    """Returns ({program: command}, {peer: why it is skipped}, {what: seconds})."""
    directory = os.path.abspath(directory)
    source = os.path.join(root, 'bench', 'peers')
    work = os.path.join(directory, 'bench')
    wanted = dict.fromkeys(peer.program for peer in peers.EVERY
                           if peer.program.startswith('bench-'))
    # In parallel: each build has phases that use only one CPU.
    os.makedirs(work, exist_ok=True)
    seconds, programs, missing = {}, {}, {}
    others = {'java': lambda: java(source, work),
              'tokio': lambda: tokio(source, work)}
    others.update({f'go-{tag}': lambda tag=tag: go(source, work, tag)
                   for tag in ('xsync', 'channel', 'rate')})
    with futures.ThreadPoolExecutor() as pool:
        builds = [pool.submit(timed, seconds, 'C', native, root, directory,
                              ['bench-limits', *wanted])]
        builds += [pool.submit(timed, seconds, name, foreign, name, build)
                   for name, build in others.items()]
        for build in builds:
            found, lacking = build.result()
            programs.update(found)
            missing.update(lacking)
    return programs, skipped(programs, missing), seconds


def skipped(programs, missing):
    found = {}
    for peer in peers.EVERY:
        if peer.program in programs:
            continue
        why = missing[peer.program]
        if peer.package:
            why += f' (Debian: {peer.package})'
        found[peer.name] = why
    if 'bench-limits' in missing:
        found['limits'] = missing['bench-limits']
    return found
