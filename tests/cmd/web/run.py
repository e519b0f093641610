# SPDX-License-Identifier: MIT
"""weir web without a browser: run.py WEIR http|none CROWD HANG... [-- TEST...]

The data, the headers, the errors, hostile names and hosts.  C49: the page reads a process
as weir explain does; C50: it shows the same verdict.
"""
import base64
import hashlib
import html.parser
import json
import os
import re
import signal
import socket
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# The program runs again in a PID namespace, without these arguments.
if "WEIR_TEST_WEB" not in os.environ:
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    os.environ["WEIR_TEST_WEB"] = sys.argv[2]
    os.environ["WEIR_TEST_CROWD"] = os.path.abspath(sys.argv[3])
    os.environ["WEIR_TEST_HANGS"] = ":".join(map(os.path.abspath, sys.argv[4:end]))
    sys.argv[2:end + 1] = []
sys.path[1:1] = [os.path.dirname(HERE), HERE]
from support import *  # noqa: E402
import support  # noqa: E402
import server as server_module  # noqa: E402
from server import crowd, hang  # noqa: E402

HAS_HTTP = os.environ["WEIR_TEST_WEB"] == "http"
HOSTILE = "<img src=x onerror=alert(1)>"


def Server(*args, **more):
    if not HAS_HTTP:
        raise Skipped("built without libmicrohttpd")
    return server_module.Server(*args, **more)


def model_of(data, pid):
    found, = (one for one in data["processes"] if one["what"] == pid)
    return found["model"]


def without_times(value):
    """Leave out what changes from one reading to the next."""
    if isinstance(value, dict):
        return {key: without_times(one) for key, one in value.items()
                if not key.endswith("_ns") and key != "report"}
    return [without_times(one) for one in value] if isinstance(value, list) else value


def test_the_data_is_that_of_explain():
    for name in ("hang-timeout", "hang-nested", "hang-leak", "hang-kept"):
        with hang(name) as program, Server(program.pid) as server:
            data = server.data()
            same([one["what"] for one in data["processes"]], [program.pid], name)
            same(data["failed"], [], name)
            explained = json.loads(weir("explain", program.pid, "--json")[1])
            same(without_times(model_of(data, program.pid)), without_times(explained), name)
            same(data["weir"], weir("--version")[1].split()[1])


def test_a_deadlock():
    with hang("hang-timeout") as program, Server(program.pid) as server:
        model = model_of(server.data(), program.pid)
        same(model["verdict"], "DEADLOCK")
        group, = model["groups"]
        check(group["report"].startswith("weir: DEADLOCK until a timeout  2 contexts"), group)
        objects = {one["name"]: one for one in model["objects"]}
        same(sorted(objects), ["replies", "slots"])
        for one in objects.values():
            same((one["verdict"], one["free"], one["waiting"]), ("DEADLOCK", 0, 1))
            holder, = one["holders"]
            waiter, = one["waiters"]
            check(holder["context"] != waiter["context"], one)
            check(one["id"] != "0x0", one)
        same({(one["name"], one["verdict"], one["group"]) for one in model["contexts"]},
             {("client", "DEADLOCK", 1), ("service", "DEADLOCK", 1)})


def test_all_processes_and_named_semaphores():
    weir("open", "builds", "-n", "3")
    with hang("hang-timeout") as one, crowd(3) as other, Server() as server:
        data = server.data()
        check({one.pid, other.pid} <= {found["what"] for found in data["processes"]}, data)
        named = model_of(data, "named semaphores")
        same([found["name"] for found in named["objects"]], ["builds"])
        other.end()
        until(lambda: other.pid not in {found["what"] for found in server.data()["processes"]},
              "the process is gone")


def test_the_folder_of_names_is_removed():
    names = path("names")
    os.mkdir(names)
    ENV["WEIR_DIR"] = names
    with crowd(1) as program, Server() as server:
        os.rmdir(names)
        # Without a PID namespace, processes of other tests may fail as well.
        failure, = until(lambda: [one for one in server.data()["failed"]
                                  if one["what"] == "named semaphores"], "a failure")
        same(failure["ended"], False)
        check(model_of(server.data(), program.pid)["objects"], "the process is shown")


def test_the_symbols_are_kept_between_requests():
    """The second answer has the same call sites, also after a process has changed."""
    with crowd(2, "held") as program, Server(program.pid) as server:
        def sites():
            return {one["name"]: one["holders"][0].get("site") or one["holders"][0]["pc"]
                    for one in model_of(server.data(), program.pid)["objects"] if one["holders"]}
        first = sites()
        same(list(first), ["held"])
        same(sites(), first)
        program.do(1)
        until(lambda: list(sites()) == ["s1", "held"], "the new holder")
        same(sites()["held"], first["held"])


