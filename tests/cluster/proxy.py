# SPDX-License-Identifier: MIT
"""A proxy on loopback, which damages the conversation on purpose.

    with Proxy(server, plant=[(old, new)]) as proxy:
        proxy.url                 as server.url, through the proxy
        proxy.drop_replies(n)     the next n replies to operations are dropped, and the
                                  connection is closed: the request has been executed
        proxy.freeze() / thaw()   nothing passes
        proxy.refuse()            new connections are refused
        proxy.on_drop             a function that is called before a connection is closed
                                  because its reply is dropped

plant: texts to replace in scripts that clients load; the test fails if a text is missing.
"""
import socket
import threading


class Proxy:
    def __init__(self, server, plant=()):
        self.server = server
        self.plant = [(a.encode(), b.encode()) for a, b in plant]
        self.planted = not self.plant
        self.lock = threading.Lock()
        self.drops = 0
        self.only = b""
        self.dropped = 0
        self.on_drop = lambda: None
        self.running = threading.Event()
        self.running.set()
        self.sockets = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.url = server.url.replace(f":{server.port}/", f":{self.port}/")
        self.closing = False

    def __enter__(self):
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.running.set()
        self.refuse()
        self.disconnect()

    def refuse(self):
        self.closing = True
        try:
            self.listener.shutdown(socket.SHUT_RDWR)    # ends accept(2)
        except OSError:
            pass
        self.listener.close()

    def disconnect(self):
        """Break every connection."""
        with self.lock:
            for s in self.sockets:
                try:
                    s.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
            self.sockets = []

    def drop_replies(self, count, only=""):
        """only: the operation of the script whose replies are dropped."""
        with self.lock:
            self.drops = count
            self.only = only.encode()

    def freeze(self):
        self.running.clear()

    def thaw(self):
        self.running.set()

    def accept(self):
        while not self.closing:
            try:
                client, _ = self.listener.accept()
                upstream = socket.create_connection(("127.0.0.1", self.server.port))
            except OSError:
                continue
            for s in (client, upstream):
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.lock:
                self.sockets += [client, upstream]
            state = {"script": False}
            threading.Thread(target=self.requests, args=(client, upstream, state),
                             daemon=True).start()
            threading.Thread(target=self.replies, args=(client, upstream, state),
                             daemon=True).start()

    def requests(self, client, upstream, state):
        pending = b""
        try:
            while True:
                data = client.recv(65536)
                if not data:
                    break
                pending += data
                if b"\r\nLOAD\r\n" in pending:
                    pending = self.load(pending)
                    if pending is None:
                        break
                    if pending.endswith(b"..."):    # not complete yet
                        pending = pending[:-3]
                        continue
                self.running.wait()
                state["script"] = (any(m in pending for m in self.server.marks) and
                                   self.only in pending)
                self.before(pending)
                upstream.sendall(pending)
                pending = b""
        except OSError:
            pass
        self.end(client, upstream)

    def load(self, data):
        """SCRIPT LOAD text: wait for all of it and plant the bugs."""
        head, rest = data.split(b"\r\nLOAD\r\n$", 1)
        size, text = rest.split(b"\r\n", 1)
        if len(text) < int(size) + 2:
            return data + b"..."
        script = text[:int(size)]
        for old, new in self.plant:
            assert script.count(old) == 1, (old, script.count(old))
            script = script.replace(old, new)
            self.planted = True
        return head + b"\r\nLOAD\r\n$%d\r\n%s\r\n" % (len(script), script) + text[int(size) + 2:]

    def replies(self, client, upstream, state):
        try:
            while True:
                data = upstream.recv(65536)
                if not data:
                    break
                self.running.wait()
                with self.lock:
                    drop = state["script"] and self.drops > 0
                    if drop:
                        self.drops -= 1
                        self.dropped += 1
                if drop:
                    self.on_drop()
                    break
                client.sendall(self.change(data))
        except OSError:
            pass
        self.end(client, upstream)

    def before(self, data):
        """For subclasses: called before a request is passed on."""

    @staticmethod
    def change(data):
        """For subclasses: replace a reply."""
        return data

    @staticmethod
    def end(*sockets):
        for s in sockets:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
