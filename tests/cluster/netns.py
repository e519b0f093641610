# SPDX-License-Identifier: MIT
"""Two machines on one: network namespaces that are joined by a pair of devices.

    netns.enter()               at the start of the program: a namespace of its own
    with Network() as net:      the other machine
        net.here, net.there     the addresses
        net.run("program")      words that run a program on the other machine
        net.cut() / net.heal()  the cable

The servers run here, with net.here as their host.  Nothing leaves the namespaces.
"""
import os
import shutil
import subprocess
import sys

from servers import await_

INSIDE = "WEIR_TEST_NAMESPACE"


def enter():
    """Start this program again in a namespace.  Without the permission: status 77."""
    if os.environ.get(INSIDE):
        return
    unshare = ["unshare", "--net"]
    if os.getuid():
        # The same user, because PostgreSQL refuses root, with capabilities in the namespace.
        unshare += ["--user", "--map-current-user", "--keep-caps"]
    missing = [tool for tool in ("ip", "unshare", "nsenter") if not shutil.which(tool)]
    probe = missing or subprocess.run(
        unshare + ["ip", "link", "add", "weir0", "type", "veth", "peer", "name", "weir1"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode
    if probe:
        print("skipped: partition: " +
              (f"needs {' '.join(missing)}" if missing else
               "network namespaces are not permitted"))
        sys.exit(77)
    os.execvpe("unshare", unshare + [sys.executable, *sys.argv], dict(os.environ, **{INSIDE: "1"}))


def ip(*words):
    subprocess.run(["ip", *words], check=True)


class Network:
    here, there = "10.9.0.1", "10.9.0.2"

    def __enter__(self):
        ip("link", "set", "lo", "up")
        # pylint: disable=consider-using-with
        self.other = subprocess.Popen(["unshare", "--net", "cat"], stdin=subprocess.PIPE)
        await_(lambda: os.readlink(f"/proc/{self.other.pid}/ns/net") !=
               os.readlink("/proc/self/ns/net"), "the other namespace")
        ip("link", "add", "weir0", "type", "veth", "peer", "name", "weir1")
        ip("link", "set", "weir1", "netns", str(self.other.pid))
        ip("address", "add", self.here + "/24", "dev", "weir0")
        ip("link", "set", "weir0", "up")
        for words in (("link", "set", "lo", "up"), ("link", "set", "weir1", "up"),
                      ("address", "add", self.there + "/24", "dev", "weir1")):
            subprocess.run(self.run("ip", *words), check=True)
        return self

    def __exit__(self, *_):
        self.other.stdin.close()
        self.other.wait()
        # The device vanishes with its peer, a moment after the namespace.
        await_(lambda: subprocess.run(["ip", "link", "show", "weir0"], check=False,
                                      stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL).returncode,
               "the end of the device")

    def run(self, *words):
        return ["nsenter", "--net", "-t", str(self.other.pid), *words]

    def cut(self):
        ip("link", "set", "weir0", "down")

    def heal(self):
        ip("link", "set", "weir0", "up")
