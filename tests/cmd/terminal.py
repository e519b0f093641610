# SPDX-License-Identifier: MIT
"""`weir run` on a terminal: the line while it waits, and signals of the terminal."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios

from support import *
import support


class Terminal:
    """A new session on a new terminal, with weir in the foreground."""

    def __init__(self, *args, columns=200, program=None):
        self.pid, self.fd = pty.fork()
        if not self.pid:
            size = struct.pack("HHHH", 24, columns, 0, 0)
            fcntl.ioctl(0, termios.TIOCSWINSZ, size)
            if program:
                os.execvpe(program[0], program, ENV)
            os.execve(support.WEIR, ["weir", *args], ENV)
        self.text = ""

    def more(self, seconds):
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            got = os.read(self.fd, 4096).decode()
        except OSError:
            got = ""
        self.text += got
        return bool(got)

    def sees(self, pattern):
        def look():
            self.more(0.01)
            return re.search(pattern, self.text)
        return until(look, f"{pattern!r} on the terminal")

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self):
        """Wait for the end.  Returns the exit status."""
        until(lambda: not self.more(1), "the end of the terminal")
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.fd)
        return status


def blocked():
    holder = start("run", "a", "-n", "1", "-l", "the holder", "--", *held_job("x"))
    job_pid("x")
    return holder


LINE = r"weir: a: 1st of 1 in the queue, \d+(ms|s); held by the holder, pid \d+ for \d+(ms|s)"


def test_the_line():
    holder = blocked()
    terminal = Terminal("run", "a", "--", "echo", "hello")
    terminal.sees(LINE)
    # The line is written again in the same place.
    terminal.sees(LINE + r"\r\x1b\[K" + LINE)
    let_end("x")
    same(terminal.end(), 0)
    # The line is erased before the job starts.
    check(terminal.text.endswith("\r\x1b[Khello\r\n"), repr(terminal.text))
    same(terminal.text.count("hello"), 1)
    finish(holder)


def test_places():
    holder = blocked()
    first = start("run", "a", "--", "true")
    until(lambda: stat("a")["waiting"] == 1, "one waiter")
    terminal = Terminal("run", "a", "--", "true")
    terminal.sees("2nd of 2 in the queue")
    kill(first.pid, signal.SIGTERM)
    terminal.sees("1st of 1 in the queue")
    let_end("x")
    same(terminal.end(), 0)
    finish(holder)
    finish(first)


def test_a_narrow_terminal():
    holder = blocked()
    terminal = Terminal("run", "a", "--", "true", columns=30)
    terminal.sees(r"weir: a: 1st of 1 in the queu\r")
    let_end("x")
    same(terminal.end(), 0)
    finish(holder)


def test_a_line_is_not_cut_inside_a_character():
    holder = start("run", "äää", "-n", "1", "--", *held_job("x"))
    job_pid("x")
    terminal = Terminal("run", "äää", "--", "true", columns=10)
    terminal.sees(r"\r\x1b\[Kweir: ä\r")
    let_end("x")
    same(terminal.end(), 0)
    finish(holder)


def test_a_tiny_terminal():
    holder = blocked()
    terminal = Terminal("run", "a", "--", "true", columns=10)
    terminal.sees(r"\r\x1b\[Kweir: a: \r")
    let_end("x")
    same(terminal.end(), 0)
    finish(holder)


def test_quiet_and_without_a_wait():
    same(weir("open", "a", "-n", "1")[0], 0)
    terminal = Terminal("run", "a", "--", "echo", "hello")
    same((terminal.end(), terminal.text), (0, "hello\r\n"))
    holder = blocked()
    terminal = Terminal("run", "-q", "a", "--", "echo", "hello")
    until(lambda: stat("a")["waiting"] == 1, "one waiter")
    let_end("x")
    same((terminal.end(), terminal.text), (0, "hello\r\n"))
    finish(holder)


def test_not_from_the_background():
    holder = blocked()
    terminal = Terminal("run", "b", "-n", "1", "--", "bash", "-c",
                        'set -m; stty tostop; "$0" run a -- true & wait; '
                        '"$0" run nosuch -- true & wait; echo end', support.WEIR)
    until(lambda: stat("a")["waiting"] == 1, "one waiter")
    for _ in range(8):
        terminal.more(0.1)
    let_end("x")
    terminal.sees("(?s)nosuch: no such semaphore.*end")
    same(terminal.end(), 0)
    check("in the queue" not in terminal.text, repr(terminal.text))
    finish(holder)


def test_keys_while_waiting():
    holder = blocked()
    for key, sig in (("\x03", signal.SIGINT), ("\x1c", signal.SIGQUIT)):
        terminal = Terminal("run", "a", "--", "touch", path("ran"))
        terminal.sees(LINE)
        terminal.type(key)
        # A shell ends its loop only if SIGINT ends the command.
        same(terminal.end(), -sig if sig == signal.SIGINT else 128 + sig, sig.name)
        same(stat("a")["waiting"], 0)
    let_end("x")
    finish(holder)
    check(not os.path.exists(path("ran")))


def test_keys_while_running():
    # The job gets the signal once, from the terminal; weir exits with its status.
    for key, sig in (("\x03", signal.SIGINT), ("\x1c", signal.SIGQUIT)):
        job = ["sh", "-c", 'trap "echo heard; n=x$n" INT QUIT; echo ready; '
               'while [ -z "$n" ]; do sleep 0.01; done; sleep 0.05; echo "<$n>"; exit 4']
        terminal = Terminal("run", "a", "-n", "1", "--", *job)
        terminal.sees("ready")
        terminal.type(key)
        same(terminal.end(), 4)
        check("<x>" in terminal.text, repr(terminal.text))
    # cat, because a shell may miss a signal just before it starts a command.
    terminal = Terminal("run", "a", "--", "cat")
    terminal.type("ready\n")
    terminal.sees("ready\r\nready")
    terminal.type("\x03")
    same(terminal.end(), -signal.SIGINT)


def test_control_c_ends_a_loop():
    # Not if the job handles it, also if the job exits with 130.
    loop = 'for i in 1 2; do "$0" run a -n 1 -- "$@"; echo "<$?>"; done'
    traps = ["sh", "-c", 'trap "exit 130" INT; echo ready; while :; do sleep 0.01; done']
    for job, ends in ((["cat"], True), (traps, False)):
        terminal = Terminal(program=["bash", "-c", loop, support.WEIR, *job])
        if ends:
            terminal.type("ready\n")
            terminal.sees("ready\r\nready")
            terminal.type("\x03")
            same(terminal.end(), -signal.SIGINT)
            check("<" not in terminal.text, repr(terminal.text))
        else:
            terminal.sees("ready")
            terminal.type("\x03")
            terminal.sees("<130>(.|\n)*ready")
            terminal.type("\x03")
            same(terminal.end(), 0)
            same(re.findall("<(.*?)>", terminal.text), ["130", "130"])


# Prints the signals that it gets, and exits on SIGUSR1.  A signal that comes just before a
# call sleeps would not interrupt it: hence the wakeup descriptor.
PRINTS_SIGNALS = """
import os, signal, sys
def on_signal(sig, frame):
    os.write(1, b"<%s>" % signal.Signals(sig).name.encode())
    if sig == signal.SIGUSR1:
        sys.exit(4)
