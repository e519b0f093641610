# SPDX-License-Identifier: MIT
"""Real servers for the tests: on loopback, on free ports, in temporary folders.

    with Redis() as server:
        server.url            "redis://127.0.0.1:34567/"
        server.kill()         SIGKILL
        server.start()        again, with the same data

A server whose program is not installed raises Skip.
"""
import atexit
import glob
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time


class Skip(Exception):
    """The reason why a test cannot run here."""


# Reservations of ports, held until this process ends.
RESERVED = []


def free_port():
    """Returns a port that no other test uses, also while its server is down.

    The ports are below those that the kernel gives to outgoing connections, so no client can
    get the port of a server that restarts.  Tests that run at the same time reserve a port by
    a socket in the abstract namespace, which vanishes with their process.
    """
    first, last = 10240, 32000
    for i in range(last - first):
        port = first + (os.getpid() * 97 + i) % (last - first)
        mark = socket.socket(socket.AF_UNIX)
        try:
            mark.bind(f"\0weir-test-port-{port}")
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("0.0.0.0", port))
        except OSError:
            mark.close()
            continue
        RESERVED.append(mark)
        return port
    raise AssertionError("no free port")


def await_(condition, what, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("never: " + what)
        time.sleep(0.01)


def accepts(port):
    with socket.socket() as s:
        s.settimeout(1)
        return s.connect_ex(("127.0.0.1", port)) == 0


class Server:
    """A process of its own, ended with the `with` block."""
    preload = None
    host = "127.0.0.1"          # of the URL; servers listen on loopback as well
    # Tests do not measure the disk.  A benchmark may: WEIR_TEST_DIR.
    where = os.environ.get("WEIR_TEST_DIR") or \
        ("/dev/shm" if os.access("/dev/shm", os.W_OK) else None)

    programs = ()               # that the class runs
    marks = ()                  # of operations, for the proxy

    def __init__(self):
        missing = [name for name in self.programs if not shutil.which(name)]
        if missing:
            raise Skip("needs " + ", ".join(missing))
        self.dir = tempfile.mkdtemp(prefix="weir-", dir=self.where)
        self.port = free_port()
        self.process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.kill()
        shutil.rmtree(self.dir, ignore_errors=True)

    def command(self):
        raise NotImplementedError

    def ready(self):
        return accepts(self.port)

    def start(self):
        env = dict(os.environ, **({"LD_PRELOAD": self.preload} if self.preload else {}))
        with open(self.dir + "/log", "ab") as log:
            # pylint: disable=subprocess-popen-preexec-fn,consider-using-with
            self.process = subprocess.Popen(self.command(), stdout=log, stderr=log,
                                            stdin=subprocess.DEVNULL, cwd=self.dir, env=env)
        try:
            await_(lambda: self.process.poll() is not None or self.ready(), "the server is ready")
            assert self.process.poll() is None, open(self.dir + "/log").read()[-2000:]
        except AssertionError:
            self.kill()
            raise

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
        if self.process:
            self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)


