"""One interpreter that has imported the program of isolated processes, and is copied (by fork) where one is started.

A start takes a third of a second, and a copy of what has started a hundredth. For tests in which the start is not the
point: copies share the hashes of texts and the addresses of the interpreter, and their parent is none of the tests.
"""

import json
import os
import select
import socket
import subprocess
import sys
import threading
from pathlib import Path

from dpassay.mechanisms.adapters.functions import isolated

PROGRAM = (
    isolated.START.removesuffix("main()\n")
    + """
import contextlib, gc, importlib, json, os, socket
import numpy as np

preload, path = json.loads(sys.argv.pop())
control = socket.socket(fileno=int(sys.argv.pop()))
own, sys.path[:] = [*sys.path], path  # the modules are those of the tests
for name in preload:
    importlib.import_module(name)
sys.path[:] = own
gc.freeze()


def begin(request, streams, report):
    os.setsid()
    os.write(report, os.getpid().to_bytes(4, "little"))
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, 1024)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    np.random.seed()
    main()


while True:
    text, descriptors, _, _ = socket.recv_fds(control, 2**20, 4)
    if not text:
        os._exit(0)
    *streams, report = descriptors
    if os.fork() == 0:
        child = os.fork()
        if child == 0:
            begin(json.loads(text), streams, report)
            os._exit(0)
        for stream in streams:
            os.close(stream)
        _, status = os.waitpid(child, 0)
        os.write(report, status.to_bytes(4, "little"))
        os._exit(0)
    for descriptor in descriptors:
        os.close(descriptor)
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
"""
)


class Copy:
    """What an `IsolatedProcess` uses of `subprocess.Popen`."""

    def __init__(self, stdin, stdout, stderr, report):
        self.stdin, self.stdout, self.stderr = os.fdopen(stdin, "wb"), os.fdopen(stdout, "rb"), stderr
        if stderr is not None:
            self.stderr = os.fdopen(stderr, "rb")
        self.report, self.returncode = report, None
        self.pid = self._number()

    def _number(self):
        content = os.read(self.report, 4)
        assert len(content) == 4, "the parent of a copy was ended"
        return int.from_bytes(content, "little")

    def wait(self, timeout=None):
        if self.returncode is None:
            if not select.select([self.report], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("a copy", timeout)
            self.returncode = os.waitstatus_to_exitcode(self._number())
            os.close(self.report)
        return self.returncode


class StartedInterpreter:
    """The interpreter, with the modules `preload`; `start` takes the place of `isolated._start`."""

    def __init__(self, preload=()):
        self.control, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.preload, self.process, self.closed, self.lock = preload, None, False, threading.Lock()
        os.register_at_fork(before=self.begin)  # so that forks share it

    def begin(self):
        """Start the interpreter, the first time."""
        if self.process is not None or self.closed:
            return
        with self.lock:
            if self.process is None:
                words = [str(isolated.ROOM), str(number := self.theirs.fileno()), json.dumps([self.preload, sys.path])]
                self.process = subprocess.Popen([sys.executable, "-c", PROGRAM, *words], pass_fds=[number])
                self.theirs.close()

    def start(self, python, environment, folder, *, relayed):
        """Return a copy; a new interpreter where another one is asked for."""
        if python:
            return new_interpreter(python, environment, folder, relayed=relayed)
        self.begin()
        (stdin, to_stdin), (from_stdout, stdout), (from_report, report) = os.pipe(), os.pipe(), os.pipe()
        from_stderr, stderr = os.pipe() if relayed else (None, os.open(os.devnull, os.O_WRONLY))
        request = {"environment": dict(environment), "folder": folder or str(Path.cwd())}
        theirs = [stdin, stdout, stderr, report]
        socket.send_fds(self.control, [json.dumps(request).encode()], theirs)
        for descriptor in theirs:
            os.close(descriptor)
        return Copy(to_stdin, from_stdout, from_stderr, from_report)

    def close(self):
        """End the interpreter."""
        self.closed = True
        self.control.close()
        self.theirs.close()
        if self.process is not None:
            self.process.kill()  # processes that outlive their test may hold the other end
            self.process.wait()


new_interpreter = isolated._start
