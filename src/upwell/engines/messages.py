"""Messages between the process engine and its workers: pickled tuples, each after its length."""

from __future__ import annotations

import asyncio
import pickle
import struct
from typing import Any

__all__ = ["packed", "read"]

LENGTH = struct.Struct("!Q")


def packed(message: tuple[Any, ...]) -> bytes:
    """A message as bytes."""
    body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(body)) + body


async def read(stream: asyncio.StreamReader) -> tuple[Any, ...] | None:
    """The next message; None where the other side is gone."""
    try:
        (length,) = LENGTH.unpack(await stream.readexactly(LENGTH.size))
        message: tuple[Any, ...] = pickle.loads(await stream.readexactly(length))  # noqa: S301 # from our own process
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return message
