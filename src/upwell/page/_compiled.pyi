from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from upwell.page.spots import Spot

T = TypeVar("T")
Info = TypeVar("Info", bound=tuple[int, int, bool])

INTERFACE: int

class Attributes(Mapping[int, Mapping[str, str | None]]):
    def __new__(
        cls, names: tuple[str, ...], first: bytes, numbers: bytes, ends: bytes, values: bytes
    ) -> Attributes: ...
    def names(self) -> tuple[str, ...]: ...
    def having(self, name: str) -> dict[int, str]: ...
    def of_rows(self, name: str, rows: NDArray[np.int32]) -> list[str | None]: ...
    def value(self, row: int, name: str) -> str | None: ...
    def __getitem__(self, row: int) -> Mapping[str, str | None]: ...
    def __iter__(self) -> Any: ...
    def __len__(self) -> int: ...

class Leaves:
    def __new__(
        cls,
        texts: Sequence[str],
        row: NDArray[np.int32],
        gap: NDArray[np.int8],
        spots: tuple[Spot, ...],
        spot: NDArray[np.int32],
        parent: NDArray[np.int32],
        end: NDArray[np.int32],
        row_start: NDArray[np.int32],
        row_end: NDArray[np.int32],
    ) -> Leaves: ...
    def add_pieces(
        self,
        pieces: list[T],
        first: int,
        last: int,
        below: dict[Spot | None, Info],
        piece: type[T],
        place_of: Callable[[dict[Spot | None, Info], Spot], Info],
    ) -> None: ...
    def cuts(
        self,
        known: dict[Spot, tuple[int, int, float]],
        of_spot: Callable[[Spot], tuple[int, int, float]],
        how: int,
        all_containers: bool,
        leader: int,
        mean_share: float,
        usual_paths: float,
        longest: int,
        separators: NDArray[np.uint64] | bytes,
        limits: tuple[float, float, int],
    ) -> tuple[list[tuple[bytes, bytes, bytes, bytes]], bytes, bytes]: ...
    def records(
        self,
        starts: NDArray[np.int32],
        ends: NDArray[np.int32],
        unit_row: NDArray[np.int32],
        link_rows: NDArray[np.int32],
        targets: list[str | None],
        columns: tuple[dict[int, str], dict[tuple[int, int], str], tuple[str, ...], str, int, int],
        places: tuple[Any, ...],
        shortest: int,
    ) -> list[Any]: ...
    def text(self, first: int, last: int, shortest: int) -> str: ...

def bind(path: str, td: int, th: int, dialog: int) -> None: ...
def walk(
    html: bytes, make_spot: Callable[..., Spot]
) -> (
    tuple[
        str,
        dict[int, str],
        dict[int, str],
        tuple[Spot, ...],
        bytes,
        bytes,
        bytes,
        bytes,
        bytes,
        tuple[str, ...],
        bytes,
        bytearray,
        Attributes,
        bytes,
        bytes,
        bytes,
    ]
    | None
): ...
def terms(text: str, plain: Callable[[str], list[str]]) -> tuple[list[str], bytes, bytes]: ...
def tokens(text: str) -> list[str] | None: ...
def has_crowded_tag(html: bytes, limit: int) -> bool: ...
def steps_below(
    row: int, end: NDArray[np.int32], spot: NDArray[np.int32], spots: tuple[Spot, ...]
) -> dict[int, str]: ...
def text(chunks: tuple[str, ...], gaps: NDArray[np.int8], first: int, last: int) -> str: ...
def numbered_lines(text: str, most: int) -> list[str]: ...
def is_utf8(page: bytes) -> bool: ...
def count(page: bytes, byte: int) -> int: ...
def recoded(page: bytes, table: bytes) -> bytes: ...
def finish_gaps(
    gaps: NDArray[np.int8],
    spaced: NDArray[np.int8],
    chunks: tuple[str, ...],
    chunk_row: NDArray[np.int32],
    rows_before: NDArray[np.int32],
    parent: NDArray[np.int32],
    spot: NDArray[np.int32],
    is_marking: bytes,
) -> None: ...
