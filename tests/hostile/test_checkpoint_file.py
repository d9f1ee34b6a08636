"""A checkpoint from a shared folder executes nothing: whatever it contains, it is ignored, or the harvest replays its answers."""

import copy
import hashlib
import os
import pickle
import resource
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgpack
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import upwell
from upwell import api
from upwell.choose.plan import Plan
from upwell.demo import Running, serve
from upwell.harvest import checkpoint_format
from upwell.harvest.checkpoint import LENGTHS, MAGIC
from upwell.harvest.checkpoint_format import BadCheckpoint
from upwell.net.fetch import Manners

FREE = Manners(rate=0)
PROCESS_VALUES = dict.fromkeys(checkpoint_format.PROCESS_FIELDS)
HOSTILE: list[Any] = [
    None, True, -1, 2**63 - 1, -(2**63), 2**64 - 1, float("nan"), float("inf"), "", "x" * 100, b"", b"\xff" * 9, [], {}, [[]], ["ref", 0], ["ref", -1],
    ["ref", 10**9], ["os", "system"], ["system", "mkdir evil"], ["n", "|O8", [1], b"\0" * 8], ["n", "<i4", [2**40], b""], ["n", "<i4", [-1], b"\0" * 4],
    ["a", "u", b"\0" * 4], ["s", [0, 2**61 - 1]], ["d", ["t", [[]]], ["t", [1]]], ["deque", -1, ["t", []]], ["outside", 10**9, 1, 1], [10**6], [-1], [0],
    ["tree"], ["numbers", b"\0" * 16], ["attributes", ["a"], b"", b"", b"", b""], ["random", b"", b"", 1, -1], ["keys", b"\1" * 16], ["open", 0, ["t", [1]]],
]  # fmt: skip


class Blobs:
    """Storage of record words that contains nothing."""

    def append(self, data: bytes) -> int:
        return 0

    def read(self, place: int, size: int) -> bytes:
        return b""


@pytest.fixture(scope="module")
def site() -> Iterator[Running]:
    with serve() as running:
        yield running