reads, writes = os.pipe()
os.set_blocking(writes, False)
signal.set_wakeup_fd(writes)
for sig in (signal.SIGQUIT, signal.SIGWINCH, signal.SIGUSR1):
    signal.signal(sig, on_signal)
os.write(1, b"ready")
while True:
    os.read(reads, 1)
"""


def test_jobserver_sends_nothing_twice():
    terminal = Terminal("jobserver", "--", sys.executable, "-c", PRINTS_SIGNALS)
    terminal.sees("ready")
    terminal.type("\x1c")
    terminal.sees("<SIGQUIT>")
    fcntl.ioctl(terminal.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    terminal.sees("<SIGWINCH>")
    # Signals are passed on in order, so earlier ones have been passed on, too.
    kill(terminal.pid, signal.SIGUSR1)
    same(terminal.end(), 4)
    same(re.findall("<(.*?)>", terminal.text), ["SIGQUIT", "SIGWINCH", "SIGUSR1"])


def test_control_c_ends_the_jobserver():
    for style in ("pipe", "fifo"):
        terminal = Terminal("jobserver", "--style", style, "--", "sh", "-c",
                            'echo "$MAKEFLAGS"; exec cat')
        terminal.type("ready\n")
        terminal.sees("ready\r\n(.|\n)*ready\r\n")
        terminal.type("\x03")
        same(terminal.end(), -signal.SIGINT, style)
        for fifo in re.findall(r"fifo:(\S*)/fifo", terminal.text):
            check(not os.path.exists(fifo), fifo)


def test_stop_and_continue():
    terminal = Terminal("run", "a", "-n", "1", "--", "sh", "-c",
                        f'echo $$ >{path("y")}; echo ready; read line; exit 6')
    terminal.sees("ready")
    job = job_pid("y")
    group = os.getpgid(job)
    same(group, terminal.pid)
    # SIGSTOP, not SIGTSTP: the kernel ignores that one in an orphaned process group.
    check(group > 1)
    os.killpg(group, signal.SIGSTOP)
    until(lambda: state(job) == "T" and state(terminal.pid) == "T", "both stopped")
    same(stat("a")["held"], 1, "its permit is kept")
    os.killpg(group, signal.SIGCONT)
    until(lambda: state(job) != "T", "the job continues")
    terminal.type("\n")
    same(terminal.end(), 6)


def test_the_line_names_the_process_that_is_stopped_inside_the_lock():
    same(weir("open", "a", "-n", "2")[0], 0)
    same(weir("hold", "a", "--while-pid", str(os.getpid()))[0], 0)
    holder, = roles("a", "holds")
    kill(holder["pid"], signal.SIGSTOP)
    until(lambda: state(holder["pid"]) == "T", "the process is stopped")
    lock_as("a", holder)
    terminal = Terminal("run", "a", "--", "true")
    terminal.sees(f"weir: a: waiting, .*; locked by weir hold, pid {holder['pid']}, "
                  "which is stopped")
    unlock("a")
    kill(holder["pid"], signal.SIGCONT)
    same(terminal.end(), 0)


def test_hang_up():
    # The terminal is closed: the job gets SIGHUP, and no process is left.
    terminal = Terminal("run", "a", "-n", "1", "--", "sh", "-c",
                        f'echo $$ >{path("y")}; echo ready; sleep 1000')
    terminal.sees("ready")
    job = job_pid("y")
    os.close(terminal.fd)
    status = os.waitstatus_to_exitcode(os.waitpid(terminal.pid, 0)[1])
    same(status, 128 + signal.SIGHUP)
    until(lambda: is_gone(job), "the job ended")
    same(stat("a")["free"], 1)


if __name__ == "__main__":
    main()
