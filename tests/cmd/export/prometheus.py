# SPDX-License-Identifier: MIT
"""weir export with Prometheus: prometheus.py WEIR ALERTS PROMTOOL PROMETHEUS [TEST...]

promtool accepts the output and the rules, the rules fire when they should, and a real
Prometheus scrapes a server on loopback and answers queries.
"""
import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = ("WEIR_TEST_ALERTS", "WEIR_TEST_PROMTOOL", "WEIR_TEST_PROMETHEUS")
# The program runs again in a PID namespace, without these arguments.
if TOOLS[0] not in os.environ:
    for name in TOOLS:
        os.environ[name] = sys.argv.pop(2)
sys.path[1:1] = [os.path.dirname(HERE), HERE]
from support import *  # noqa: E402
import support  # noqa: E402
from server import Server, end_staged, staged  # noqa: E402

ALERTS, PROMTOOL, PROMETHEUS = (os.environ[name] for name in TOOLS)


def promtool(*args, data=None):
    done = subprocess.run([PROMTOOL, *args], input=data, env=ENV, capture_output=True,
                          text=True, timeout=LIMIT, cwd=support.DIR)
    return done.returncode, done.stdout + done.stderr


def test_promtool_accepts_the_metrics():
    jobs = staged()
    weir("open", 'quote"back\\slash', "-n", "1")
    status, out, err = weir("export", "--once")
    same((status, err), (0, ""))
    same(promtool("check", "metrics", data=out), (0, ""), "promtool check metrics")
    # It does find faults.
    check(promtool("check", "metrics", data=out.replace("gauge", "gauhe"))[0], "a wrong type")
    end_staged(jobs)


def test_promtool_accepts_the_rules():
    status, text = promtool("check", "rules", ALERTS)
    check(status == 0 and "SUCCESS: 8 rules found" in text, text)


def test_the_alerts_fire():
    """alerts.yml has series and the alerts that must fire at each time, and no others."""
    with open(os.path.join(HERE, "alerts.yml")) as file:
        text = file.read().replace("@ALERTS@", ALERTS)
    with open(path("alerts.yml"), "w") as file:
        file.write(text)
    status, out = promtool("test", "rules", path("alerts.yml"))
    same(status, 0, out)
    with open(path("alerts.yml"), "w") as file:
        file.write(text.replace("semaphore: lost", "semaphore: found"))
    check(promtool("test", "rules", path("alerts.yml"))[0], "a wrong expectation")


def listening_port(pid):
    """The port on which the process listens; None: it does not."""
    sockets = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            sockets.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except FileNotFoundError:
            pass    # closed meanwhile
    with open("/proc/net/tcp") as file:
        for words in map(str.split, file):
            # 0A: the state LISTEN
            if words[3] == "0A" and f"socket:[{words[9]}]" in sockets:
                return int(words[1].split(":")[1], 16)
    return None


class Prometheus:
    """A Prometheus on loopback that scrapes one target."""

    def __init__(self, target):
        config = {"global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
                  "rule_files": [ALERTS],
                  "scrape_configs": [{"job_name": "weir", "static_configs": [
                      {"targets": [f"127.0.0.1:{target}"]}]}]}
        with open(path("prometheus.yml"), "w") as file:
            json.dump(config, file)     # JSON is YAML
        self.log = open(path("prometheus.log"), "w")
        self.process = subprocess.Popen(
            [PROMETHEUS, "--config.file", path("prometheus.yml"),
             "--storage.tsdb.path", path("data"),
             "--web.listen-address", "127.0.0.1:0"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, env=ENV)

        def listens():
            check(self.process.poll() is None, read("prometheus.log"))
            return listening_port(self.process.pid)
        self.port = until(listens, "Prometheus listens")

    def ask(self, what):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v1/{what}",
                                        timeout=LIMIT) as reply:
                return json.load(reply)["data"]
        except (urllib.error.URLError, ConnectionError):
            check(self.process.poll() is None, read("prometheus.log"))
            return None

    def query(self, text):
        """{semaphore: value}; empty if there is no answer yet."""
        found = self.ask("query?" + urllib.parse.urlencode({"query": text}))
        return {one["metric"].get("semaphore"): float(one["value"][1])
                for one in found["result"]} if found else {}

    def __enter__(self):
        return self

    def __exit__(self, *rest):
        self.process.terminate()
        self.process.wait(LIMIT)
        self.log.close()


def test_prometheus_scrapes_it():
    jobs = staged()
    with Server() as server, Prometheus(server.port) as prometheus:
        until(lambda: prometheus.query("up") == {None: 1}, "the target is up")
        until(lambda: prometheus.query("weir_semaphore_waiters") == {"builds": 2, "idle": 0},
              "the waiters")
        # There is no answer for a moment if a scrape took longer than its timeout.
        until(lambda: prometheus.query(
            "weir_semaphore_permits - weir_semaphore_permits_available") ==
            {"builds": 2, "idle": 0}, "a calculation")
        until(lambda: prometheus.query("weir_semaphore_oldest_waiter_seconds > 0").keys() ==
              {"builds"}, "the oldest waiter")

        def health():
            target, = prometheus.ask("targets")["activeTargets"]
            return target["health"], target["lastError"]
        until(lambda: health() == ("up", ""), "no error")
        # The types arrive; Prometheus asks for OpenMetrics.
        known = prometheus.ask("metadata")
        same(known["weir_semaphore_oldest_waiter_seconds"][0]["type"], "gauge")
        same(known["weir_semaphore_oldest_waiter_seconds"][0]["unit"], "seconds")
        same(known["weir_build"][0]["type"], "info")
        group, = prometheus.ask("rules")["groups"]
        same(len(group["rules"]), 8, "rules")
        end_staged(jobs)
        until(lambda: prometheus.query("weir_semaphore_permits_available") ==
              {"builds": 3, "idle": 5}, "the end")
        # Prometheus knows the counter before the death.
        deaths = "weir_semaphore_reclaimed_permits_total"
        same(weir("open", "dies", "-n", "1")[0], 0)
        until(lambda: prometheus.query(deaths) == {"builds": 0, "idle": 0, "dies": 0}, "no death")
        same(weir("hold", "dies", "--while-pid", str(os.getpid()))[0], 0)
        os.kill(stat("dies")["entries"][0]["pid"], signal.SIGKILL)
        until(lambda: prometheus.query(f"increase({deaths}[5m]) > 0").keys() == {"dies"}, "a death")


if __name__ == "__main__":
    main()
