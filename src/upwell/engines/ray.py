"""Engine of a Ray cluster: one actor per core, each with a worker process that it supervises; hosts are divided among the actors.

`RayConnection` connects to the cluster that `RAY_ADDRESS` names, or starts Ray on this machine; `RayWorker` is the actor.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from upwell.engines.engine import EventObserver, WorkerHandle, WorkFunction, site_capacity
from upwell.engines.processes import ProcessEngine
from upwell.errors import Crashed, MissingExtra, Unreachable, UpwellError, WorkerLost
from upwell.operating_system import core_count

__all__ = ["RayConnection", "RayEngine"]

OBJECT_STORE_BYTES = 100_000_000  # of a Ray on this machine alone; messages are small, and the store takes its memory
EVENT_BATCH_SECONDS = 0.2  # how long events wait for others to be sent with them; the end of a job does not wait
PLACEMENT_SECONDS = 30.0  # for the cluster to place an actor, before another actor gets the work; not swept
START_SECONDS = 600.0  # for the first actor to be placed: a cluster that grows on demand needs minutes for a machine
SHORT_FOLDER = "/tmp"  # noqa: S108 # of temporary files, where the system has it
UNAVAILABLE_SECONDS = 1.0  # before an actor that cannot be reached is called again; Ray decides when it is dead

# ("event", number of the job, event, None) or ("done", number of the job, result, error)
Message = tuple[str, int, Any, BaseException | None]


class RayConnection:
    """Context manager that connects to Ray and yields the module `ray`; an existing connection is used and left open."""

    def __init__(self, workers: int = 0) -> None:
        self._workers = workers  # cores of a Ray started here; 0: those of this machine
        self._own_folder: Path | None = None  # of a Ray started here
        self._is_connected_here = False

    def __enter__(self) -> Any:
        ray = _load()
        if not ray.is_initialized():
            logging.getLogger("ray").setLevel(logging.ERROR)
            if os.environ.get("RAY_ADDRESS"):
                _join(ray)
            else:
                self._start(ray)
            self._is_connected_here = True
        return ray

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._is_connected_here:
            _load().shutdown()
        if self._own_folder is not None:
            shutil.rmtree(self._own_folder, ignore_errors=True)

    def _start(self, ray: Any) -> None:
        """Start a Ray that only this machine can reach."""
        # The path of a socket has at most 107 characters, so a long TMPDIR is not used.
        self._own_folder = Path(
            tempfile.mkdtemp(prefix="upwell-ray-", dir=SHORT_FOLDER if os.path.isdir(SHORT_FOLDER) else None)
        )
        ray.init(
            num_cpus=self._workers or core_count(),
            object_store_memory=OBJECT_STORE_BYTES,
            include_dashboard=False,
            logging_level=logging.ERROR,
            log_to_driver=False,
            _temp_dir=str(self._own_folder),
        )


def _join(ray: Any) -> None:
    """Connect to the cluster, and send it this package."""
    code = {"py_modules": [str(Path(__file__).parents[1])], "excludes": ["__pycache__"]}
    try:
        ray.init(runtime_env=code, logging_level=logging.ERROR, log_to_driver=False)
    except (ConnectionError, RuntimeError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise Unreachable(
            f"RAY_ADDRESS {os.environ['RAY_ADDRESS']}: {reason}; is the cluster up? (`ray status`)"
        ) from error


def _load() -> Any:
    """Import `ray`, configured to send no usage statistics and, without RAY_ADDRESS, to listen on loopback only."""
    if "ray" not in sys.modules:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        if not os.environ.get("RAY_ADDRESS"):
            os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # Ray then uses the loopback address
            os.environ.setdefault("RAY_AUTH_MODE", "token")
            os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
            os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    try:
        import ray
    except ImportError as missing:
        raise MissingExtra("--engine ray needs the package ray: pip install 'upwell[ray]'") from missing
    return ray


class RayWorker:
    """Actor that runs jobs in a process of its own, which it supervises, and keeps messages until the engine fetches them."""

    def __init__(self, function: WorkFunction) -> None:
        site_capacity(1)  # raises the limit of open files
        self._engine = ProcessEngine(function, 1, core_count())
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._messages: list[Message] = []  # not confirmed by the engine
        self._confirmed = 0  # number of confirmed messages
        self._has_message = asyncio.Event()
        self._has_ended_job = asyncio.Event()

    async def ready(self) -> None:
        """Return when the process has started and loaded its modules."""

    async def start(self, number: int, work: Any) -> None:
        """Start a job; a repeated call with the same number has no effect."""
        if number not in self._tasks:
            self._tasks[number] = asyncio.create_task(self._run(number, work))

    async def cancel(self, number: int) -> None:
        """Cancel a job, which then returns its partial result."""
        if number in self._tasks:
            self._tasks[number].cancel()

    async def messages(self, received: int) -> list[Message]:
        """Confirm the first `received` messages and return later ones; wait until there are any.

        A repeated call with the same number returns the same messages again: the previous answer was lost on the way.
        """
        del self._messages[: received - self._confirmed]
        self._confirmed = received
        if not self._messages:
            self._has_message.clear()
            self._has_ended_job.clear()
            await self._has_message.wait()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._has_ended_job.wait(), EVENT_BATCH_SECONDS)
        return list(self._messages)

    async def _run(self, number: int, work: Any) -> None:
        loop = asyncio.get_running_loop()

        def observe(event: Any) -> None:  # called from any thread
            loop.call_soon_threadsafe(self._add, ("event", number, event, None))

        result: Any = None
        error: BaseException | None = None
        try:
            result = await self._engine.run(work, "", observe)
        except (asyncio.CancelledError, UpwellError) as raised:
            error = raised
        except Exception as raised:  # noqa: BLE001 # raised again in the process that waits for it
            error = Crashed(f"{type(raised).__name__}: {raised}")
        loop.call_soon(self._add, ("done", number, result, error))  # after events already queued

    def _add(self, message: Message) -> None:
        self._messages.append(message)
        self._has_message.set()
        if message[0] == "done":
            self._has_ended_job.set()
            self._tasks.pop(message[1], None)


@dataclass(eq=False, kw_only=True)
class Actor(WorkerHandle):
    """Actor of the cluster and the jobs that it runs."""

    handle: Any
    is_ready: asyncio.Task[None]
    listener: asyncio.Task[None] | None = None
    is_late: bool = False  # the cluster has not placed it in time
    is_lost: bool = False


class RayEngine:
    """Runs work in actors, each new host in the actor with the fewest; a lost actor is replaced."""

    def __init__(self, function: WorkFunction, workers: int = 0) -> None:
        self._function, self._wanted = function, workers
        self._actors: list[Actor] = []
        self._connection = RayConnection(workers)
        self._ray: Any = None  # the module, once connected

    @property
    def workers(self) -> int:
        """Return the maximum number of actors: as requested, else one per core that the cluster has now."""
        return self._wanted or max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    @property
    def capacity(self) -> int:
        """Return how many pieces of work all actors can run at once, assuming cores like those of this machine."""
        cores = core_count()
        return self.workers * (site_capacity(cores) // cores)

    async def __aenter__(self) -> RayEngine:
        # In a thread, because it takes seconds, and in the main thread Ray would install a SIGTERM handler.
        self._ray = await asyncio.to_thread(self._connection.__enter__)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        tasks = [task for actor in self._actors for task in (actor.is_ready, actor.listener) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for actor in self._actors:
            self._ray.kill(actor.handle)
        await asyncio.to_thread(self._connection.__exit__, kind, error, trace)

    async def run(self, work: Any, host: str, observe: EventObserver) -> Any:
        """Return the function's result in an actor."""
        actor = await self._actor_for(host)
        handle = actor.handle
        return await actor.result(
            host, observe, lambda number: handle.start.remote(number, work), lambda number: handle.cancel.remote(number)
        )

    async def _actor_for(self, host: str) -> Actor:
        """Return a ready actor: the one that already serves the host, else the one with the fewest jobs."""
        started = time.monotonic()
        while time.monotonic() - started < START_SECONDS:
            actor = self._choose(host)
            actor.hosts[host] += 1
            try:
                await asyncio.wait([actor.is_ready], timeout=PLACEMENT_SECONDS)
            except BaseException:  # a cancelled wait releases the host too
                actor.hosts[host] -= 1
                raise
            if actor.is_ready.done() and not actor.is_lost:
                return actor
            actor.hosts[host] -= 1
            actor.is_late = True
        raise WorkerLost(
            f"the Ray cluster had no free core for {START_SECONDS:g} seconds; `ray status` shows what it is running"
        )

    def _choose(self, host: str) -> Actor:
        """Return the actor that already serves a host, else a new one if all are busy, else the one with the fewest jobs."""
        self._actors = [actor for actor in self._actors if not actor.is_lost]
        usable = [actor for actor in self._actors if not actor.is_late or actor.is_ready.done()] or self._actors
        for actor in usable:
            if actor.hosts[host] > 0:
                return actor
        if len(self._actors) < self.workers and all(+actor.hosts for actor in self._actors):
            usable = [self._start()]
        return min(usable, key=lambda actor: actor.hosts.total())

    def _start(self) -> Actor:
        kind = self._ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0, scheduling_strategy="SPREAD")(RayWorker)
        handle = kind.remote(self._function)
        actor = Actor(handle=handle, is_ready=asyncio.ensure_future(_wait_for(handle.ready.remote())))
        actor.listener = asyncio.ensure_future(self._listen(actor))
        self._actors.append(actor)
        return actor

    async def _listen(self, actor: Actor) -> None:
        """Receive messages until the actor is gone; then fail its remaining jobs."""
        from ray.exceptions import ActorUnavailableError, RayError

        received = 0
        while True:
            try:
                messages = await actor.handle.messages.remote(received)
            except ActorUnavailableError:
                await asyncio.sleep(UNAVAILABLE_SECONDS)
                continue
            except RayError as error:
                reason = str(error).strip().partition("\n")[0]
                break
            received += len(messages)
            for message in messages:
                actor.receive(*message)
        actor.is_lost = True
        actor.fail_all(f"an actor of the Ray cluster is gone: {reason}")


async def _wait_for(reference: Any) -> None:
    """Wait for an answer; errors are reported by the listener."""
    from ray.exceptions import RayError

    with suppress(RayError):
        await reference
