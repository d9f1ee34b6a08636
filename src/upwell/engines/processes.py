"""Engine of several processes on this machine, each with an event loop; hosts are divided among them."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from upwell.engines.engine import EventObserver, WorkerHandle, WorkFunction, site_capacity
from upwell.engines.worker import encode_message, read_message

__all__ = ["ProcessEngine"]

SHUTDOWN_SECONDS = 60.0  # for a worker to write its results when the engine ends; then it is killed


@dataclass(eq=False, kw_only=True)
class WorkerProcess(WorkerHandle):
    """Worker process and the jobs that it runs."""

    process: asyncio.subprocess.Process
    listener: asyncio.Task[None] | None = None

    def send(self, *message: Any) -> None:
        """Send a message; if the process is gone, the listener notices."""
        if self.process.stdin is not None and not self.process.stdin.is_closing():
            self.process.stdin.write(encode_message(message))

    async def listen(self) -> None:
        """Receive messages until the process ends; then fail its remaining jobs."""
        assert self.process.stdout is not None  # noqa: S101 # it is a pipe
        while (message := await read_message(self.process.stdout)) is not None:
            self.receive(*message)
        code = await self.process.wait()
        self.fail_all(f"worker process {self.process.pid} ended with {code}")


class ProcessEngine:
    """Runs work in worker processes, each new host in the process with the fewest; a lost process is replaced."""

    def __init__(self, function: WorkFunction, workers: int) -> None:
        self._function, self.workers = function, workers
        self._running: list[WorkerProcess] = []
        self._choosing = asyncio.Lock()

    @property
    def capacity(self) -> int:
        """Return how many pieces of work all processes can run at once."""
        return site_capacity(self.workers)

    async def __aenter__(self) -> ProcessEngine:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._running:
            if worker.process.stdin is not None:
                worker.process.stdin.close()
        listeners = [worker.listener for worker in self._running if worker.listener is not None]
        if listeners and (await asyncio.wait(listeners, timeout=SHUTDOWN_SECONDS))[1]:
            for worker in self._running:
                if worker.process.returncode is None:
                    worker.process.kill()
            await asyncio.wait(listeners)

    async def run(self, work: Any, host: str, observe: EventObserver) -> Any:
        """Return the function's result in a worker process."""
        async with self._choosing:
            worker = await self._worker_for(host)
        return await worker.result(
            host, observe, lambda number: worker.send("run", number, work), lambda number: worker.send("cancel", number)
        )

    async def _worker_for(self, host: str) -> WorkerProcess:
        """Return the worker that already serves a host, else an idle or new one, else the one with the fewest jobs."""
        self._running = [worker for worker in self._running if worker.process.returncode is None]
        worker = next((worker for worker in self._running if worker.hosts[host] > 0), None)
        has_idle = any(not +worker.hosts for worker in self._running)
        if worker is None and len(self._running) < self.workers and not has_idle:
            worker = await self._start()
        worker = worker or min(self._running, key=lambda worker: worker.hosts.total())
        worker.hosts[host] += 1
        return worker

    async def _start(self) -> WorkerProcess:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "upwell.engines.worker", str(logging.getLogger("upwell").level)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=environment,
            start_new_session=True,  # Ctrl-C in a terminal reaches the engine only
        )
        worker = WorkerProcess(process=process)
        self._running.append(worker)
        worker.send("function", self._function)
        worker.listener = asyncio.create_task(worker.listen())
        return worker
