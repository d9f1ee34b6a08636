from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from upwell.page.path_signatures import PathSignature

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

class KeyNumbers:
    def __new__(cls, hashes: bytes = b"") -> KeyNumbers: ...
    def __len__(self) -> int: ...
    def find_one(self, hashed: int) -> int: ...
    def find(self, hashes: Sequence[int]) -> list[int]: ...
    def find_words(self, words: Sequence[str]) -> list[int]: ...
    def add(self, hashed: int) -> int: ...
    def number_words(
        self, lists: Sequence[Sequence[str]], stops: frozenset[str] | None
    ) -> tuple[bytes, bytes, list[list[str]]]: ...

class Leaves:
    def __new__(
        cls,
        texts: Sequence[str],
        row: NDArray[np.int32],
        gap: NDArray[np.int8],
        spots: tuple[PathSignature, ...],
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
        below: dict[PathSignature | None, Info],
        piece: type[T],
        place_of: Callable[[dict[PathSignature | None, Info], PathSignature], Info],
    ) -> None: ...
    def cuts(
        self,
        known: dict[PathSignature, tuple[int, int, float]],
        of_spot: Callable[[PathSignature], tuple[int, int, float]],
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
    html: bytes, make_spot: Callable[..., PathSignature]
) -> (
    tuple[
        str,
        dict[int, str],
        dict[int, str],
        tuple[PathSignature, ...],
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
    row: int, end: NDArray[np.int32], spot: NDArray[np.int32], spots: tuple[PathSignature, ...]
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
def shapes(words: list[str], stops: frozenset[str]) -> bytes: ...
def columns_of(words: list[str], fields: dict[str, str], plain: Callable[[str], list[str]]) -> list[str | None]: ...
def hash_of(key: str) -> int: ...
def count_words(
    cells: NDArray[np.int32],
    ends: NDArray[np.int32],
    inside: NDArray[np.int32],
    once: NDArray[np.int32],
    first: NDArray[np.int32],
    done: NDArray[np.bool_],
    shared: bytearray,
    sharing: NDArray[np.int64],
    number: int,
) -> tuple[int, int]: ...
def weigh_words(
    words: Sequence[NDArray[np.int32]],
    inside: NDArray[np.int32],
    once: NDArray[np.int32],
    twice: NDArray[np.int32],
    whole: NDArray[np.int32],
    classes: NDArray[np.int16],
    done: NDArray[np.bool_],
    share: NDArray[np.float64],
    calibration: NDArray[np.float64],
    numbers: tuple[float, ...],
) -> tuple[bytes, bytes, int]: ...
def lines(
    chunks: tuple[str, ...],
    gap: NDArray[np.int8],
    chunk_row: NDArray[np.int32],
    parent: NDArray[np.int32],
    spot: NDArray[np.int32],
    spots: tuple[PathSignature, ...],
    known_codes: dict[PathSignature, int],
    code_of: Callable[[PathSignature], int],
) -> tuple[bytes, bytes, bytes, tuple[str, ...], bytes, bytes, tuple[str, ...], bytes]: ...
def line_features(
    x: NDArray[np.float64],
    lines: tuple[NDArray[Any], ...],
    page: tuple[NDArray[np.int32], ...],
    texts: tuple[tuple[str, ...], tuple[str, ...], dict[int, str], str],
    asked: tuple[Callable[[str], int], Callable[[str], tuple[bool, bool]], str, tuple[str, ...]],
    limits: tuple[float, ...],
) -> list[int]: ...
def weigh_pairs(
    words: NDArray[np.int64],
    both: NDArray[np.int64],
    kinds: NDArray[np.int64],
    inside: NDArray[np.int32],
    once: NDArray[np.int32],
    told: NDArray[np.float32],
    barren: NDArray[np.bool_],
    calibration: NDArray[np.float64],
    asked: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    numbers: tuple[float, ...],
) -> bytes: ...
