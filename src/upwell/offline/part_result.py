"""What `--engine` tells of each WARC file."""

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["PartOfArchive"]


@dataclass(frozen=True, kw_only=True)
class PartOfArchive:
    """One WARC file of many that was read: the part of each table that it gave."""

    file: str
    pages: int
    rows: Mapping[str, int]  # by table
    elsewhere: int = 0  # pages that only refer to a body in another file, and have no rows
    trouble: str = ""  # why it was not read to its end; it is read again the next time
    was_done: bool = False  # an earlier run did it

    def as_dict(self) -> dict[str, object]:
        return {**vars(self), "rows": dict(self.rows)}
