#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A host name with several addresses, of which one does not answer."""
import os
import socket
import subprocess
import sys

sys.dont_write_bytecode = True
# pylint: disable=wrong-import-position
from servers import ENGINES
from support import Holder, Skip, main, tool

NAMES = os.environ.get("WEIR_TEST_ENGINES", "redis").split(",")


class Mute:
    """Drops connection requests to 127.0.0.2: the queue of the socket is full."""

    def __init__(self, port):
        self.sockets = [socket.socket() for _ in range(4)]
        self.sockets[0].bind(("127.0.0.2", port))
        self.sockets[0].listen(0)
        for client in self.sockets[1:]:
            client.setblocking(False)
            client.connect_ex(("127.0.0.2", port))

    def __enter__(self):
        with socket.socket() as probe:
            probe.settimeout(0.2)
            try:
                probe.connect(self.sockets[0].getsockname())
            except TimeoutError:
                return self
        raise Skip("the kernel accepts connections to a full queue")

    def __exit__(self, *_):
        for one in self.sockets:
            one.close()


def test_the_first_address_does_not_answer():
    for engine in NAMES:
        with ENGINES[engine]() as server, Mute(server.port):
            shim = server.dir + "/address.so"
            subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", shim, os.path.dirname(
                os.path.abspath(__file__)) + "/address_shim.c"], check=True)
            tool(server.url + "address", "create", 1)
            url = server.url.replace("127.0.0.1", "two.test") + "address?timeout=6s"
            with Holder(url, env={"LD_PRELOAD": shim}) as holder:
                holder.await_("got", 30)
                assert "released WEIR_OK" in holder.release(), holder.output()


if __name__ == "__main__":
    main(sys.modules[__name__])