def test_a_process_that_ends():
    with crowd(1) as program, hang("hang-kept") as other, Server(program.pid, other.pid) as server:
        # It loses its memory, is a zombie, and then nothing is left of it.
        kill(int(program.pid))
        until(lambda: [(one["what"], one["ended"]) for one in server.data()["failed"]] ==
              [(program.pid, True)], "the death is seen")
        program.process.communicate()
        until(lambda: server.data()["failed"] == [
            {"what": program.pid, "why": f"{program.pid}: no such process", "ended": True}], "the reason")
        same([one["what"] for one in server.data()["processes"]], [other.pid])


def test_a_dump_file():
    with hang("hang-nested") as program:
        with open(path("hang.weir"), "wb") as file:
            subprocess.run([support.WEIR, "dump", program.pid], stdout=file, env=ENV, check=True)
    with Server(path("hang.weir")) as server:
        model = model_of(server.data(), path("hang.weir"))
        same((model["verdict"], len(model["contexts"])), ("DEADLOCK", 3))


def test_headers():
    with crowd(1) as program, Server(program.pid) as server:
        for where in ("", "data.json", "nosuch"):
            _, headers, _ = server.get(where)
            for name, value in (("X-Content-Type-Options", "nosniff"), ("Cache-Control", "no-store"),
                                ("Cross-Origin-Resource-Policy", "same-origin"),
                                ("Referrer-Policy", "no-referrer"), ("Connection", "close")):
                same(headers[name], value, (where, name))
            check("Access-Control-Allow-Origin" not in headers, headers)
            check("default-src 'none'" in headers["Content-Security-Policy"], headers)


class Page(html.parser.HTMLParser):
    """Collects the styles, the scripts and every attribute."""

    def __init__(self, text):
        super().__init__()
        self.texts = {"style": [], "script": []}
        self.attributes = []
        self.tag = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tag = tag
        self.attributes += [(tag, *one) for one in attrs]
        if tag in self.texts:
            self.texts[tag].append("")

    def handle_endtag(self, tag):
        self.tag = None

    def handle_data(self, data):
        if self.tag in self.texts:
            self.texts[self.tag][-1] += data


