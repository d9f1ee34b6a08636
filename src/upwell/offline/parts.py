"""`--engine`: `extract`, `entities` or `blocks` over many WARC files at once; learned on a sample, a part of each table for each file.

    OUT/sample.json              the pages that were learned from: a later run learns the same from them
    OUT/records/NAME.parquet     the part of a file, and so on for each table; NAME is the file's, with / written as %2F
    OUT/parts/NAME.json          that the part is done: its pages, its rows, the bytes of its file

A file of more than 64 MB is read in several parts; those after the first are called by where they begin: NAME@64000123.
A part is written when it was read to its end, its note last; a later run does what has no note, or whose file has grown.
The files and OUT may be addresses (`s3://…`): a process fetches its file, and puts its parts.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

from upwell.errors import TookTooLong, UpwellError, WrongUsage
from upwell.offline.part_engines import PartEngine, run_parts
from upwell.offline.part_readers import LearnedParts, learn_parts
from upwell.offline.part_result import PartOfArchive
from upwell.offline.saved_pages import SavedPage, sample_evenly, saved_page
from upwell.store import archive
from upwell.store.archived_pages import ArchivedPage, BodyPlaces, pages_of_file, sections
from upwell.store.parquet import RowWriter
from upwell.store.remote import RemoteFolder, is_remote, shown
from upwell.version import installed_version

__all__ = ["read_in_parts"]

SAMPLED_FILES = 20  # evenly spread, that the sample is taken from: more only cost
SAMPLED_PAGES = {"extract": 300, "entities": 100, "blocks": 1000}  # as the verbs learn from without parts
SAMPLE, NOTES = "sample.json", "parts"
Warn = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class Part:
    """A WARC file to read, or a section of it: where it is, and where its part of the tables goes."""

    place: str  # a folder or a file of archives
    file: str  # its name, relative to the place
    start: int = 0  # offset
    bytes: int
    out: str

    @property
    def name(self) -> str:
        """What it is called."""
        return f"{self.file}@{self.start}" if self.start else self.file

    @property
    def safe_name(self) -> str:
        """The same as the name of one file."""
        return quote(self.name, safe="")

    def pages(self, file: Path, places: BodyPlaces) -> Iterator[ArchivedPage]:
        """Its pages in the file, which lies here."""
        return pages_of_file(file, self.file, places, self.start, self.start + self.bytes)


def read_in_parts(
    verb: str,
    place: str | Path,
    *,
    out: str | Path,
    engine: PartEngine = "processes",
    workers: int = 0,
    model: Any = None,
    warn: Warn = lambda _: None,
) -> Iterator[PartOfArchive]:
    """Reads the WARC files at a place, a path or an address, with a verb; a result for each file, in the order of their names.

    `workers` are processes at once, 0 as many as there are cores. `model` is what an earlier run of the verb learned, where it has such.
    A file that is broken is told, with what could be read of it written, and the rest is done; the same call again does only what is left.
    """
    parts = _parts(str(place), str(out))
    done = {part.name: note for part in parts if (note := _note(part)) is not None}
    left = [part for part in parts if part.name not in done]
    if not left:
        return iter(done[part.name] for part in parts)
    learned = learn_parts(verb, _sample(verb, parts, warn), model, warn)
    return _in_order(parts, done, run_parts(engine, workers, read_part, learned, left))


def _in_order(
    parts: Sequence[Part], done: dict[str, PartOfArchive], fresh: Iterator[PartOfArchive]
) -> Iterator[PartOfArchive]:
    for part in parts:
        yield done[part.name] if part.name in done else next(fresh)


def _parts(place: str, out: str) -> list[Part]:
    """The WARC files at a place, large ones in sections; those at an address are whole, because a process fetches all of its file."""
    if is_remote(place):
        found = {name: [(0, size)] for name, size in RemoteFolder(place).sizes().items() if archive.is_warc(name)}
    else:
        path = Path(place)
        top = path if path.is_dir() else path.parent
        found = {file.relative_to(top).as_posix(): sections(file) for file in archive.files(path)}
        place = str(top)
    if not found:
        raise WrongUsage(f"{shown(place)} has no WARC files; --engine is for archives of them")
    return [
        Part(place=place, file=name, start=start, bytes=end - start, out=out)
        for name, parts in sorted(found.items())
        for start, end in parts
    ]


def _sample(verb: str, parts: Sequence[Part], warn: Warn) -> list[SavedPage]:
    """The pages that are learned from: those of an earlier run into the same folder, else some of files that are evenly spread."""
    about = {"verb": verb, "version": installed_version()}
    saved = _read_json(parts[0].out, SAMPLE)
    if saved is None:
        step = max(1, -(-len(parts) // SAMPLED_FILES))
        some = (page for part in parts[::step] for page in _first_pages(part, SAMPLED_PAGES[verb], warn))
        sample = sample_evenly(some, SAMPLED_PAGES[verb])
        if not sample:
            raise WrongUsage(f"{shown(parts[0].place)} has no page in its WARC files that can be read")
        _write_json(parts[0].out, SAMPLE, {**about, "pages": [page.name for page in sample]})
        return sample
    if {name: saved.get(name) for name in about} != about:
        raise WrongUsage(
            f"{shown(parts[0].out)} holds parts of `upwell {saved.get('verb')}` of Upwell {saved.get('version')}; "
            "name another folder with -o"
        )
    sample = [page for part in _files(parts) for page in _named_pages(part, saved["pages"])]
    if len(sample) < len(saved["pages"]):
        raise WrongUsage(
            f"{len(saved['pages']) - len(sample)} of the pages that {shown(parts[0].out)} was learned from are gone; "
            "name another folder with -o"
        )
    return sample


def _first_pages(part: Part, most: int, warn: Warn) -> Iterator[SavedPage]:
    """The pages of a part, at most so many."""
    try:
        with _local_file(part) as file:
            yield from islice((saved_page(page) for page in part.pages(file, {}) if page.body), most)
    except UpwellError as error:
        warn(f"not learned from: {error}")


def _named_pages(part: Part, names: Sequence[str]) -> Iterator[SavedPage]:
    """The pages of a file that have these names: its own, and where each begins."""
    offsets = [int(offset) for file, _, offset in (name.rpartition("@") for name in names) if file == part.file]
    if not offsets:
        return
    places: BodyPlaces = {}
    with suppress(UpwellError), _local_file(part) as file:
        for offset in offsets:
            found = next(pages_of_file(file, part.file, places, offset), None)
            if found is not None and found.page == f"{part.file}@{offset}":
                yield saved_page(found)


def _files(parts: Sequence[Part]) -> list[Part]:
    """The first part of each file."""
    return [part for part in parts if not part.start]


@contextmanager
def _local_file(part: Part) -> Iterator[Path]:
    """The WARC file of a part, fetched for a while where it is elsewhere."""
    if not is_remote(part.place):
        yield Path(part.place, part.file)
        return
    with TemporaryDirectory(prefix="upwell-") as scratch:
        file = Path(scratch, Path(part.file).name)
        RemoteFolder(part.place, Path(scratch)).fetch_file(part.file, file)
        yield file


def read_part(learned: LearnedParts, part: Part) -> PartOfArchive:
    """Reads one part and writes its part of each table; what is wrong with the file is part of the result."""
    with TemporaryDirectory(prefix="upwell-") as scratch:
        folder = Path(scratch) if is_remote(part.out) else Path(part.out)
        writers = {
            name: RowWriter(folder / name / f"{part.safe_name}.parquet", table.types)
            for name, table in learned.tables.items()
        }
        done = PartOfArchive(file=part.name, pages=0, rows={})
        try:
            done = _read(learned, part, writers)
            for writer in writers.values():
                writer.close()
        except UpwellError as error:
            return replace(done, trouble=str(error))
        finally:
            for writer in writers.values():
                writer.discard()
        if is_remote(part.out):
            remote = RemoteFolder(part.out, folder)
            for writer in writers.values():
                remote.put(writer.path.relative_to(folder).as_posix(), writer.path)
        _write_json(part.out, f"{NOTES}/{part.safe_name}.json", {**done.as_dict(), "bytes": part.bytes})
        return done


def _read(learned: LearnedParts, part: Part, writers: dict[str, RowWriter]) -> PartOfArchive:
    """Reads the pages of a part into the tables; one that breaks off gives what it has."""
    pages = elsewhere = 0
    trouble = ""
    try:
        with _local_file(part) as file:
            for archived in part.pages(file, {}):
                if not archived.body:
                    elsewhere += 1
                    continue
                pages += 1
                try:
                    rows = list(learned.reader.rows(saved_page(archived)))
                except TookTooLong as error:
                    trouble = f"{archived.page}: {error}"
                    continue
                for table, row in rows:
                    writers[table].write(learned.tables[table].row(row))
    except WrongUsage as error:
        trouble = str(error)
    counts = {name: writer.rows for name, writer in writers.items()}
    return PartOfArchive(file=part.name, pages=pages, rows=counts, elsewhere=elsewhere, trouble=trouble)


def _note(part: Part) -> PartOfArchive | None:
    """What an earlier run made of a part; None where it is to be done."""
    saved = _read_json(part.out, f"{NOTES}/{part.safe_name}.json")
    if saved is None or saved.pop("bytes") != part.bytes or saved["trouble"]:
        return None
    return PartOfArchive(**{**saved, "was_done": True})


def _read_json(out: str, name: str) -> dict[str, Any] | None:
    text = RemoteFolder(out).text(name) if is_remote(out) else _text(Path(out, name))
    try:
        return None if text is None else json.loads(text)
    except ValueError:
        return None


def _text(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


def _write_json(out: str, name: str, value: object) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=1) + "\n"
    if is_remote(out):
        RemoteFolder(out).write_text(name, text)
        return
    path = Path(out, name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f".{path.name}.part")
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise WrongUsage(f"cannot write to {out}: {error.strerror}; name another folder with -o") from error
