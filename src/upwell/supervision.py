"""Supervision of processes that read strangers' pages: another process watches them, and kills one that hangs or takes too much memory.

A page can be built so that reading it does not end within one call of compiled code, for example of a regular expression. Such a call
holds the interpreter lock of Python: no other thread runs, no signal is handled, and no time limit is noticed. Only another process can end
it.

The watched process and its supervisor share a `Board` of memory. In the watched process (`begin`) a thread increases a counter, for which
it needs the interpreter lock, and `Doing` notes for each thread which job it works on and which answer it reads. In the supervisor, `Watch`
compares the counter with the CPU time and the memory of the process, and finds the activity of the thread that used the CPU.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import select
import signal
import struct
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, NoReturn

from upwell.operating_system import CAN_FORK, KILL
from upwell.signals import end_program, leave

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import psutil

__all__ = [
    "Activity",
    "Board",
    "Doing",
    "Watch",
    "begin",
    "current_job",
    "free_bytes",
    "job_accepted",
    "process_to_signal",
    "run_command",
    "stop_signals_blocked",
]

BEAT_SECONDS = 0.4  # between two increments of the counter
CHECK_SECONDS = 0.5  # between two checks of the supervisor
# CPU seconds for which one call may hold the interpreter lock. The longest calls on ordinary pages, of 20 MB, take about a second.
MAX_HELD_SECONDS = 10.0
# The same after the process was asked to stop; and the seconds without CPU time, because it is blocked or suspended, after which it is killed.
MAX_HELD_STOPPING_SECONDS = 4.0
MAX_BLOCKED_STOPPING_SECONDS = 20.0
# Seconds for a process whose threads run to stop after it was asked to: it may be writing large tables.
MAX_STOPPING_SECONDS = 600.0
MAX_HELD_COMMAND_SECONDS = 60.0  # the same for a whole command, which may sort a large table of the user in one call
FIRST_CHECK_SECONDS = 2.0  # before a command is watched; most end earlier
MEMORY_SHARE = 0.6  # share of the memory that is free at the start which the watched processes may use together

MIN_MEMORY_PART = 0.25  # part of the limit that one activity must have taken to be the reason that it was exceeded

MAX_ACTIVITIES = 256  # a worker runs at most 128 sites
MAX_URL_BYTES = 400
_BEATS = struct.Struct("=Q")
# is used, job, thread, number of the outcome, stage, URL
_ACTIVITY = struct.Struct(f"=?qQq16s{MAX_URL_BYTES}s")
_BOARD_BYTES = _BEATS.size + MAX_ACTIVITIES * _ACTIVITY.size
_PR_SET_PDEATHSIG = 1  # option of prctl(2)

current_job: ContextVar[int] = ContextVar("current_job", default=-1)  # number of the job that a task belongs to
# When the engine of this machine accepted the job, on the monotonic clock, which all processes share: starting a worker takes time.
job_accepted: ContextVar[float] = ContextVar("job_accepted", default=0.0)


@dataclass(frozen=True, kw_only=True)
class Activity:
    """What a thread of a watched process does."""

    job: int  # -1: none
    thread: int  # as the operating system numbers it
    stage: str  # "read", "tables" …
    outcome: int = 0  # number of the answer in the state; 0: none is being read
    url: str = ""


def _shared_file() -> int:
    """Return the descriptor of a file for shared memory; -1 if none can be made, which gives memory that only forked processes share."""
    try:
        if hasattr(os, "memfd_create"):
            descriptor = os.memfd_create("upwell")
        else:
            with tempfile.TemporaryFile() as file:
                descriptor = os.dup(file.fileno())
        os.ftruncate(descriptor, _BOARD_BYTES)
    except OSError:  # the user limits the size of files
        return -1
    return descriptor


class Board:
    """Memory shared by a watched process and its supervisor; the file behind it has no name."""

    def __init__(self, descriptor: int | None = None) -> None:
        self.descriptor = _shared_file() if descriptor is None else descriptor
        self._memory = mmap.mmap(self.descriptor, _BOARD_BYTES)
        self._free = [_BEATS.size + number * _ACTIVITY.size for number in range(MAX_ACTIVITIES)]

    def close(self) -> None:
        """Release the memory in this process."""
        self._memory.close()
        if self.descriptor >= 0:
            os.close(self.descriptor)

    @property
    def beats(self) -> int:
        """Return the counter."""
        return int(_BEATS.unpack_from(self._memory)[0])

    @beats.setter
    def beats(self, number: int) -> None:
        _BEATS.pack_into(self._memory, 0, number)

    def note(self, activity: Activity) -> int:
        """Note an activity and return its position; 0 if the board is full."""
        try:
            position = self._free.pop()  # atomic
        except IndexError:
            return 0
        url = activity.url.encode("utf-8", "replace")[:MAX_URL_BYTES]
        values = (activity.job, activity.thread, activity.outcome, activity.stage.encode(), url)
        _ACTIVITY.pack_into(self._memory, position, True, *values)
        return position

    def erase(self, position: int) -> None:
        """Erase the activity at a position."""
        self._memory[position] = 0
        self._free.append(position)

    def activities(self) -> list[Activity]:
        """Return what the threads of the watched process do, or did when it ended."""
        noted = []
        for number in range(MAX_ACTIVITIES):
            position = _BEATS.size + number * _ACTIVITY.size
            if self._memory[position]:
                _, job, thread, outcome, stage, url = _ACTIVITY.unpack_from(self._memory, position)
                text = url.rstrip(b"\0").decode("utf-8", "replace")
                noted.append(
                    Activity(
                        job=job, thread=thread, outcome=outcome, stage=stage.rstrip(b"\0").decode("ascii"), url=text
                    )
                )
        return noted


# In the watched process

_board: Board | None = None  # of this process, if it is watched
_supervisor = 0  # process id


def begin(board: Board, supervisor: int) -> None:
    """Let this process be watched: count, and end with the supervisor; signals to stop are left to the supervisor."""
    global _board, _supervisor  # of the process
    _board, _supervisor = board, supervisor
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _ignore)  # not SIG_IGN, which the processes that this one starts would inherit
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, KILL)
    threading.Thread(target=_beat, args=(board, supervisor), name="upwell-beat", daemon=True).start()


def process_to_signal() -> int:
    """Return the process that handles signals for this one: its supervisor, or itself if it has none."""
    return _supervisor or os.getpid()


def _ignore(_: int, __: FrameType | None) -> None:
    """Do nothing for a signal."""


def _beat(board: Board, supervisor: int) -> None:
    while True:
        board.beats += 1
        if os.getppid() != supervisor:  # where the operating system does not do it
            os.kill(os.getpid(), KILL)
        time.sleep(BEAT_SECONDS)


class Doing:
    """Context manager that notes on the board what the thread does that enters it; for the job of the task that creates it."""

    __slots__ = ("_job", "_outcome", "_position", "_stage", "_url")

    def __init__(self, stage: str, outcome: int = 0, url: str = "") -> None:
        self._job, self._stage, self._outcome, self._url = current_job.get(), stage, outcome, url
        self._position = 0

    def __enter__(self) -> None:
        if _board is not None:
            thread = threading.get_native_id()
            self._position = _board.note(
                Activity(job=self._job, thread=thread, stage=self._stage, outcome=self._outcome, url=self._url)
            )

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if _board is not None and self._position:
            _board.erase(self._position)


# In the supervisor


@contextmanager
def stop_signals_blocked() -> Iterator[None]:
    """Block the signals to stop while a process is started that is to be watched, so that it receives none before `begin`."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def free_bytes() -> int:
    """Return the memory available without swapping, within the limits of a container."""
    import psutil

    free = [int(psutil.virtual_memory().available)]
    limit, used = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")
    if limit.is_file() and used.is_file() and (text := limit.read_text(encoding="ascii").strip()).isdigit():
        free.append(int(text) - int(used.read_text(encoding="ascii")))
    return max(0, min(free))