@pytest.fixture(scope="module")
def saved(site: Running, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the checkpoint of a harvest that can be continued."""
    out = tmp_path_factory.mktemp("saved")
    api.harvest(site.url, out=out, plan=Plan(budget=60), manners=FREE)
    return next(out.rglob("checkpoint"))


def parts(file: Path) -> tuple[bytes, Any]:
    """Return the header of a checkpoint, and its objects as nodes."""
    data = file.read_bytes()[len(MAGIC) + 32 :]
    header, _ = LENGTHS.unpack(data[: LENGTHS.size])
    objects = data[LENGTHS.size + header :]
    return data[LENGTHS.size : LENGTHS.size + header], msgpack.unpackb(objects, unicode_errors="surrogatepass")


def joined(header: bytes, objects: bytes) -> bytes:
    """Return a checkpoint with a valid digest."""
    data = LENGTHS.pack(len(header), len(objects)) + header + objects
    return MAGIC + hashlib.sha256(data).digest() + data


def places(node: Any, *, with_pages: bool = True) -> Iterator[tuple[Any, Any]]:
    """Yield every place in a tree of nodes: its container and its key."""
    waiting = [node]
    while waiting:
        at = waiting.pop()
        for key, value in at.items() if isinstance(at, dict) else enumerate(at):
            yield at, key
            if isinstance(value, list | dict) and (with_pages or list(value)[:1] != ["tree"]):
                waiting.append(value)


def read(objects: bytes) -> object:
    return checkpoint_format.load(objects, PROCESS_VALUES, lambda *values: Blobs())


def continued(site: Running, saved: Path, tmp_path: Path, content: bytes) -> int:
    """Continue the harvest in a copy of its folder with another checkpoint; return the number of requests that were sent."""
    shutil.copytree(saved.parent.parent, tmp_path / "out")
    file = next((tmp_path / "out").rglob("checkpoint"))
    file.write_bytes(content)
    before = len(site.received)
    result = api.harvest(site.url, out=tmp_path / "out", plan=Plan(budget=65), manners=FREE)
    assert result.summary["records"] > 0
    return len(site.received) - before


class Evil:
    """Object whose pickle creates a folder."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, ("evil",)


# a pickle that reaches a class of another module by a dotted name, and calls it: `logging.FileHandler("evil")` creates a file
DOTTED = b"\x80\x05\x8c\x16upwell.harvest.session\x8c\x13logging.FileHandler\x93\x8c\x04evil\x85R."


@pytest.mark.parametrize("kind", ["pickle", "dotted", "with the old digest", "inside"])
def test_a_pickle_is_not_executed(
    kind: str, site: Running, saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither as the file, nor as a part of it; the harvest continues from its state and sends only new requests."""
    monkeypatch.chdir(tmp_path)
    header, _ = parts(saved)
    evil = pickle.dumps(Evil())
    old = hashlib.sha256(evil).digest() + evil
    dotted = hashlib.sha256(DOTTED).digest() + DOTTED
    content = {"pickle": evil, "dotted": dotted, "with the old digest": old, "inside": joined(header, evil)}[kind]
    assert 0 < continued(site, saved, tmp_path, content) <= 7
    assert not (tmp_path / "evil").exists()


def test_no_part_of_a_folder_is_unpickled() -> None:
    """Only the pipe to a worker process that the engine itself started uses pickle."""
    source = Path(upwell.__file__).parent
    users = {
        path.relative_to(source).as_posix() for path in source.rglob("*.py") if "import pickle" in path.read_text()
    }
    assert users == {"engines/worker.py"}


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(place=st.floats(0, 0.999999), value=st.sampled_from(HOSTILE))
def test_a_changed_value_is_rejected_or_of_the_declared_type(place: float, value: Any, saved: Path) -> None:
    """One place of a real checkpoint has a hostile value: the result is a BadCheckpoint or harmless, nothing else is raised."""
    _, nodes = parts(saved)
    every = list(places(nodes))
    container, key = every[int(place * len(every))]
    container[key] = copy.deepcopy(value)
    with suppress(BadCheckpoint):
        read(msgpack.packb(nodes, unicode_errors="surrogatepass"))


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.binary(max_size=300) | st.recursive(st.none() | st.integers(-(2**63), 2**63) | st.text() | st.binary() | st.sampled_from(
    ["l", "L", "t", "T", "s", "S", "f", "F", "d", "n", "a", "b", "g", "ref", "keys", "numbers", "tree", "open", "deque", "counter", "random", "outside"]),
    lambda inner: st.lists(inner, max_size=5)).map(msgpack.packb))  # fmt: skip
def test_any_bytes_are_a_value_or_a_bad_checkpoint(data: bytes) -> None:
    """Arbitrary bytes and arbitrary nodes raise nothing else."""
    with suppress(BadCheckpoint):
        read(data)


def test_reading_is_bounded() -> None:
    """Deep nesting, huge announced sizes and colliding keys cost neither the stack nor memory nor time."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    colliding = ["s", [number * (2**61 - 1) for number in range(1, 4)] * 20_000]
    for data in (
        b"\x91" * 500_000,
        b"\xdd\xff\xff\xff\xff" * 1000,
        b"\xdf\xff\xff\xff\xff" * 1000,
        b"\xc6\xff\xff\xff\xff" + b"x" * 1000,
        msgpack.packb(colliding),
        msgpack.packb(["n", "<f8", [2**62, 4], b""]),
    ):
        with pytest.raises(BadCheckpoint):
            read(data)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # KB


def test_well_formed_values_that_do_not_fit_together_are_replayed(site: Running, saved: Path, tmp_path: Path) -> None:
    """All numbers of all arrays are changed, types and sizes are not: the harvest completes as if there were no checkpoint."""
    header, nodes = parts(saved)
    for container, key in list(places(nodes, with_pages=False)):
        node = container[key]
        if isinstance(node, list) and node[:1] in (["n"], ["a"]) and isinstance(node[-1], bytes):
            node[-1] = bytes(len(node[-1])) if len(node[-1]) % 3 else b"\x7f" * len(node[-1])
    assert continued(site, saved, tmp_path, joined(header, msgpack.packb(nodes, unicode_errors="surrogatepass"))) <= 7


@pytest.mark.parametrize("kind", ["fifo", "folder", "empty"])
def test_a_checkpoint_that_is_no_file_is_ignored(kind: str, site: Running, saved: Path, tmp_path: Path) -> None:
    """A pipe does not block the harvest."""
    shutil.copytree(saved.parent.parent, tmp_path / "out")
    file = next((tmp_path / "out").rglob("checkpoint"))
    file.unlink()
    if kind == "fifo":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    else:
        file.write_bytes(b"")
    result = api.harvest(site.url, out=tmp_path / "out", plan=Plan(budget=62), manners=FREE)
    assert result.summary["records"] > 0
