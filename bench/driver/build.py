# SPDX-License-Identifier: MIT
"""Build the measuring programs; say which cannot be had, and why."""
import json
import os
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
            missing[program] = 'its headers or its compiler are not there'
            continue
        why = attempt(['ninja', '-C', directory,
                       os.path.relpath(targets[program], directory)])
        if why:
            missing[program] = f'does not build: {why}'
        else:
            programs[program] = [targets[program]]
    return programs, missing


def everything(root, directory):
    """
    ({program: command}, {peer: why it is skipped}).  Programs in C and C++ are
    called bench-*.
    """
    directory = os.path.abspath(directory)
    wanted = dict.fromkeys(peer.program for peer in peers.ALL)
    programs, missing = native(
        root, directory,
        ['bench-limits', *[name for name in wanted
                           if name.startswith('bench-')]])
    skipped = {}
    for peer in peers.ALL:
        if peer.program in programs:
            continue
        why = missing.get(peer.program, 'it is not built')
        if peer.package:
            why += f' (Debian: {peer.package})'
        skipped[peer.name] = why
    if 'bench-limits' in missing:
        skipped['limits'] = missing['bench-limits']
    return programs, skipped