@dataclass(kw_only=True)
class Watch:
    """Watches one process by its board; `reason_to_kill` is called every `CHECK_SECONDS`."""

    pid: int
    board: Board
    max_bytes: int  # of memory
    max_held: float = 0.0  # seconds; 0: MAX_HELD_SECONDS
    _process: psutil.Process | None = field(default=None, init=False)
    _beats: int = field(default=-1, init=False)
    _beat_at: float = field(default=0.0, init=False)  # monotonic clock, when the counter last changed
    _cpu: float | None = field(
        default=None, init=False
    )  # CPU seconds at the first check without a change; None: it changed
    _threads: dict[int, float] = field(default_factory=dict, init=False)  # the same by thread
    _last_threads: tuple[dict[int, float], dict[int, float]] = field(
        default=({}, {}), init=False
    )  # at the last two checks
    _bytes: int = field(default=0, init=False)  # of memory at the last check
    _bytes_before: dict[Activity, int] = field(default_factory=dict, init=False)  # of memory when activities began

    def reason_to_kill(self, stopping_since: float | None = None) -> str:
        """Return why the process has to be killed, as the end of a sentence about it; "" if it is well.

        `stopping_since` is when it was asked to stop, by the monotonic clock.
        """
        import psutil

        try:
            if self._process is None:
                self._process = psutil.Process(self.pid)
            used = int(self._process.memory_info().rss)
            if used > MIN_MEMORY_PART * self.max_bytes:
                activities = self.board.activities()
                self._bytes_before = {one: self._bytes_before.get(one, self._bytes) for one in activities}
            self._bytes, self._last_threads = used, (self._last_threads[1], self._cpu_by_thread())
            if used > self.max_bytes:
                return f"took more than {self.max_bytes / 1e9:.1f} GB of memory"
            return self._reason_of_silence(self._process, stopping_since)
        except psutil.Error:  # it has ended
            return ""

    def _reason_of_silence(self, process: psutil.Process, stopping_since: float | None) -> str:
        now = time.monotonic()
        if (beats := self.board.beats) != self._beats:
            self._beats, self._beat_at, self._cpu = beats, now, None
            is_late = stopping_since is not None and now - stopping_since > MAX_STOPPING_SECONDS
            return f"did not stop within {MAX_STOPPING_SECONDS:g} s" if is_late else ""
        times = process.cpu_times()
        cpu = float(times.user + times.system)
        if self._cpu is None:
            self._cpu, self._threads = cpu, self._cpu_by_thread()
        held, silent = cpu - self._cpu, now - self._beat_at
        limit = (self.max_held or MAX_HELD_SECONDS) if stopping_since is None else MAX_HELD_STOPPING_SECONDS
        if min(held, silent) > limit:
            return f"held the interpreter lock for {held:.0f} s of CPU time"
        if stopping_since is not None and min(silent, now - stopping_since) > MAX_BLOCKED_STOPPING_SECONDS:
            return f"did not react for {silent:.0f} s"
        return ""

    def culprit(self) -> Activity | None:
        """Return the activity that is the reason to kill the process; None if it is not known.

        It is that of the thread that has used most CPU time. For too much memory, it must have taken a good part of that itself (the
        process may simply have too many jobs), and only CPU time since the last check counts: another job may have used more before.
        """
        activities = self.board.activities()
        before, used = self._threads, self._cpu_by_thread()
        if self._bytes > self.max_bytes:
            least = MIN_MEMORY_PART * self.max_bytes
            activities = [one for one in activities if self._bytes - self._bytes_before.get(one, self._bytes) > least]
            before = self._last_threads[0]
        if used and (self._bytes <= self.max_bytes or len(activities) > 1):
            busiest = max(used, key=lambda thread: used[thread] - before.get(thread, 0.0))
            activities = [one for one in activities if one.thread == busiest]
        return activities[0] if len(activities) == 1 else None

    def _cpu_by_thread(self) -> dict[int, float]:
        import psutil

        try:
            threads = self._process.threads() if self._process is not None else []
        except psutil.Error:
            return {}
        return {thread.id: thread.user_time + thread.system_time for thread in threads}


