"""Sources loaded from `source.json`: how to query them, how to read their answers, and the columns of their tables."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from upwell.discover.consent_page import ConsentPage
from upwell.errors import WrongUsage
from upwell.net.manners import Manners
from upwell.source.model import OWN_SOURCE, SourceModel, interface_entry, interface_text, load_all
from upwell.store.remote import local_copy
from upwell.store.user_memory import is_remembered
from upwell.table.schema import TableColumn, columns_from_json, shape_rows
from upwell.table.value_types import typed_fields
from upwell.types import Record, SearchInterface, interface_of
from upwell.urls.hosts import host_and_port, is_private_address

__all__ = ["SOURCE_FILE", "LearnedSource", "SourceAnswer", "load_sources", "source_files"]

SOURCE_FILE = "source.json"


@dataclass(frozen=True, kw_only=True)
class LearnedSource:
    """Everything needed to query one source and read its answers."""

    name: str  # host, plus the path of the search if the site has several sources
    interface: SearchInterface
    model: SourceModel
    tables: Mapping[str, Sequence[TableColumn]] = field(default_factory=dict)  # entity kind → columns of its table
    consent_pages: tuple[ConsentPage, ...] = ()  # that were clicked through
    interface_text: str = ""  # the interface as in the file

    @property
    def address(self) -> str:
        """Return the address of the site, as the file names it."""
        return self.interface.page or self.interface.url

    def is_own(self) -> bool:
        """Return True if a harvest of this user learned exactly this interface, so that its requests are not a stranger's choice."""
        return is_remembered(OWN_SOURCE, self.interface_text)

    def trusted(self, manners: Manners) -> Manners:
        """Return the manners to query this source: its private address is allowed if a harvest of this user learned it."""
        addresses = dict.fromkeys((self.address, self.interface.url))
        private = [address for address in addresses if is_private_address(host_and_port(address)[0])]
        return replace(manners, allow=(*manners.allow, *private)) if private and self.is_own() else manners

    def fields(self, records: Sequence[Record]) -> list[dict[str, object]]:
        """Return the records' fields, named and typed as in the harvested table, or as read if there is no table."""
        seen = {name for record in records for name in record.fields}
        columns = max(self.tables.values(), key=lambda columns: _count_known(columns, seen), default=())
        if not _count_known(columns, seen):
            return [dict(record.fields) for record in records]
        types = {column.name: column.type for column in columns if not column.is_list}
        rows = shape_rows([record.fields for record in records], columns, with_pages=False)
        return [_typed(row, types) for row in rows]


@dataclass(kw_only=True)
class SourceAnswer:
    """Answer of one source: its records in the source's order, and problems if there were any."""

    source: str
    records: list[Record] = field(default_factory=list)
    fields: list[dict[str, object]] = field(default_factory=list)  # fields of `records`
    pages: int = 0
    requests: int = 0
    seconds: float = 0.0
    trouble: str = ""  # why the answer is missing or incomplete
    drift: str = ""  # why the answer no longer fits the source model


def _count_known(columns: Sequence[TableColumn], names: set[str]) -> int:
    return len(names.intersection(name for column in columns for name in column.of))


def _typed(row: Mapping[str, object], types: Mapping[str, object]) -> dict[str, object]:
    """Return the typed values of a row without empty ones."""
    fields = {name: value for name, value in row.items() if not name.startswith("_") and value not in (None, "", [])}
    texts = {name: value for name, value in fields.items() if isinstance(value, str)}
    return fields | typed_fields(texts, types)  # type: ignore[arg-type] # column types


def source_files(places: Iterable[str | Path]) -> list[Path]:
    """Return the distinct `source.json` files at the given places: files, harvest folders, or folders of harvest folders."""
    files: list[Path] = []
    for place in (local_copy(given, with_archive=False) for given in places):
        if place.is_file():
            files_here = [place]
        elif (place / SOURCE_FILE).is_file():
            files_here = [place / SOURCE_FILE]
        else:
            files_here = (
                sorted(place.glob(f"*/{SOURCE_FILE}")) or sorted(place.glob(f"*/*/{SOURCE_FILE}"))
                if place.is_dir()
                else []
            )
        if not files_here:
            why = f"has no {SOURCE_FILE}" if place.is_dir() else "does not exist"
            raise WrongUsage(
                f"{place} {why}; give a {SOURCE_FILE}, the folder of a finished harvest, or a folder that contains harvests"
            )
        files += files_here
    return list(dict.fromkeys(files))


def load_sources(file: Path) -> list[LearnedSource]:
    """Load the sources of a `source.json`."""
    try:
        text = file.read_text(encoding="utf-8")
        models = load_all(text)
        loaded = json.loads(text)
        entries = loaded if isinstance(loaded, list) else [loaded]
        saved_interfaces = [saved for entry in entries if (saved := interface_entry(entry)) is not None]
        if len(saved_interfaces) < len(entries):
            raise WrongUsage("it has no search interface; run `upwell harvest` to write a complete file")
        interfaces = [interface_of(saved) for saved in saved_interfaces]
        consent_pages = [tuple(map(ConsentPage.of_dict, _consent_entries(entry))) for entry in entries]
        tables = {kind: columns_from_json(columns) for kind, columns in entries[0].get("tables", {}).items()}
    except (OSError, UnicodeDecodeError, KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise WrongUsage(f"{file} cannot be read ({error!r}); run the harvest again") from error
    except WrongUsage as error:
        raise WrongUsage(f"{file}: {error}") from error
    several = len(interfaces) > 1
    return [
        LearnedSource(
            name=_name(interface, several),
            interface=interface,
            model=model,
            tables=tables,
            consent_pages=pages,
            interface_text=interface_text(entry),
        )
        for interface, model, pages, entry in zip(interfaces, models, consent_pages, entries, strict=True)
    ]


def _consent_entries(entry: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the consent pages of an entry of `source.json`, where earlier versions call them "gates"."""
    entries: Sequence[Mapping[str, Any]] = entry.get("consent_pages") or entry.get("gates") or ()
    return entries


def _name(interface: SearchInterface, with_path: bool) -> str:
    parts = urlsplit(interface.url)
    return f"{parts.netloc}{parts.path}" if with_path else parts.netloc
