# SPDX-License-Identifier: MIT
"""The results of a run: stored as JSON, queried by workload and peer."""
import json
import os

from . import stats

NAME = 'results.json'


class Results:
    def __init__(self, about=None):
        self.about = about or {}    # machine, rounds, quick, when, skipped
        self.rows = []              # one for each measurement

    def add(self, workload, peer, round_, found):
        row = {'workload': workload.key, 'cpus': workload.cpus, 'peer': peer,
               'round': round_}
        row.update(found)
        self.rows.append(row)

    def save(self, folder):
        path = os.path.join(folder, NAME)
        with open(path + '.new', 'w', encoding='utf-8') as file:
            json.dump({'about': self.about, 'rows': self.rows}, file, indent=1)
            file.write('\n')
        os.replace(path + '.new', path)

    @classmethod
    def load(cls, folder):
        with open(os.path.join(folder, NAME), encoding='utf-8') as file:
            kept = json.load(file)
        results = cls(kept['about'])
        results.rows = kept['rows']
        return results

    def values(self, workload, peer, metric='ns'):
        """Returns {round: value}; only rounds with a measurement."""
        return {row['round']: row['values'][metric] for row in self.rows
                if row['workload'] == workload and row['peer'] == peer and
                row['status'] == 'ok' and metric in row['values']}

    def figure(self, workload, peer, metric='ns'):
        return stats.figure(self.values(workload, peer, metric))

    def peers(self, workload):
        """Returns the peers that support the workload, in the order of the rows."""
        names = {}
        for row in self.rows:
            if row['workload'] == workload and row['status'] != 'cannot':
                names[row['peer']] = None
        return list(names)

    def workloads(self, prefix=''):
        names = {}
        for row in self.rows:
            if row['workload'].startswith(prefix):
                names[row['workload']] = None
        return list(names)

    def hung(self, workload, peer):
        """Returns True if the peer hung in any round."""
        return any(row['workload'] == workload and row['peer'] == peer and
                   row['status'] == 'hung' for row in self.rows)

    def troubles(self):
        """Returns hangs and failures: (workload, peer, what), each once."""
        found = {}
        for row in self.rows:
            key = (row['workload'], row['peer'])
            if row['status'] == 'hung':
                found[key] = f'did not end within {row["limit"]} s'
            elif row['status'] == 'failed':
                found[key] = row['why']
        return [(*key, what) for key, what in found.items()]

    def disturbed(self):
        measured = [row for row in self.rows if row['status'] == 'ok']
        return sum(row['disturbed'] for row in measured), len(measured)
