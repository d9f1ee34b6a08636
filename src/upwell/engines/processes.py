"""The engine of several processes on this machine, each with an event loop; hosts are divided among them."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from upwell.engines.elsewhere import Elsewhere
from upwell.engines.frame import Function, Observe
from upwell.engines.limits import room_for
from upwell.engines.messages import packed, read

__all__ = ["ProcessEngine"]

END_SECONDS = 60.0  # for a worker to write what there is when the engine ends; then it is killed


@dataclass(eq=False, kw_only=True)
class Worker(Elsewhere):
    """One process, and what it runs."""

    process: asyncio.subprocess.Process
    reader: asyncio.Task[None] | None = None

    def send(self, *message: Any) -> None:
        """Hands a message over; where the process is gone, its reader notices."""
        if self.process.stdin is not None and not self.process.stdin.is_closing():
            self.process.stdin.write(packed(message))

    async def listen(self) -> None:
        """Takes what comes until the process ends; then what it had is lost."""
        assert self.process.stdout is not None  # noqa: S101 # it is a pipe
        while (message := await read(self.process.stdout)) is not None:
            self.take(*message)
        code = await self.process.wait()
        self.lose(f"worker process {self.process.pid} ended with {code}")


class ProcessEngine:
    """Runs work in worker processes, each where the fewest hosts are; one that is lost is replaced."""

    def __init__(self, function: Function, workers: int) -> None:
        self._function, self.workers = function, workers
        self._running: list[Worker] = []
        self._choosing = asyncio.Lock()

    @property
    def room(self) -> int:
        """What all processes have room for."""
        return room_for(self.workers)

    async def __aenter__(self) -> ProcessEngine:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._running:
            if worker.process.stdin is not None:
                worker.process.stdin.close()
        readers = [worker.reader for worker in self._running if worker.reader is not None]
        if readers and (await asyncio.wait(readers, timeout=END_SECONDS))[1]:
            for worker in self._running:
                if worker.process.returncode is None:
                    worker.process.kill()
            await asyncio.wait(readers)

    async def run(self, work: Any, host: str, observe: Observe) -> Any:
        """What the function returned in a worker."""
        async with self._choosing:
            worker = await self._worker_for(host)
        return await worker.result(
            host, observe, lambda number: worker.send("run", number, work), lambda number: worker.send("cancel", number)
        )

    async def _worker_for(self, host: str) -> Worker:
        """The worker that has the host already, else the one with the least to do; started when it is first needed."""
        self._running = [worker for worker in self._running if worker.process.returncode is None]
        worker = next((worker for worker in self._running if worker.hosts[host] > 0), None)
        idle = any(not +worker.hosts for worker in self._running)
        if worker is None and len(self._running) < self.workers and not idle:
            worker = await self._start()
        worker = worker or min(self._running, key=lambda worker: worker.hosts.total())
        worker.hosts[host] += 1
        return worker

    async def _start(self) -> Worker:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "upwell.engines.worker"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=environment,
            start_new_session=True,  # Ctrl-C in a terminal is for the engine alone
        )
        worker = Worker(process=process)
        self._running.append(worker)
        worker.send("function", self._function)
        worker.reader = asyncio.create_task(worker.listen())
        return worker
