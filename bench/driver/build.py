# SPDX-License-Identifier: MIT
"""Build the measuring programs; say which cannot be had, and why."""
import json
import os
import shutil
import subprocess

from . import peers


def last_words(said):
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    wrong = [line for line in lines if 'error' in line.lower()]
    return (wrong or lines or ['it said nothing'])[0][:200]


def attempt(command, **kwargs):
    """None if it worked, else why not."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, **kwargs)
    except OSError as error:
        return str(error)
    return None if done.returncode == 0 else last_words(done.stdout)


def meson_targets(directory):
    said = subprocess.run(['meson', 'introspect', '--targets', directory],
                          stdout=subprocess.PIPE, text=True, check=True)
    return {target['name']: target['filename'][0]
            for target in json.loads(said.stdout)
            if target['type'] == 'executable'}


def native(root, directory, wanted):
    """C and C++: those that meson offers, one by one so that one may fail."""
    programs, missing = {}, {}
    why = attempt([os.path.join(root, 'tools', 'build'), '-q', '-d', directory,
                   'gcc'])
    if why:
        raise SystemExit(f'bench: weir does not build: {why}')
    targets = meson_targets(directory)
    for program in wanted:
        if program not in targets:
            missing[program] = 'weir/sem.h has no WEIR_INLINE' \
                if 'inline' in program else \
                'its headers or its compiler are not there'
            continue
        why = attempt(['ninja', '-C', directory,
                       os.path.relpath(targets[program], directory)])
        if why:
            missing[program] = f'does not build: {why}'
        else:
            programs[program] = [targets[program]]
    return programs, missing


def go(source, work, tag):
    """Debian keeps Go's libraries as sources in one tree, without modules."""
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
    # A collector without threads of its own: nothing here makes garbage.
    return ['java', '-XX:+UseSerialGC', '-cp', target, 'Bench'], why


def tokio(source, work):
    """From Debian's sources of crates; a copy, for cargo writes beside them."""
    folder = os.path.join(work, 'tokio')
    shutil.copytree(os.path.join(source, 'tokio'), folder, dirs_exist_ok=True)
    crates = 'source.debian.directory="/usr/share/cargo/registry"'
    why = attempt(['cargo', 'build', '--release', '--offline',
                   '--config', 'source.crates-io.replace-with="debian"',
                   '--config', crates,
                   '--target-dir', os.path.join(folder, 'target')], cwd=folder)
    return [os.path.join(folder, 'target', 'release', 'tokio-bench')], why


def foreign(root, directory):
    """Other languages, by their own tools."""
    source = os.path.join(root, 'bench', 'peers')
    work = os.path.join(directory, 'bench')
    builds = {'go-xsync': lambda: go(source, work, 'xsync'),
              'go-channel': lambda: go(source, work, 'channel'),
              'java': lambda: java(source, work),
              'tokio': lambda: tokio(source, work)}
    programs, missing = {}, {}
    for name, build in builds.items():
        command, why = build()
        if why:
            missing[name] = f'does not build: {why}'
        else:
            programs[name] = command
    return programs, missing


def everything(root, directory):
    """({program: command}, {peer: why it is skipped})."""
    directory = os.path.abspath(directory)
    wanted = dict.fromkeys(peer.program for peer in peers.ALL
                           if peer.program.startswith('bench-'))
    programs, missing = native(root, directory, ['bench-limits',
                                                 'bench-processes', *wanted])
    more, lacking = foreign(root, directory)
    programs.update(more)
    missing.update(lacking)
    skipped = {}
    for peer in peers.ALL:
        if peer.program in programs:
            continue
        why = missing[peer.program]
        if peer.package:
            why += f' (Debian: {peer.package})'
        skipped[peer.name] = why
    for name in ('limits', 'processes'):
        if f'bench-{name}' in missing:
            skipped[name] = missing[f'bench-{name}']
    return programs, skipped