def test_the_page_is_self_contained():
    with crowd(1) as program, Server(program.pid) as server:
        status, headers, body = server.get()
    same((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"))
    with open(os.path.join(HERE, "../../../src/cmd/web/page.html"), encoding="utf-8") as file:
        same(body, file.read(), "the page")
    page = Page(body)
    policy = headers["Content-Security-Policy"]
    check("unsafe" not in policy and "http:" not in policy, policy)
    for kind, texts in page.texts.items():
        check(texts, kind)
        for text in texts:
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            check(re.search(rf"{kind}-src [^;]*'sha256-{re.escape(digest)}'", policy), (kind, policy))
    for tag, name, value in page.attributes:
        check(name not in ("src", "style", "action") and not name.startswith("on"), (tag, name))
        check(name != "href" or value == "data:,", (tag, value))
    # Names are never parsed as HTML.
    script = "".join(page.texts["script"])
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(",
                 "DOMParser", "createContextualFragment", "new Function"):
        check(word not in script, word)


def test_hosts():
    """Only these names: a site whose name resolves to 127.0.0.1 gets no data."""
    with crowd(1) as program, Server(program.pid) as server:
        for host, want in ((f"127.0.0.1:{server.port}", 200), ("127.0.0.1", 200), ("localhost", 200),
                           ("LOCALHOST:8080", 200), ("evil.example", 403),
                           (f"evil.example:{server.port}", 403), ("127.0.0.1.evil.example", 403),
                           ("localhost.evil.example", 403), ("127.0.0.1:80@evil.example", 403),
                           ("127.0.0.2", 403), ("192.0.2.1", 403), ("[::1]:1", 403), ("[::1", 403),
                           ("0.0.0.0", 403), ("", 403), ("x" * 5000, 403), ("localhost:", 200),
                           ("localhost:x", 403), ("2130706433", 403)):
            for where in ("", "data.json", "nosuch"):
                status, _, body = server.get(where, Host=host)
                same(status, 404 if want == 200 and where == "nosuch" else want, (host, where))
                check(want == 200 or "processes" not in body, body)
        with socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT) as old:
            old.sendall(b"GET /data.json HTTP/1.0\r\n\r\n")
            check(b" 403 " in old.recv(100), "no Host at all")


def test_hosts_of_other_addresses():
    with crowd(1) as program:
        with Server(program.pid, "--allow-remote", address="0.0.0.0:0") as server:
            for host, want in (("192.0.2.7:9465", 200), ("[2001:db8::1]", 200), ("localhost", 200),
                               ("evil.example", 403), ("192.0.2.7.evil.example", 403)):
                server.url = f"http://127.0.0.1:{server.port}/{server.key}/"
                same(server.get(Host=host)[0], want, host)
        with Server(program.pid, address="127.0.0.2:0") as server:
            for host, want in (("127.0.0.2", 200), ("127.0.0.1", 200), ("127.0.0.3", 403)):
                same(server.get(Host=host)[0], want, host)
        try:
            with socket.socket(socket.AF_INET6) as six:
                six.bind(("::1", 0))
        except OSError:
            print("skipped: no IPv6 on this host")
            return
        with Server(program.pid, address="[::1]:0") as server:
            for host, want in (("[::1]:1", 200), ("[0:0:0:0:0:0:0:1]", 200), ("localhost", 200),
                               ("[::2]", 403), ("127.0.0.1", 403), ("evil.example", 403)):
                same(server.get(Host=host)[0], want, host)


def test_key():
    """Another user of the machine, who does not know the key, gets no data."""
    with crowd(1, "secret") as program:
        with Server(program.pid) as server, Server(program.pid) as other:
            check(re.fullmatch("[0-9a-f]{32}", server.key) and server.key != other.key, server.key)
            right, root = server.key, f"http://127.0.0.1:{server.port}"
            wrong = right[:-1] + ("0" if right[-1] != "0" else "1")
            for path in ("/", "/data.json", f"/{wrong}/", f"/{wrong}/data.json", f"/{right}",
                         f"/{right[:-1]}/data.json", f"/{right}x/data.json", f"//{right}/data.json",
                         f"/{other.key}/data.json", f"/?{right}/"):
                server.url = root
                status, _, body = server.get(path)
                same(status, 404, path)
                check("secret" not in body and "<script" not in body, body)
            same(server.get(f"/{right}/data.json")[0], 200)
        with Server(program.pid, key="my-own_key1") as server:
            same(server.key, "my-own_key1")
            check(server.data()["processes"], "data with this key")
        for key in ("short", "x" * 65, "with/slash", "with space", "%41%42%43%44%45"):
            same(weir("web", "--listen", "127.0.0.1:0", program.pid, env={"WEIR_WEB_KEY": key}),
                 (64, "", 'weir: web: WEIR_WEB_KEY must have 8 to 64 letters, digits, "-" or "_"\n'))


def test_paths_and_methods():
    with crowd(1) as program, Server(program.pid) as server:
        same(server.get("nosuch")[0], 404)
        same(server.get("../etc/passwd")[0], 404)
        for method in ("POST", "PUT", "DELETE", "OPTIONS"):
            status, headers, _ = server.get(method=method)
            same((status, headers["Allow"]), (405, "GET, HEAD"), method)
        status, headers, body = server.get("data.json", method="HEAD")
        same((status, body), (200, ""))
        check(int(headers["Content-Length"]) > 0, headers)


def test_hostile_names():
    names = [HOSTILE, "</script><script>x", 'a"b\\c', "\x1b[31mred", "\u202eevil", "\xe4\u20ac"]
    with crowd(0, *names) as program, Server(program.pid) as server:
        _, _, body = server.get("data.json")
        check("\x1b" not in body, "a control character")
        found = [one["name"] for one in model_of(json.loads(body), program.pid)["objects"]]
        same(found[:3], names[:3])
        same(found[3:], ["?[31mred", "?evil", names[5]])


def test_a_thousand_semaphores():
    with crowd(1000, "held") as program, Server(program.pid) as server:
        same(len(model_of(server.data(), program.pid)["objects"]), 1001)


def test_signals_end_it():
    with crowd(1) as program:
        for sig in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            server = Server(program.pid)
            with socket.create_connection(("127.0.0.1", server.port), timeout=LIMIT):
                server.end(sig)


def test_the_target_does_not_notice():
    """C49: a process that is stopped is read all the same."""
    with hang("hang-nested") as program:
        kill(int(program.pid), signal.SIGSTOP)
        try:
            until(lambda: state(program.pid) == "T", "it is stopped")
            with Server(program.pid) as server:
                same(model_of(server.data(), program.pid)["verdict"], "DEADLOCK")
        finally:
            kill(int(program.pid), signal.SIGCONT)


def fails(status, text, *args, env=None):
    got, out, err = weir("web", *args, env=env)
    same((got, out), (status, ""), err)
    check(text in err and err.startswith("weir: "), err)


def test_usage():
    fails(64, "is not an address such as 127.0.0.1:9465, [::1]:9465 or 9465", "--listen",
          "nosuch:1")
    fails(64, "is not an address", "--listen", "127.0.0.1:99999")
    fails(64, "--allow-remote permits that", "--listen", "0.0.0.0:0")
    fails(64, "web", "--nosuch")
    status, out, err = weir("web", "--help")
    same((status, err), (0, ""))
    check("usage: weir web" in out, out)


def test_errors():
    if not HAS_HTTP:
        fails(69, "built without libmicrohttpd")
        return
    fails(69, "no such process", "--listen", "127.0.0.1:0", "2147483647")
    fails(69, "no such file", "--listen", "127.0.0.1:0", path("nosuch"))
    with open(path("text"), "w") as file:
        file.write("this is no dump at all")
    fails(65, "neither a dump", "--listen", "127.0.0.1:0", path("text"))
    fails(69, "no watched semaphores", "--listen", "127.0.0.1:0", str(os.getpid()))
    with crowd(1) as program, Server(program.pid) as server:
        fails(75, "another process uses this port", "--listen", str(server.port), program.pid)


if __name__ == "__main__":
    main()
