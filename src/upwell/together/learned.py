"""A source that was learned before, as its `source.json` has it: how it is asked, how its answers are read, and what its table is like."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from upwell.errors import WrongUsage
from upwell.extract.tidy import TableColumn, load_columns, rows_of
from upwell.model import Record, SearchInterface, interface_of
from upwell.site.gate import Gate
from upwell.source.model import SourceModel, load_all
from upwell.store.remote import local_copy
from upwell.store.typed import typed_fields

__all__ = ["FILE", "LearnedSource", "SourceAnswer", "load_sources", "source_files"]

FILE = "source.json"


@dataclass(frozen=True, kw_only=True)
class LearnedSource:
    """One source: all that is needed to ask it a question and to read the answer."""

    name: str  # the host, and the path of the search where a site has several
    interface: SearchInterface
    model: SourceModel
    tables: Mapping[str, Sequence[TableColumn]] = field(default_factory=dict)  # kind of thing → columns of its table
    gates: tuple[Gate, ...] = ()  # in front of the site, that were passed

    def fields(self, records: Sequence[Record]) -> list[dict[str, object]]:
        """The fields of the records of an answer, named and typed as in the table of the harvest; as they were read where there is none."""
        seen = {name for record in records for name in record.fields}
        columns = max(self.tables.values(), key=lambda columns: _known(columns, seen), default=())
        if not _known(columns, seen):
            return [dict(record.fields) for record in records]
        types = {column.name: column.type for column in columns if not column.is_list}
        rows = rows_of([record.fields for record in records], columns, with_pages=False)
        return [_typed(row, types) for row in rows]


@dataclass(kw_only=True)
class SourceAnswer:
    """What one source answered: its records in its own order, and what went wrong, if anything did."""

    source: str
    records: list[Record] = field(default_factory=list)
    fields: list[dict[str, object]] = field(default_factory=list)  # of the records
    pages: int = 0
    requests: int = 0
    seconds: float = 0.0
    trouble: str = ""  # why it has no answer, or not the whole
    drift: str = ""  # why it no longer looks as it was learned


def _known(columns: Sequence[TableColumn], names: set[str]) -> int:
    return len(names.intersection(name for column in columns for name in column.of))


def _typed(row: Mapping[str, object], types: Mapping[str, object]) -> dict[str, object]:
    """The values of one row; what is not there is left out."""
    fields = {name: value for name, value in row.items() if not name.startswith("_") and value not in (None, "", [])}
    texts = {name: value for name, value in fields.items() if isinstance(value, str)}
    return fields | typed_fields(texts, types)  # type: ignore[arg-type] # the types of columns


def source_files(places: Iterable[str | Path]) -> list[Path]:
    """The `source.json` files at places: files, folders of harvests, and folders that hold such folders; each once."""
    files: list[Path] = []
    for place in (local_copy(one, with_archive=False) for one in places):
        if place.is_file():
            found = [place]
        elif (place / FILE).is_file():
            found = [place / FILE]
        else:
            found = sorted(place.glob(f"*/{FILE}")) or sorted(place.glob(f"*/*/{FILE}")) if place.is_dir() else []
        if not found:
            why = f"has no {FILE}" if place.is_dir() else "does not exist"
            raise WrongUsage(f"{place} {why}; name a {FILE}, the folder of a finished harvest, or a folder of such")
        files += found
    return list(dict.fromkeys(files))


def load_sources(file: Path) -> list[LearnedSource]:
    """The sources of a `source.json`."""
    try:
        text = file.read_text(encoding="utf-8")
        models = load_all(text)
        loaded = json.loads(text)
        saved = loaded if isinstance(loaded, list) else [loaded]
        if "template" not in saved[0]:
            raise WrongUsage(f"{file} does not say how its source is asked; `upwell harvest` writes one that does")
        interfaces = [interface_of(one["template"]) for one in saved]
        gates = [tuple(Gate.of_dict(gate) for gate in one.get("gates", ())) for one in saved]
        tables = {kind: load_columns(columns) for kind, columns in saved[0].get("tables", {}).items()}
    except (OSError, UnicodeDecodeError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise WrongUsage(f"{file} cannot be read ({error!r}); harvest the site again") from error
    except WrongUsage as error:
        raise WrongUsage(f"{file}: {error}") from error
    several = len(interfaces) > 1
    return [
        LearnedSource(name=_name(interface, several), interface=interface, model=model, tables=tables, gates=passed)
        for interface, model, passed in zip(interfaces, models, gates, strict=True)
    ]


def _name(interface: SearchInterface, with_path: bool) -> str:
    parts = urlsplit(interface.url)
    return f"{parts.netloc}{parts.path}" if with_path else parts.netloc
