"""`upwell extract`: saved answers of one source, read again, one result a page.

By default a source model is learned from some of the answers and applied to all of them. With the methods `thor` and `thor-tuned` the
paper's own steps are taken instead: clusters of pages, pagelets, objects.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from upwell.answers import clusters
from upwell.answers.mixed import mixed_sites_warning
from upwell.errors import WrongUsage
from upwell.extract import separators, thor
from upwell.extract.tidy import arrange, rows_of
from upwell.extract.values import Type, parse_value
from upwell.model import Kind, Record
from upwell.offline.regions import further_regions, without_records
from upwell.offline.saved_pages import SavedPage, pages_at, sample_evenly
from upwell.page.tree import TagTree
from upwell.results import ExtractedPage, ExtractedRecord, Pagelet
from upwell.source.apply import Reading, apply, check
from upwell.source.drift import DriftWatch
from upwell.source.learn import learn_source
from upwell.source.model import SourceModel
from upwell.store.records import FORMATS, Format, write
from upwell.store.remote import local_copy, output
from upwell.store.typed import with_types

__all__ = ["MAX_LEARNED_ANSWERS", "METHODS", "extract", "record_row"]

# Thor with the paper's settings, and with those that measure best here (docs/decisions/0012-thor-as-published.md): on 40 answers of
# each source of kinds the records have an F1 of 0.29 and 0.84.
THOR_PARAMS = {"thor": thor.PAPER, "thor-tuned": thor.ThorParams()}
METHODS = ("upwell", *THOR_PARAMS)
MAX_LEARNED_ANSWERS = 300  # the gate's largest source has 130; more only cost
# Thor §V-C, §VII-B: TFIDF of tags, at most 5 clusters; departs from it: the silhouette chooses k, Thor's quality does not.
THOR_CLUSTERS = clusters.ClusterParams(signature="tfidf-tags", most=5)
THOR_PASSED_CLUSTERS = 2  # clusters in which pagelets are looked for; Thor §VIII-B calls two of three a good compromise


def extract(
    folder: str | Path,
    *,
    model: SourceModel | None = None,
    save: str | Path | None = None,
    links: bool = False,
    method: str = "upwell",
    regions: int = 1,
    table: str | Path | None = None,
    format: Format = "parquet",
    warn: Callable[[str], None] = lambda _: None,
) -> Iterator[ExtractedPage]:
    """Offline: the kinds and records of saved answers of one source (a folder of HTML or JSON, or WARC), one result a page, in page order.

    Learns from all pages together (`save` keeps what was learned), or only applies `model`; `links` puts the targets of a
    record's links behind its text; `warn` hears what looks wrong. Memory does not grow with the number of pages. `method` is ours,
    `thor` (clusters, pagelets and objects as Thor has them, without fields and without a model), or `thor-tuned` (the same with settings
    that measure better). `regions` is how many lists of an answer are looked for, the best first (Thor's top-k pagelets). `table` is a
    file, or a folder, for the records of all pages in a `format`; each further region has a file of its own.
    """
    if method not in METHODS:
        raise WrongUsage(f"method {method!r} is none of {', '.join(METHODS)}")
    if format not in FORMATS:
        raise WrongUsage(f"format {format!r} is none of {', '.join(FORMATS)}")
    if method != "upwell" and (model is not None or save is not None):
        raise WrongUsage("Thor learns no source model: --source and --save go with --method upwell")
    if regions < 1 or (regions > 1 and (model is not None or save is not None)):
        raise WrongUsage("--regions is 1 or more; with 2 or more nothing is saved, and no --source is taken")
    here = local_copy(folder)
    pages = (
        _by_source_model(here, model, Path(save) if save is not None else None, links, warn, regions)
        if method == "upwell"
        else _by_thor(here, replace(THOR_PARAMS[method], max_pagelets=regions), links, warn)
    )
    return pages if table is None else _with_table(pages, table, format)


def _with_table(pages: Iterator[ExtractedPage], place: str | Path, format: Format) -> Iterator[ExtractedPage]:
    """The pages, and at their end a table of their records for each region, a row each, with the types that a harvest would give them."""
    tables: dict[int, list[dict[str, object]]] = {1: []}
    for page in pages:
        for record in page.records:
            row = record_row(record.key, page.page, record.path, record.fields, record.text)
            tables.setdefault(record.region, []).append(row)
        yield page
    with output(place) as file:
        path = file / f"records.{format}" if file.is_dir() else file
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            for region, rows in tables.items():
                columns = arrange(rows)
                target = path if region == 1 else path.with_stem(f"{path.stem}-{region}")
                write(with_types(rows_of(rows, columns), columns), path.parent, format, file=target)
        except OSError as error:
            raise WrongUsage(f"{path} cannot be written ({error.strerror}); name another with -o") from error


def record_row(key: str, page: str, path: str, fields: Mapping[str, str], text: str) -> dict[str, object]:
    """A record as a row of the table of all records."""
    return {"_key": key, "_page": page, "_path": path, **(fields or {"text": text})}


def _by_source_model(
    folder: Path,
    model: SourceModel | None,
    save: Path | None,
    links: bool,
    warn: Callable[[str], None],
    regions: int,
) -> Iterator[ExtractedPage]:
    sample, trees = _sample(folder, warn)
    further: list[SourceModel] = []
    if model is None:
        queries = [page.query for page in sample]
        model = learn_source(trees, queries=queries)
        further = further_regions(trees, queries, model, regions - 1)
        if not model.rules:
            warn(
                f"no list of records in {len(trees)} pages of {folder}; are these answers, and not home pages or errors?"
            )
    if save is not None:
        save.write_text(model.to_json() + "\n", encoding="utf-8")
    grouped = clusters.group(trees, rng=np.random.default_rng(0))
    labels = {page.name: label for page, label in zip(sample, grouped.labels, strict=True)}
    types = {name: kind for name, kind in model.columns.types.items() if kind not in ("url", "image")}
    watch = DriftWatch(model)
    for page in pages_at(folder):
        tree = page.tree()
        label = labels[page.name] if page.name in labels else clusters.assign(grouped, [tree])[0]
        reading = apply(model, tree, status=page.status, asked_at=model.asked_at, query=page.query)
        watch.note(reading, tree)
        readings, rest = [reading], tree
        for other in further:
            rest = without_records(rest, readings[-1])
            readings.append(apply(other, rest, status=page.status))
        yield _result(page, tree, label, readings, types, links)
    if watch.reason:
        warn(f"{watch.reason}; the site may have changed: learn it again without --source")


def _by_thor(
    folder: Path, params: thor.ThorParams, links: bool, warn: Callable[[str], None]
) -> Iterator[ExtractedPage]:
    """Thor's phases two to four.

    The clusters are those of a sample, which further pages join (Thor §V-E); pagelets are located in a batch of pages at a time, so
    that memory does not grow with their number. Up to `MAX_LEARNED_ANSWERS` pages are one batch.
    """
    sample, trees = _sample(folder, warn)
    grouped = clusters.group(trees, THOR_CLUSTERS, rng=np.random.default_rng(0))
    passed = clusters.rank(trees, grouped.labels, top=THOR_PASSED_CLUSTERS)
    sampled = {page.name: label for page, label in zip(sample, grouped.labels, strict=True)}
    for batch in _batches(pages_at(folder), MAX_LEARNED_ANSWERS):
        trees = [page.tree() for page in batch]
        labels = [
            sampled[page.name] if page.name in sampled else clusters.assign(grouped, [tree])[0]
            for page, tree in zip(batch, trees, strict=True)
        ]
        pagelets: dict[int, list[thor.Pagelet]] = {}
        for cluster in passed:
            members = [i for i, label in enumerate(labels) if label == cluster]
            located = thor.locate([trees[i] for i in members], params, rng=np.random.default_rng(0))
            pagelets.update(zip(members, located, strict=True))
        for i, (page, tree, label) in enumerate(zip(batch, trees, labels, strict=True)):
            found: Sequence[thor.Pagelet | None] = pagelets.get(i) or [None]
            yield _result(page, tree, label, [_thor_reading(tree, page.status, one) for one in found], {}, links)


def _thor_reading(tree: TagTree, status: int, pagelet: thor.Pagelet | None) -> Reading:
    """A page as Thor reads it; its kind follows from the number of objects. Thor names no fields."""
    if status >= 400 or not tree.chunks:
        return Reading(kind="error")
    if pagelet is None:
        return Reading(kind="none")
    objects = separators.alike(tree, pagelet.row, pagelet.dynamic)
    records = tuple(_object_record(tree, pagelet.row, first, end) for first, end in objects)
    kind: Kind = "multi" if len(records) > 1 else "single" if records else "none"
    return Reading(kind=kind, records=records, pagelet=tree.path(pagelet.row), score=pagelet.score)


def _object_record(tree: TagTree, pagelet: int, first: int, end: int) -> Record:
    """An object, which is a range of chunks, as a record at the outermost row that begins with it."""
    below = np.arange(pagelet + 1, int(tree.end[pagelet]))
    begins = below[(tree.text_at[below] == first) & (tree.text_end[below] <= end) & (tree.text_end[below] > first)]
    text = " ".join(tree.text_of(first, end).split())
    links = tree.rows("a")
    links = links[(tree.text_at[links] >= first) & (tree.text_at[links] < end)]
    targets = tuple(target for link in links.tolist() if (target := tree.attr(link, "href")))
    return Record(
        key=hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest(),
        url=None,
        path=tree.path(int(begins[0]) if len(begins) else pagelet),
        text=text,
        links=targets,
    )


def _sample(folder: Path, warn: Callable[[str], None]) -> tuple[list[SavedPage], list[TagTree]]:
    """The answers that are learned from; warns where they are of several sites."""
    sample = sample_evenly(pages_at(folder), MAX_LEARNED_ANSWERS)
    trees = [page.tree() for page in sample]
    if mixed_sites := mixed_sites_warning(trees):
        warn(mixed_sites)
    return sample, trees


def _batches(pages: Iterator[SavedPage], size: int) -> Iterator[list[SavedPage]]:
    """The pages in batches of `size`; the last has up to twice as many, so that no page is left almost alone."""
    batch: list[SavedPage] = []
    for page in pages:
        batch.append(page)
        if len(batch) == 2 * size:
            yield batch[:size]
            batch = batch[size:]
    if batch:
        yield batch


def _result(
    page: SavedPage,
    tree: TagTree,
    cluster: int | None,
    readings: Sequence[Reading],
    types: Mapping[str, Type],
    links: bool,
) -> ExtractedPage:
    """A page by the readings of its regions; its kind is that of the first."""
    return ExtractedPage(
        page=page.name,
        kind=readings[0].kind,
        cluster=cluster if cluster is not None else -1,
        pagelets=tuple(
            Pagelet(path=reading.pagelet, score=round(reading.score, 2)) for reading in readings if reading.pagelet
        ),
        records=tuple(
            record
            for region, reading in enumerate(readings, 1)
            for record in _records(reading.records, types if region == 1 else {}, links, region)
        ),
        checks=check(readings[0], tree, page.query),
    )


def _records(
    records: Sequence[Record], types: Mapping[str, Type], links: bool, region: int
) -> tuple[ExtractedRecord, ...]:
    """Records with their fields as the page writes them, and the values of those that have one of `types`."""
    return tuple(
        ExtractedRecord(
            text=" ".join([record.text, *record.links]) if links else record.text,
            fields=record.fields,
            values={
                name: value
                for name, text in record.fields.items()
                if name in types and (value := parse_value(text, types[name])) is not None
            },
            key=record.key,
            path=record.path,
            region=region,
        )
        for record in records
    )