class Redis(Server):
    programs = ("redis-server", "redis-cli")
    marks = (b"EVALSHA",)       # of operations, for the proxy

    def __init__(self, *options, appendfsync="always"):
        super().__init__()
        self.options = list(options)
        self.appendfsync = appendfsync
        self.url = f"redis://{self.host}:{self.port}/"

    def command(self):
        aof = (["--appendonly", "yes", "--appendfsync", self.appendfsync]
               if self.appendfsync else ["--appendonly", "no"])
        return (["redis-server", "--port", str(self.port), "--bind",
                 *sorted({"127.0.0.1", self.host}), "--protected-mode", "no",
                 "--save", "", "--dir", self.dir] + aof + self.options)

    def ready(self):
        return accepts(self.port) and ("PONG" in self.cli("PING") or
                                       "NOAUTH" in self.cli("PING"))

    def cli(self, *words):
        done = subprocess.run(["redis-cli", "-p", str(self.port), *map(str, words)],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return done.stdout.decode(errors="replace").strip()

    def calls(self):
        """The number of calls of each command since the last CONFIG RESETSTAT."""
        counts = {}
        for line in self.cli("INFO", "commandstats").splitlines():
            if line.startswith("cmdstat_"):
                name, rest = line[8:].split(":", 1)
                counts[name] = int(rest.split("calls=")[1].split(",")[0])
        return counts


class Etcd(Server):
    """One member; `cluster` starts three."""
    programs = ("etcd", "etcdctl")

    def __init__(self, name="m", peers=None, peer_port=None):
        super().__init__()
        self.name = name
        self.peer_port = peer_port or free_port()
        self.peers = peers
        self.state = "new"
        self.url = f"etcd://{self.host}:{self.port}/"

    def command(self):
        here = ",".join(f"http://{host}:{self.port}"
                        for host in sorted({"127.0.0.1", self.host}))
        peer = f"http://127.0.0.1:{self.peer_port}"
        return ["env", "ETCD_UNSUPPORTED_ARCH=arm64", "etcd", "--name", self.name,
                "--data-dir", self.dir + "/data", "--listen-client-urls", here,
                "--advertise-client-urls", here, "--listen-peer-urls", peer,
                "--initial-advertise-peer-urls", peer, "--initial-cluster",
                self.peers or f"{self.name}={peer}", "--initial-cluster-state", self.state,
                "--heartbeat-interval", "100", "--election-timeout", "1000"]

    def ready(self):
        return accepts(self.port) and (self.peers is not None or self.ctl("get", "x") == "")

    def ctl(self, *words):
        done = subprocess.run(["etcdctl", "--endpoints", f"127.0.0.1:{self.port}", *words],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              env=dict(os.environ, ETCDCTL_API="3"))
        return done.stdout.decode(errors="replace").strip()


def postgres_bin():
    """The folder of the newest PostgreSQL; Debian does not put it into PATH."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"),
                   key=lambda path: int(path.split("/")[4]))
    return found[-1] if found else os.path.dirname(shutil.which("postgres") or "/nonexistent/x")


class Postgres(Server):
    """Runs as another user if this is root: PostgreSQL refuses root.  initdb takes seconds, so
    the data of the first server is kept as a template."""
    templates = {}              # (auth, password): folder
    marks = (b"weir.acquire", b"weir.release", b"weir.renew",
             b"\0a\0\0\0", b"\0r\0\0\0", b"\0n\0\0\0")    # prepared
    programs = tuple(postgres_bin() + "/" + name for name in ("postgres", "initdb", "psql"))

    def __init__(self, *options, auth="trust", password=None):
        super().__init__()
        self.options = list(options)
        self.bin = postgres_bin()
        self.ids = {}
        if os.getuid() == 0:
            user = next(u for u in pwd.getpwall() if u.pw_name in ("postgres", "nobody"))
            self.ids = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
            os.chown(self.dir, user.pw_uid, user.pw_gid)
        self.data = self.dir + "/data"
        self.password = password
        if (auth, password) not in self.templates:
            self.templates[auth, password] = self.make_template(auth, password)
        subprocess.run(["cp", "-a", self.templates[auth, password] + "/data", self.data],
                       check=True)
        if self.host != "127.0.0.1":
            with open(self.data + "/pg_hba.conf", "a", encoding="ascii") as file:
                file.write(f"host all all {self.host}/24 {auth}\n")
        self.url = f"postgresql://weir@{self.host}:{self.port}/postgres/"

    def make_template(self, auth, password):
        template = tempfile.mkdtemp(prefix="weir-", dir=self.where)
        atexit.register(shutil.rmtree, template, ignore_errors=True)
        if self.ids:
            os.chown(template, self.ids["user"], self.ids["group"])
        words = [self.bin + "/initdb", "-D", template + "/data", "-U", "weir", "-A", auth, "-N",
                 "--locale=C", "-E", "UTF8"]
        if password:
            with open(template + "/pw", "w", encoding="ascii") as file:
                file.write(password + "\n")
            words += ["--pwfile", template + "/pw"]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              cwd=template, env=dict(os.environ, LC_ALL="C"), **self.ids)
        assert done.returncode == 0, done.stdout.decode()
        return template

    def command(self):
        words = [self.bin + "/postgres", "-D", self.data, "-h",
                 ",".join(sorted({"127.0.0.1", self.host})), "-p", str(self.port),
                 "-k", "", "-c", "max_connections=200", "-c", "shared_buffers=32MB"]
        for option in self.options:
            words += ["-c", option]
        return words

    def start(self):
        """After a crash the processes of the old server may live for a moment."""
        env = dict(os.environ, LC_ALL="C", **({"LD_PRELOAD": self.preload}
                                              if self.preload else {}))
        for attempt in range(20):
            with open(self.dir + "/log", "ab") as log:
                # pylint: disable=consider-using-with
                self.process = subprocess.Popen(self.command(), stdout=log, stderr=log,
                                                stdin=subprocess.DEVNULL, cwd=self.dir,
                                                env=env, **self.ids)
            await_(lambda: self.process.poll() is not None or self.ready(), "the server is ready")
            if self.process.poll() is None:
                return
            time.sleep(0.1)
        raise AssertionError(open(self.dir + "/log", encoding="utf-8").read()[-2000:])

    def ready(self):
        return subprocess.run([self.bin + "/pg_isready", "-q", "-h", "127.0.0.1", "-p",
                               str(self.port)], check=False).returncode == 0

    def sql(self, text):
        done = subprocess.run([self.bin + "/psql", "-XAtq", "-h", "127.0.0.1", "-p",
                               str(self.port), "-U", "weir", "-d", "postgres", "-c", text],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              env=dict(os.environ, PGPASSWORD=self.password or ""))
        return done.stdout.decode(errors="replace").strip()

    def __exit__(self, *words):
        """An immediate shutdown also ends the server's processes."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(signal.SIGQUIT)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                pass
        super().__exit__(*words)


ENGINES = {"redis": Redis, "etcd": Etcd, "postgres": Postgres}
