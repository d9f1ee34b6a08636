"""Types of the native module; native.h documents arguments, columns and results."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from upwell.page.path_signatures import PathSignature

Int32 = NDArray[np.int32] | bytes
Float64 = NDArray[np.float64]

SOURCES: str

# walk.c

def bind(path: str, td: int, th: int, dialog: int, tag_display: dict[str, int]) -> None: ...
def walk(html: bytes, limit: int = 0, reveals: bool = False, part: int = 0, /) -> dict[str, Any] | None: ...
def store_signature(table: int, entry: int, signature: PathSignature) -> PathSignature: ...
def finish_gaps(
    gaps: NDArray[np.int8],
    spaced: NDArray[np.int8],
    chunks: tuple[str, ...],
    chunk_row: NDArray[np.int32],
    rows_before: NDArray[np.int32],
    parent: NDArray[np.int32],
    signature: NDArray[np.int32],
    marks: bytes,
) -> None: ...

# attributes.c

class Attributes(Mapping[int, Mapping[str, str | None]]):
    def __new__(
        cls, names: tuple[str, ...], first: bytes, numbers: bytes, ends: bytes, values: bytes
    ) -> Attributes: ...
    def names(self) -> tuple[str, ...]: ...
    def having(self, name: str) -> dict[int, str]: ...
    def of_rows(self, name: str, rows: NDArray[np.int32]) -> list[str | None]: ...
    def value(self, row: int, name: str) -> str | None: ...
    def __getitem__(self, row: int) -> Mapping[str, str | None]: ...
    def __iter__(self) -> Iterator[int]: ...
    def __len__(self) -> int: ...

# tokens.c

def tokens(text: str) -> list[str] | None: ...
@overload
def terms(
    text: str, parts: list[list[str]], as_spans: Literal[False] = False
) -> tuple[
    list[str],  # words
    bytes,  # ids: int32[tokens]
    bytes,  # begins: int32[chunks + 1]
    list[str],  # left
]: ...
@overload
def terms(
    text: str, parts: list[list[str]], as_spans: Literal[True]
) -> tuple[
    tuple[str, bytes],  # text in lower case, spans: int32[words][2]
    bytes,
    bytes,
    list[str],
]: ...
def columns_of(words: list[str], fields: dict[str, str]) -> list[str | None] | None: ...

# bytes.c

def is_utf8(page: bytes) -> bool: ...
def to_utf8(page: bytes, table: bytes) -> bytes: ...
def has_crowded_tag(html: bytes, limit: int) -> bool: ...

# judge.c

def text_features(texts: tuple[str, ...], max_short: int) -> bytes: ...
def groups_in(name: str, words: tuple[bytes, ...], groups: bytes, first: NDArray[np.int32]) -> int | None: ...
def tree_sums(
    x: Float64, features: int, depth: int, feature: NDArray[np.int32], at: Float64, leaf: Float64
) -> bytes: ...

# leaves.c, cuts.c, records.c

class Leaves:
    def __new__(
        cls,
        texts: Sequence[str],
        row: NDArray[np.int32],
        gap: NDArray[np.int8],
        signature: NDArray[np.int32],
        parent: NDArray[np.int32],
        end: NDArray[np.int32],
        row_start: NDArray[np.int32],
        row_end: NDArray[np.int32],
        signatures: int,
    ) -> Leaves: ...
    def cuts(
        self,
        flags: Int32,
        path: Int32,
        share: Float64 | bytes,
        how: int,
        all_containers: bool,
        leader: int,
        mean_share: float,
        usual_paths: float,
        longest: int,
        separators: NDArray[np.uint64] | bytes,
        limits: tuple[float, float, int],
    ) -> tuple[
        list[tuple[bytes, bytes, bytes, bytes]],  # cuts: first, last, container, container_end
        bytes,  # unit: int32[leaves]
        bytes,  # unit_row: int32[leaves]
    ]: ...
    def records(
        self,
        starts: NDArray[np.int32],
        ends: NDArray[np.int32],
        unit_row: NDArray[np.int32],
        link_rows: NDArray[np.int32],
        targets: list[str | None],
        place_step: NDArray[np.uint64],
        tag_step: NDArray[np.uint64],
        flags: NDArray[np.int32],
        names_of_places: dict[int, str],
        names: dict[tuple[int, int], str],
        labels: tuple[str, ...],
        other: str,
        own_place: int,
        own_nth: int,
        min_repeated: int,
    ) -> tuple[
        bytes,  # ranges: int32[5 * records]
        list[dict[str, str] | list[tuple[int, str, int, bool]]],  # fields, or pieces
        list[tuple[str, ...]],  # targets
        list[str | None],  # own
        list[str],  # texts
    ]: ...

# lines.c

def lines(
    chunks: tuple[str, ...],
    chunk_gap: NDArray[np.int8],
    chunk_row: NDArray[np.int32],
    parent: NDArray[np.int32],
    codes: NDArray[np.int64],
) -> tuple[
    bytes,  # first: int32[lines]
    bytes,  # last: int32[lines]
    bytes,  # row: int32[lines]
    tuple[str, ...],  # texts
    bytes,  # chars: float64[lines]
    bytes,  # linked: float64[lines]
]: ...
def line_features(
    x: Float64,
    first: NDArray[np.int32],
    row: NDArray[np.int32],
    chars: Float64,
    linked: Float64,
    roles: NDArray[np.int64],
    codes: NDArray[np.int64],
    parent: NDArray[np.int32],
    end: NDArray[np.int32],
    text_at: NDArray[np.int32],
    text_end: NDArray[np.int32],
    texts: tuple[str, ...],
    styles: tuple[str, ...],
    title: str,
    sentence_ends: str,
    copyright_marks: tuple[str, ...],
    limits: tuple[float, ...],
) -> tuple[list[int], list[int]]: ...  # title_lines, date_lines

# keys.c

def hash_of(key: str) -> int: ...

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

# word_counts.c

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
    arrays: Sequence[NDArray[np.int32]],
    inside: NDArray[np.int32],
    once: NDArray[np.int32],
    twice: NDArray[np.int32],
    whole: NDArray[np.int32],
    classes: NDArray[np.int16],
    done: NDArray[np.bool_],
    share: Float64,
    calibration: Float64,
    numbers: tuple[float, ...],
) -> tuple[
    bytes,  # words: int32[n]
    bytes,  # weighed: float64[4 * n]
    int,  # best
]: ...
def weigh_pairs(
    words: NDArray[np.int64],
    both: NDArray[np.int64],
    kinds: NDArray[np.int64],
    inside: NDArray[np.int32],
    once: NDArray[np.int32],
    told: NDArray[np.float32],
    barren: NDArray[np.bool_],
    calibration: Float64,
    asked: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    numbers: tuple[float, ...],
) -> bytes: ...
