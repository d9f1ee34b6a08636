"""Where the parts of much work run: one after the other here, in processes of this machine, or on a Ray cluster; results in their order."""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, TypeVar

from upwell.engines.ray_connection import RayConnection
from upwell.errors import UpwellError, WrongUsage

__all__ = ["ENGINES", "PartEngine", "run_parts"]

PartEngine = Literal["local", "processes", "ray"]
ENGINES: tuple[PartEngine, ...] = ("local", "processes", "ray")
PARTS_OF_A_PROCESS = 50  # after which it makes room for a fresh one, so that nothing adds up
Learned = TypeVar("Learned")
Part = TypeVar("Part")
Done = TypeVar("Done")

_here: dict[str, Any] = {}  # what a process works with, sent to it once


def run_parts(
    engine: PartEngine,
    workers: int,
    work: Callable[[Learned, Part], Done],
    learned: Learned,
    parts: Sequence[Part],
) -> Iterator[Done]:
    """What `work` makes of each part; it is a function of a module, and what it takes and gives can be pickled."""
    if engine not in ENGINES:
        raise WrongUsage(f"engine {engine!r} is none of {', '.join(ENGINES)}")
    workers = workers or os.cpu_count() or 1
    if engine == "local":
        return (work(learned, part) for part in parts)
    return (_in_processes if engine == "processes" else _on_ray)(workers, work, learned, parts)


def _in_processes(
    workers: int, work: Callable[[Learned, Part], Done], learned: Learned, parts: Sequence[Part]
) -> Iterator[Done]:
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    with ProcessPoolExecutor(
        min(workers, max(1, len(parts))),
        mp_context=get_context("spawn"),  # a fork of a process with threads may hang (those of object stores)
        initializer=_begin,
        initargs=(work, learned),
        max_tasks_per_child=PARTS_OF_A_PROCESS,
    ) as pool:
        try:
            yield from pool.map(_work_here, parts)
        except BrokenProcessPool as error:
            raise UpwellError(
                "a process that read a part has ended, perhaps for want of memory; the same command goes on with what "
                "is left, with fewer --workers it needs less"
            ) from error


def _begin(work: Callable[[Any, Any], Any], learned: Any) -> None:
    _here.update(work=work, learned=learned)


def _work_here(part: Any) -> Any:
    return _here["work"](_here["learned"], part)


def _on_ray(
    workers: int, work: Callable[[Learned, Part], Done], learned: Learned, parts: Sequence[Part]
) -> Iterator[Done]:
    """On the cluster that RAY_ADDRESS names, or on one of this machine for as long as the work takes; a lost part is done again."""
    with RayConnection(workers) as ray:
        task, shared = ray.remote(max_retries=3)(work), ray.put(learned)
        for pending in [task.remote(shared, part) for part in parts]:
            yield ray.get(pending)
