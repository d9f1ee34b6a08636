"""`--engine`: run `extract`, `entities` or `blocks` over many WARC files in parallel, with one part of each table per file.

    OUT/sample.json              the pages used for learning: a later run learns from the same pages
    OUT/records/NAME.parquet     the part of one file, likewise for each table; NAME is the file's, with / written as %2F
    OUT/parts/NAME.json          marks the part as done: its pages, its rows, the bytes of its file

Files of more than 64 MB are split into sections; those after the first are named by their offset: NAME@64000123.
The JSON file of a part is written last; a later run repeats parts without one, and parts whose file has grown.
The files and OUT may be remote (`s3://…`): each process fetches its file and uploads its parts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, Protocol, TypeVar
from urllib.parse import quote

from upwell.answers.answer import Answer
from upwell.engines.ray import RayConnection
from upwell.errors import TookTooLong, UpwellError, WrongUsage
from upwell.offline.blocks import ARTICLE_COLUMNS, TOC_COLUMNS, BlockReader, learn_reader, page_blocks, rows_of_blocks
from upwell.offline.entity_pages import entity_table_name, learn_templates, read_entity
from upwell.offline.extract import record_row
from upwell.offline.saved_pages import SavedPage, sample_evenly, saved_page
from upwell.records.entity_model import EntityModel, EntityTemplate
from upwell.records.values import ValueType
from upwell.results import PartOfArchive
from upwell.source.apply import apply
from upwell.source.learn import learn_source
from upwell.source.model import SourceModel
from upwell.store import archive
from upwell.store.archive import ArchivedPage, BodyLocations, pages_in_file, sections
from upwell.store.remote import RemoteFolder, is_remote, without_credentials
from upwell.table.parquet import RowWriter
from upwell.table.schema import TableColumn, infer_columns
from upwell.table.value_types import FixedSchema, fixed_schema
from upwell.version import installed_version

__all__ = [
    "ENGINES",
    "VERBS",
    "LearnedParts",
    "PartEngine",
    "PartReader",
    "learn_parts",
    "read_in_parts",
    "run_parts",
]


PartEngine = Literal["local", "processes", "ray"]
ENGINES: tuple[PartEngine, ...] = ("local", "processes", "ray")
MAX_PARTS_PER_PROCESS = 50  # a worker process is replaced after this many parts, to bound its memory
Learned = TypeVar("Learned")
PartT = TypeVar("PartT")
Done = TypeVar("Done")

_worker: dict[str, Any] = {}  # function and learned state of a worker process, sent once


def run_parts(
    engine: PartEngine,
    workers: int,
    work: Callable[[Learned, PartT], Done],
    learned: Learned,
    parts: Sequence[PartT],
) -> Iterator[Done]:
    """Yield the result of `work` for each part, in order; `work` must be a module-level function with picklable arguments and result."""
    if engine not in ENGINES:
        raise WrongUsage(f"engine must be one of {', '.join(ENGINES)}, not {engine!r}")
    workers = workers or os.cpu_count() or 1
    if engine == "local":
        return (work(learned, part) for part in parts)
    return (_in_processes if engine == "processes" else _on_ray)(workers, work, learned, parts)


def _in_processes(
    workers: int, work: Callable[[Learned, PartT], Done], learned: Learned, parts: Sequence[PartT]
) -> Iterator[Done]:
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    with ProcessPoolExecutor(
        min(workers, max(1, len(parts))),
        mp_context=get_context("spawn"),  # forking a process with threads, such as those of object stores, may hang
        initializer=_start_worker,
        initargs=(work, learned),
        max_tasks_per_child=MAX_PARTS_PER_PROCESS,
    ) as pool:
        try:
            yield from pool.map(_run_in_worker, parts)
        except BrokenProcessPool as error:
            raise UpwellError(
                "a worker process ended unexpectedly, perhaps because memory ran out; run the same command again to "
                "continue, with fewer --workers to use less memory"
            ) from error


def _start_worker(work: Callable[[Any, Any], Any], learned: Any) -> None:
    _worker.update(work=work, learned=learned)


def _run_in_worker(part: Any) -> Any:
    return _worker["work"](_worker["learned"], part)


def _on_ray(
    workers: int, work: Callable[[Learned, PartT], Done], learned: Learned, parts: Sequence[PartT]
) -> Iterator[Done]:
    """Run parts on the cluster named by RAY_ADDRESS, or on a temporary local one; lost parts are repeated."""
    with RayConnection(workers) as ray:
        task, shared = ray.remote(max_retries=3)(work), ray.put(learned)
        for pending in [task.remote(shared, part) for part in parts]:
            yield ray.get(pending)


Row = dict[str, Any]
Warn = Callable[[str], None]


class PartReader(Protocol):
    """Learned model of a verb, and how it reads a page."""

    def rows(self, page: SavedPage) -> Iterator[tuple[str, Row]]:
        """Yield the rows of a page, each with the name of its table."""
        ...

    def tables(self) -> dict[str, tuple[str, ...]]:
        """Return the names of the tables, and the metadata columns of each."""
        ...

    def columns(self, table: str, rows: Sequence[Row]) -> list[TableColumn]:
        """Return the other columns of a table with these rows."""
        ...


@dataclass(frozen=True)
class LearnedParts:
    """Everything a process needs to read a part."""

    reader: PartReader
    tables: dict[str, FixedSchema]


@dataclass(frozen=True)
class AnswerReader:
    """Reads records of answers into one table."""

    model: SourceModel

    def rows(self, page: SavedPage) -> Iterator[tuple[str, Row]]:
        """Yield a row for each record."""
        reading = apply(self.model, page.tree(), status=page.status, asked_at=self.model.asked_at, query=page.query)
        for record in reading.records:
            yield "records", record_row(record.key, page.name, record.path, record.fields, record.text)

    def tables(self) -> dict[str, tuple[str, ...]]:
        """Return the table of records."""
        return {"records": ("_key", "_page", "_path")}

    def columns(self, table: str, rows: Sequence[Row]) -> list[TableColumn]:
        """Infer the columns as for the table of all records."""
        return infer_columns(rows)


@dataclass(frozen=True)
class EntityReader:
    """Reads one entity per page into a table for each template."""

    templates: list[EntityTemplate]

    def rows(self, page: SavedPage) -> Iterator[tuple[str, Row]]:
        """Yield a row for a page with text."""
        tree = page.tree()
        if tree.chunks and page.status < 400:
            number, fields = read_entity(self.templates, tree)
            yield entity_table_name(number), {"_page": page.name, "_url": page.url or None, **fields}

    def tables(self) -> dict[str, tuple[str, ...]]:
        """Return a table for each template."""
        return {entity_table_name(number): ("_page", "_url") for number in range(len(self.templates))}

    def columns(self, table: str, rows: Sequence[Row]) -> list[TableColumn]:
        """Infer the columns as for the table of all pages."""
        return infer_columns(rows)


@dataclass(frozen=True)
class PageBlockReader:
    """Reads articles and entries of tables of contents."""

    find: BlockReader

    def rows(self, page: SavedPage) -> Iterator[tuple[str, Row]]:
        """Yield a row for an article, and one for each entry of a table of contents."""
        tree = page.tree()
        articles, entries = rows_of_blocks(page_blocks(page.url or page.name, tree, self.find(tree)))
        yield from (("articles", row) for row in articles)
        yield from (("toc", row) for row in entries)

    def tables(self) -> dict[str, tuple[str, ...]]:
        """Return the two tables."""
        return {"articles": (), "toc": ()}

    def columns(self, table: str, rows: Sequence[Row]) -> list[TableColumn]:
        """Return the fixed columns of the table; dates are typed if all of them can be parsed."""
        types: dict[str, ValueType] = {"date": "date", "position": "integer"}
        names = TOC_COLUMNS if table == "toc" else ARTICLE_COLUMNS
        return [TableColumn(name=name, of=(name,), type=types.get(name, "text")) for name in names]


def _learn_answers(pages: Sequence[SavedPage], model: SourceModel | None, warn: Warn) -> PartReader:
    if model is None:
        model = learn_source([Answer(page.tree(), page.query) for page in pages])
        if not model.rules:
            warn(f"no record list found in {len(pages)} pages; check that they are answers, not home pages or errors")
    return AnswerReader(model)


def _learn_entities(pages: Sequence[SavedPage], model: EntityModel | None, warn: Warn) -> PartReader:
    if model is not None:
        return EntityReader([EntityTemplate(model, frozenset())])
    trees = [tree for page in pages if page.status < 400 and (tree := page.tree()).chunks]
    return EntityReader(learn_templates(trees, warn))


def _learn_blocks(pages: Sequence[SavedPage], model: None, warn: Warn) -> PartReader:
    return PageBlockReader(learn_reader("upwell", (page.tree() for page in pages)))


VERBS: dict[str, Callable[[Sequence[SavedPage], Any, Warn], PartReader]] = {
    "extract": _learn_answers,
    "entities": _learn_entities,
    "blocks": _learn_blocks,
}


def learn_parts(verb: str, pages: Sequence[SavedPage], model: Any, warn: Warn) -> LearnedParts:
    """Learn the model of a verb from a sample, and fix the columns of its tables."""
    if verb not in VERBS:
        raise WrongUsage(f"verb must be one of {', '.join(VERBS)}, not {verb!r}")
    reader = VERBS[verb](pages, model, warn)
    rows: dict[str, list[Row]] = {name: [] for name in reader.tables()}
    for page in pages:
        for table, row in reader.rows(page):
            rows[table].append(row)
    return LearnedParts(
        reader,
        {
            name: fixed_schema(rows[name], reader.columns(name, rows[name]), metadata)
            for name, metadata in reader.tables().items()
        },
    )


SAMPLED_FILES = 20  # files that the sample is taken from, evenly spread
SAMPLED_PAGES = {"extract": 300, "entities": 100, "blocks": 1000}  # as the verbs use without an engine
SAMPLE_FILE, DONE_FOLDER = "sample.json", "parts"


@dataclass(frozen=True, kw_only=True)
class Part:
    """WARC file, or section of one, and the destination of its rows."""

    place: str  # folder of the archives
    file: str  # file name relative to `place`
    start: int = 0  # offset of the section
    bytes: int
    out: str

    @property
    def name(self) -> str:
        """Return the unique name of the part."""
        return f"{self.file}@{self.start}" if self.start else self.file

    @property
    def safe_name(self) -> str:
        """Return the name in a form that can be used as a file name."""
        return quote(self.name, safe="")

    def pages(self, file: Path, locations: BodyLocations) -> Iterator[ArchivedPage]:
        """Yield the pages of the part from a local copy of its file."""
        return pages_in_file(file, self.file, locations, self.start, self.start + self.bytes)


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
    """Read the WARC files at a path or remote address with a verb; yield a result for each part, ordered by name.

    `workers` is the number of processes, 0 for one per core. `model` is a model saved by an earlier run of the verb. A damaged file is
    reported, its readable rows are written, and the others are processed; the same call again processes only what is left.
    """
    parts = _parts(str(place), str(out))
    finished = {part.name: result for part in parts if (result := _finished_result(part)) is not None}
    remaining = [part for part in parts if part.name not in finished]
    if not remaining:
        return iter(finished[part.name] for part in parts)
    learned = learn_parts(verb, _sample(verb, parts, warn), model, warn)
    return _in_order(parts, finished, run_parts(engine, workers, read_part, learned, remaining))


def _in_order(
    parts: Sequence[Part], finished: dict[str, PartOfArchive], results: Iterator[PartOfArchive]
) -> Iterator[PartOfArchive]:
    """Interleave finished and new results in the order of the parts."""
    for part in parts:
        yield finished[part.name] if part.name in finished else next(results)


def _parts(place: str, out: str) -> list[Part]:
    """List the WARC files at a place, large ones in sections; remote files are whole, because a process fetches the whole file."""
    if is_remote(place):
        sections_by_file = {
            name: [(0, size)] for name, size in RemoteFolder(place).sizes().items() if archive.is_warc(name)
        }
    else:
        path = Path(place)
        root = path if path.is_dir() else path.parent
        sections_by_file = {file.relative_to(root).as_posix(): sections(file) for file in archive.warc_files(path)}
        place = str(root)
    if not sections_by_file:
        raise WrongUsage(f"{without_credentials(place)} has no WARC files; --engine works only on WARC archives")
    return [
        Part(place=place, file=name, start=start, bytes=end - start, out=out)
        for name, parts in sorted(sections_by_file.items())
        for start, end in parts
    ]


def _sample(verb: str, parts: Sequence[Part], warn: Warn) -> list[SavedPage]:
    """Return the pages used for learning: those of an earlier run into the same folder, else pages of evenly spread files."""
    about = {"verb": verb, "version": installed_version()}
    saved = _read_json(parts[0].out, SAMPLE_FILE)
    if saved is None:
        step = max(1, -(-len(parts) // SAMPLED_FILES))
        pages = (page for part in parts[::step] for page in _first_pages(part, SAMPLED_PAGES[verb], warn))
        sample = sample_evenly(pages, SAMPLED_PAGES[verb])
        if not sample:
            raise WrongUsage(f"{without_credentials(parts[0].place)} has no readable page in its WARC files")
        _write_json(parts[0].out, SAMPLE_FILE, {**about, "pages": [page.name for page in sample]})
        return sample
    if {name: saved.get(name) for name in about} != about:
        raise WrongUsage(
            f"{without_credentials(parts[0].out)} contains results of `upwell {saved.get('verb')}` of Upwell {saved.get('version')}; "
            "choose another folder with -o"
        )
    sample = [page for part in _first_parts(parts) for page in _named_pages(part, saved["pages"])]
    if len(sample) < len(saved["pages"]):
        raise WrongUsage(
            f"{len(saved['pages']) - len(sample)} of the pages that {without_credentials(parts[0].out)} was learned from no longer exist; "
            "choose another folder with -o"
        )
    return sample


def _first_pages(part: Part, max_pages: int, warn: Warn) -> Iterator[SavedPage]:
    """Yield at most `max_pages` pages of a part."""
    try:
        with _local_file(part) as file:
            yield from islice((saved_page(page) for page in part.pages(file, {}) if page.body), max_pages)
    except UpwellError as error:
        warn(f"skipped for learning: {error}")


def _named_pages(part: Part, names: Sequence[str]) -> Iterator[SavedPage]:
    """Yield the pages of a file with the given names (file name and offset)."""
    offsets = [int(offset) for file, _, offset in (name.rpartition("@") for name in names) if file == part.file]
    if not offsets:
        return
    locations: BodyLocations = {}
    with suppress(UpwellError), _local_file(part) as file:
        for offset in offsets:
            page = next(pages_in_file(file, part.file, locations, offset), None)
            if page is not None and page.page == f"{part.file}@{offset}":
                yield saved_page(page)


def _first_parts(parts: Sequence[Part]) -> list[Part]:
    """Return the first part of each file."""
    return [part for part in parts if not part.start]


@contextmanager
def _local_file(part: Part) -> Iterator[Path]:
    """Provide the WARC file of a part; a remote file is fetched into a temporary folder."""
    if not is_remote(part.place):
        yield Path(part.place, part.file)
        return
    with TemporaryDirectory(prefix="upwell-") as scratch:
        file = Path(scratch, Path(part.file).name)
        RemoteFolder(part.place, Path(scratch)).fetch_file(part.file, file)
        yield file


def read_part(learned: LearnedParts, part: Part) -> PartOfArchive:
    """Read one part and write its rows; problems with the file are part of the result."""
    with TemporaryDirectory(prefix="upwell-") as scratch:
        folder = Path(scratch) if is_remote(part.out) else Path(part.out)
        writers = {
            name: RowWriter(folder / name / f"{part.safe_name}.parquet", table.types)
            for name, table in learned.tables.items()
        }
        result = PartOfArchive(file=part.name, pages=0, rows={})
        try:
            result = _read(learned, part, writers)
            for writer in writers.values():
                writer.close()
        except UpwellError as error:
            return replace(result, trouble=str(error))
        finally:
            for writer in writers.values():
                writer.discard()
        if is_remote(part.out):
            remote = RemoteFolder(part.out, folder)
            for writer in writers.values():
                remote.put(writer.path.relative_to(folder).as_posix(), writer.path)
        _write_json(part.out, f"{DONE_FOLDER}/{part.safe_name}.json", {**result.as_dict(), "bytes": part.bytes})
        return result


def _read(learned: LearnedParts, part: Part, writers: dict[str, RowWriter]) -> PartOfArchive:
    """Read the pages of a part into the tables; a truncated file gives the rows before the break."""
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


def _finished_result(part: Part) -> PartOfArchive | None:
    """Return the result of an earlier run for a part; None if it must be processed."""
    saved = _read_json(part.out, f"{DONE_FOLDER}/{part.safe_name}.json")
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
        raise WrongUsage(f"cannot write to {out}: {error.strerror}; choose another folder with -o") from error
