"""Engine of one or several processes on this machine, each with an event loop; hosts are divided among them.

The engine supervises its workers (`upwell.supervision`): it kills one that hangs or takes too much memory, and reports which job was the
reason. A worker is forked from this process if that is safe, which takes a few milliseconds, and otherwise started as a new process.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import sys
import time
import traceback
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, NoReturn, Self

from upwell.engines.engine import EventObserver, WorkerHandle, WorkFunction, site_capacity
from upwell.engines.worker import encode_message, read_message, serve
from upwell.operating_system import CAN_FORK, KILL
from upwell.supervision import (
    CHECK_SECONDS,
    MEMORY_SHARE,
    Activity,
    Board,
    Watch,
    free_bytes,
    stop_signals_blocked,
)

__all__ = ["ProcessEngine", "fork_ahead"]

logger = logging.getLogger("upwell.engines")

SHUTDOWN_SECONDS = 60.0  # for a worker to write its results when the engine ends; then it is killed
END_CHECK_SECONDS = 0.01  # between two checks whether a worker whose pipe is closed has ended


@dataclass(eq=False)
class ChildProcess:
    """Worker process as started: its pipes, and the memory shared with it."""

    outgoing: int  # file descriptors of this side
    incoming: int
    board: Board
    pid: int = 0
    _process: subprocess.Popen[bytes] | None = None  # None: it was forked
    _code: int | None = None

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal; None while it runs."""
        if self._process is not None:
            return self._process.poll()
        if self._code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self._code = os.waitstatus_to_exitcode(status) if pid else None
        return self._code

    def kill(self) -> None:
        """Kill the process, unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, KILL)


_ahead: list[ChildProcess] = []  # forked before they are needed
_descriptors: set[int] = set()  # this side of the pipes of all workers, which a forked worker closes


def _start_child() -> ChildProcess:
    """Start a worker process."""
    incoming, their_outgoing = os.pipe()
    their_incoming, outgoing = os.pipe()
    child = ChildProcess(outgoing, incoming, Board())
    _descriptors.update((outgoing, incoming))
    with stop_signals_blocked():
        if _may_fork():
            sys.stdout.flush()
            sys.stderr.flush()
            supervisor = os.getpid()
            child.pid = os.fork()
            if not child.pid:
                _run_forked(their_incoming, their_outgoing, child.board, supervisor)
        else:
            child._process = subprocess.Popen(  # noqa: S603 # this program
                [sys.executable, "-m", "upwell.engines.worker", str(child.board.descriptor), str(os.getpid())],
                stdin=their_incoming,
                stdout=their_outgoing,
                pass_fds=[child.board.descriptor],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
            child.pid = child._process.pid
    os.close(their_incoming)
    os.close(their_outgoing)
    return child


def _may_fork() -> bool:
    """Return True if this process can be forked safely: it has no other thread, and no system library that forbids it (macOS)."""
    import psutil

    return CAN_FORK and sys.platform == "linux" and bool(psutil.Process().num_threads() == 1)


def _run_forked(incoming: int, outgoing: int, board: Board, supervisor: int) -> NoReturn:
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        for descriptor in _descriptors:
            os.close(descriptor)
        _descriptors.clear()
        serve(incoming, outgoing, board, supervisor)
        code = 0
    except BaseException:  # noqa: BLE001 # nothing of the other process may run here
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def fork_ahead() -> None:
    """Fork a worker now, for the next engine of this process, because threads started later would make it unsafe."""
    if not _ahead and _may_fork():
        _ahead.append(_start_child())


@dataclass(eq=False, kw_only=True)
class WorkerProcess(WorkerHandle):
    """Worker process and the jobs that it runs."""

    child: ChildProcess
    watch: Watch
    pipe: asyncio.WriteTransport | None = None
    tasks: list[asyncio.Task[None]] = field(default_factory=list)
    killed_because: str = ""
    culprit: Activity | None = None
    _ending: dict[int, float] = field(default_factory=dict)  # since when jobs should end, by the monotonic clock

    async def connect(self) -> None:
        """Connect the pipes to the running event loop, and start to listen and to watch."""
        loop, stream = asyncio.get_running_loop(), asyncio.StreamReader(limit=2**20)
        reading = os.fdopen(self.child.incoming, "rb", buffering=0)
        writing = os.fdopen(self.child.outgoing, "wb", buffering=0)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stream), reading)
        self.pipe, _ = await loop.connect_write_pipe(asyncio.Protocol, writing)
        self.tasks = [asyncio.create_task(self._listen(stream)), asyncio.create_task(self._watch())]

    @property
    def is_running(self) -> bool:
        """Return True unless the process has ended or was killed."""
        return not self.killed_because and self.child.poll() is None

    def send(self, *message: Any) -> None:
        """Send a message; if the process is gone, the listener notices."""
        if message[0] == "cancel":
            self._expect_end(message[1])
        elif message[0] == "run" and (seconds := getattr(message[2], "seconds_left", 0.0)):
            asyncio.get_running_loop().call_later(seconds, self._expect_end, message[1])
        if self.pipe is not None and not self.pipe.is_closing():
            self.pipe.write(encode_message(message))

    def _expect_end(self, number: int) -> None:
        """Be less patient with a job that was cancelled, or whose time is over."""
        if number in self._waiting:
            self._ending.setdefault(number, time.monotonic())

    async def _listen(self, stream: asyncio.StreamReader) -> None:
        """Receive messages until the process ends; then fail its remaining jobs."""
        while (message := await read_message(stream)) is not None:
            if message[0] == "events":
                for number, event in message[1]:
                    self.receive("event", number, event)
                continue
            self._ending.pop(message[1], None)
            self.receive(*message)
        while (code := self.child.poll()) is None:  # noqa: ASYNC110 # no event: a child watcher would need a thread
            await asyncio.sleep(END_CHECK_SECONDS)
        _descriptors.difference_update((self.child.incoming, self.child.outgoing))
        if self.pipe is not None:
            self.pipe.close()
        if self.killed_because:
            self.fail_jobs(self.killed_because, [self.culprit] if self.culprit else [], is_certain=True)
        else:
            reason = f"worker process {self.child.pid} ended with {code}"
            self.fail_jobs(reason, self.child.board.activities(), is_certain=False)
        self.child.board.close()

    async def _watch(self) -> None:
        """Kill the process when there is a reason to."""
        while self.child.poll() is None:
            await asyncio.sleep(CHECK_SECONDS)
            stopping_since = min(self._ending.values(), default=None)
            if self.killed_because or not (reason := self.watch.reason_to_kill(stopping_since)):
                continue
            self.culprit, self.killed_because = self.watch.culprit(), reason
            logger.warning("worker process %d %s and is killed; it was doing: %s", self.child.pid, reason, self.culprit)
            self.child.kill()

    async def end(self) -> None:
        """Let the process save its results, and wait until it has ended."""
        self.send("end")
        if not (await asyncio.wait(self.tasks[:1], timeout=SHUTDOWN_SECONDS))[0]:
            self.child.kill()
        await asyncio.wait(self.tasks[:1])
        self.tasks[1].cancel()


class ProcessEngine:
    """Runs work in worker processes, each new host in the process with the fewest; a lost process is replaced."""

    def __init__(self, function: WorkFunction, workers: int, machine_workers: int = 0) -> None:
        self._function, self.workers = function, workers
        self._machine_workers = machine_workers or workers  # those of other engines included, which share the memory
        self._running: list[WorkerProcess] = []
        self._choosing = asyncio.Lock()
        self._max_bytes = 0

    @property
    def capacity(self) -> int:
        """Return how many pieces of work all processes can run at once."""
        return site_capacity(self.workers)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._running:
            await asyncio.wait([asyncio.create_task(worker.end()) for worker in self._running])

    async def run(self, work: Any, host: str, observe: EventObserver) -> Any:
        """Return the function's result in a worker process."""
        accepted = time.monotonic()
        async with self._choosing:
            worker = await self._worker_for(host)
        return await worker.result(
            host,
            observe,
            lambda number: worker.send("run", number, work, accepted),
            lambda number: worker.send("cancel", number),
        )

    async def _worker_for(self, host: str) -> WorkerProcess:
        """Return the worker that already serves a host, else an idle or new one, else the one with the fewest jobs."""
        self._running = [worker for worker in self._running if worker.is_running]
        worker = next((worker for worker in self._running if worker.hosts[host] > 0), None)
        has_idle = any(not +worker.hosts for worker in self._running)
        if worker is None and len(self._running) < self.workers and not has_idle:
            worker = await self._start()
        worker = worker or min(self._running, key=lambda worker: worker.hosts.total())
        worker.hosts[host] += 1
        return worker

    async def _start(self) -> WorkerProcess:
        child = _ahead.pop() if _ahead and _ahead[-1].poll() is None else _start_child()
        self._max_bytes = self._max_bytes or int(MEMORY_SHARE * free_bytes() / self._machine_workers)
        watch = Watch(pid=child.pid, board=child.board, max_bytes=self._max_bytes)
        worker = WorkerProcess(child=child, watch=watch)
        await worker.connect()
        self._running.append(worker)
        worker.send("function", self._function, logging.getLogger("upwell").level)
        return worker
