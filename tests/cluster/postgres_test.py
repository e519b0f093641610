#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PostgreSQL: crashes, dead clients, lost answers, hostile data (C41, C44, C45)."""
import os
import signal
import socket
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True
# pylint: disable=wrong-import-position
from servers import Postgres, await_
from storm import Storm
from support import CLIENT, TOOL, Holder, creator, main, stat, tool


def test_c41_a_dead_holder_returns_at_once():
    """The TTL is a minute: the guard inside the server returns the permits."""
    with Postgres() as server:
        url = server.url + "dead?ttl=60s"
        tool(url, "create", 2)
        with Holder(url, 2) as holder:
            holder.await_("got")
            with Holder(url, 1) as waiter, Holder(url, 1) as other:
                await_(lambda: stat(url)["waiters"] == 2, "waiters")
                died = time.time()
                holder.kill()
                waiter.await_("got", 20)
                other.await_("got", 20)
                print(f"    granted after {waiter.time_of('got') / 1e3 - died * 1e3:.1f} ms")
                assert waiter.number("fence") > holder.number("fence")
                assert stat(url)["held"] == 2


if __name__ == "__main__":
    main(sys.modules[__name__])