# A whole command


def run_command(command: Callable[[], None], *, has_memory_limit: bool) -> NoReturn:
    """Run a command of the command line in a forked process, watch it, and end with its exit code.

    So Ctrl-C and SIGTERM end every command, whatever it does. Both are passed on as SIGTERM: a terminal sends Ctrl-C to both processes, so
    the command itself ignores it. Where a process cannot be forked (Windows), the command runs in this one, unwatched.
    """
    if not CAN_FORK:
        command()
        sys.exit()
    board, supervisor = Board(), os.getpid()
    is_over, is_running = os.pipe()  # nobody writes; it is closed at the end of the command
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    pid = os.fork()
    if not pid:
        os.close(is_over)
        begin(board, supervisor)
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
        signal.signal(signal.SIGTERM, end_program)
        command()
        sys.exit()
    os.close(is_running)
    stops: list[float] = []  # when a signal arrived, by the monotonic clock

    def stop(_: int, __: FrameType | None) -> None:
        stops.append(time.monotonic())
        os.kill(pid, signal.SIGTERM)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT, signal.SIGTERM))
    watch = Watch(pid=pid, board=board, max_bytes=sys.maxsize, max_held=MAX_HELD_COMMAND_SECONDS)
    reason, seconds = "", FIRST_CHECK_SECONDS
    while not select.select([is_over], [], [], seconds)[0]:
        if has_memory_limit and watch.max_bytes == sys.maxsize:
            watch.max_bytes = int(MEMORY_SHARE * free_bytes())
        seconds = CHECK_SECONDS
        reason = reason or watch.reason_to_kill(stops[0] if stops else None)
        if reason:
            os.kill(pid, KILL)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code >= 0:
        os._exit(code)
    if stops:
        leave("interrupted; everything that was saved before is intact")
    leave(f"the command {reason or f'was ended by signal {-code}'}; a page that it read may be built to do so", 1)
