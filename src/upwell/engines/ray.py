"""The engine of a Ray cluster: an actor a core, each with an event loop; hosts are divided among the actors."""

from __future__ import annotations

import asyncio
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from upwell.engines.elsewhere import Elsewhere
from upwell.engines.frame import Function, Observe
from upwell.engines.limits import room_for
from upwell.engines.ray_connection import RayConnection
from upwell.engines.ray_worker import RayWorker
from upwell.errors import WorkerLost

__all__ = ["RayEngine"]

PLACE_SECONDS = 30.0  # for the cluster to find a place for an actor, before another actor has the work; not swept
START_SECONDS = 600.0  # for the first actor to be there: a cluster that grows on demand needs minutes for a machine
UNAVAILABLE_SECONDS = 1.0  # before an actor that cannot be reached is asked again; Ray decides when it is dead


@dataclass(eq=False, kw_only=True)
class Actor(Elsewhere):
    """One actor, and what it runs."""

    handle: Any
    is_ready: asyncio.Task[None]
    listening: asyncio.Task[None] | None = None
    is_late: bool = False  # the cluster has not found a place for it yet
    is_lost: bool = False


class RayEngine:
    """Runs work in actors, each where the fewest hosts are; one that is lost is replaced."""

    def __init__(self, function: Function, workers: int = 0) -> None:
        self._function, self._wanted = function, workers
        self._actors: list[Actor] = []
        self._connection = RayConnection(workers)
        self._ray: Any = None  # the module, once it is connected

    @property
    def workers(self) -> int:
        """How many actors there may be: as many as were asked for, else one for each core that the cluster has now."""
        return self._wanted or max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    @property
    def room(self) -> int:
        """What all actors have room for, where each core of the cluster has as much as each of this machine."""
        cores = len(os.sched_getaffinity(0))
        return self.workers * (room_for(cores) // cores)

    async def __aenter__(self) -> RayEngine:
        # in a thread, because it takes seconds, and would take SIGTERM for itself in the main one
        self._ray = await asyncio.to_thread(self._connection.__enter__)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        tasks = [task for actor in self._actors for task in (actor.is_ready, actor.listening) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for actor in self._actors:
            self._ray.kill(actor.handle)
        await asyncio.to_thread(self._connection.__exit__, kind, error, trace)

    async def run(self, work: Any, host: str, observe: Observe) -> Any:
        """What the function returned in an actor."""
        actor = await self._actor_for(host)
        handle = actor.handle
        return await actor.result(
            host, observe, lambda number: handle.start.remote(number, work), lambda number: handle.cancel.remote(number)
        )

    async def _actor_for(self, host: str) -> Actor:
        """An actor that is ready: the one that has the host already, else the one with the least to do."""
        started = time.monotonic()
        while time.monotonic() - started < START_SECONDS:
            actor = self._choose(host)
            actor.hosts[host] += 1
            try:
                await asyncio.wait([actor.is_ready], timeout=PLACE_SECONDS)
            except BaseException:  # a cancelled wait too gives its place back
                actor.hosts[host] -= 1
                raise
            if actor.is_ready.done() and not actor.is_lost:
                return actor
            actor.hosts[host] -= 1
            actor.is_late = True
        raise WorkerLost(
            f"the Ray cluster had no core free for {START_SECONDS:g} seconds; `ray status` says what it is busy with"
        )

    def _choose(self, host: str) -> Actor:
        """The actor that has a host already, else the one with the least to do; more are started as they are needed."""
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
        actor.listening = asyncio.ensure_future(self._listen(actor))
        self._actors.append(actor)
        return actor

    async def _listen(self, actor: Actor) -> None:
        """Takes what comes until the actor is gone; then what it had is lost."""
        from ray.exceptions import ActorUnavailableError, RayError

        had = 0
        while True:
            try:
                messages = await actor.handle.messages.remote(had)
            except ActorUnavailableError:
                await asyncio.sleep(UNAVAILABLE_SECONDS)
                continue
            except RayError as error:
                why = str(error).strip().partition("\n")[0]
                break
            had += len(messages)
            for message in messages:
                actor.take(*message)
        actor.is_lost = True
        actor.lose(f"an actor of the Ray cluster is gone: {why}")


async def _wait_for(reference: Any) -> None:
    """Waits for an answer; that there will be none is for the listener to say."""
    from ray.exceptions import RayError

    with suppress(RayError):
        await reference
