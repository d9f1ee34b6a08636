"""Events as lines of JSON: `--log FILE`, and `events.jsonl` in the folder of every harvest, which the page in the browser follows."""

from __future__ import annotations

import datetime
import json
import os
import time
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from types import TracebackType
from typing import TextIO

from upwell.errors import UpwellError, WrongUsage
from upwell.harvest.events import Asked, Event, Found, Held, Observer, wants_records, without_records

__all__ = ["EVENTS", "FolderLog", "line_of", "open_log"]

EVENTS = "events.jsonl"
encode = json.JSONEncoder(ensure_ascii=False, default=str).encode  # `json.dumps` makes an encoder for each line
SECONDS_BETWEEN_EXAMPLES = 0.5  # nobody can read more
MAX_CHARS = 300  # of a value of a row that is shown as an example


def line_of(event: Event) -> dict[str, object]:
    """An event as JSON has it: its name, when, and what it says."""
    said = {"template": event.template.as_dict()} if isinstance(event, Found) else vars(event)
    return _line(type(event).__name__.lower(), {name: _plain(value) for name, value in said.items()})


def _line(event: str, said: Mapping[str, object]) -> dict[str, object]:
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
    return {"event": event, "time": now, **said}


def _plain(value: object) -> object:
    """A value as JSON can have it."""
    if isinstance(value, str | int | float):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return dict(value) if isinstance(value, Mapping) else value


def open_log(path: Path) -> TextIO:
    """A file that grows; its folder is made where it is missing."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("a", encoding="utf-8")
    except OSError as error:
        raise WrongUsage(f"--log {path} cannot be written ({error.strerror}); name another file") from error


class FolderLog:
    """`events.jsonl` of the harvest that runs now: begun anew each time, because a harvest that goes on tells everything again.

    Of the records of an answer the first new one is there as an example, unless there was one just before; all are in the table.
    """

    def __init__(self, folder: Path, budget: int, observe: Observer) -> None:
        self._out = (folder / EVENTS).open("w", encoding="utf-8")
        self._observe = observe
        self._has_example, self._next_example = False, 0.0  # on the monotonic clock
        self._write(_line("started", {"pid": os.getpid(), "budget": budget}))

    def __enter__(self) -> Observer:
        return self.follow if wants_records(self._observe) else self._follow_examples

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, UpwellError):
            self._write(_line("failed", {"reason": str(error), "kind": type(error).__name__}))
        self._out.close()

    def follow(self, event: Event) -> None:
        """Writes one event, and hands it on."""
        if isinstance(event, Held):
            if not self._has_example and time.monotonic() >= self._next_example:
                self._next_example = time.monotonic() + SECONDS_BETWEEN_EXAMPLES
                row = {name: _short(value) for name, value in event.row.items()}
                self._write(_line("held", {"row": row}))
            self._has_example = True
        else:
            self._has_example = self._has_example and not isinstance(event, Asked)
            self._write(line_of(event))
        self._observe(event)

    @without_records
    def _follow_examples(self, event: Event) -> None:
        self.follow(event)

    def _write(self, line: dict[str, object]) -> None:
        self._out.write(encode(line) + "\n")
        self._out.flush()


def _short(value: object) -> object:
    return value[:MAX_CHARS] if isinstance(value, str) else value
