"""`upwell extract`: kinds and records of saved answers of one source, one result per page.

By default a source model is learned from a sample of the answers and applied to all. The methods `thor` and `thor-tuned` follow the
paper instead: clusters of pages, pagelets, objects.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from upwell.answers.answer import Answer
from upwell.errors import WrongUsage
from upwell.offline.saved_pages import SavedPage, pages_at, sample_evenly
from upwell.page.tree import TagTree
from upwell.papers import thor
from upwell.records.values import ValueType, parse_value
from upwell.results import ExtractedPage, ExtractedRecord, MatchRegion
from upwell.source.apply import Reading, apply, check
from upwell.source.drift import DriftWatch
from upwell.source.learn import learn_source
from upwell.source.model import SourceModel
from upwell.store.remote import local_copy, open_output
from upwell.table.build import table_of_rows
from upwell.table.user_schema import UserSchema
from upwell.table.writers import FORMATS, Format, write
from upwell.types import Kind, Record

__all__ = [
    "MAX_LEARNED_ANSWERS",
    "METHODS",
    "count_sites",
    "extract",
    "further_regions",
    "mixed_sites_warning",
    "record_row",
    "without_records",
]


# Two pages belong to one site if they share this fraction of the classes and short texts of the smaller page.
# Swept on 105 sites: 0.1 splits none of them and misses 3 of 80 mixes; 0.2 splits 3, misses 1; 0.3 splits 5.
MIN_SHARED = 0.1
MAX_FRAME_CHARS = 40  # longer texts are content, not part of the page frame that all pages of a site share
MIN_SITE_SHARE = 0.1  # share of the pages; a smaller group consists of errors and unusual pages, not of another site
MAX_COMPARED_PAGES = 60  # pages compared with each other


def count_sites(trees: Sequence[TagTree]) -> list[int]:
    """Return the number of pages of each site, largest first, judged by what a sample of the pages has in common."""
    step = max(1, len(trees) // MAX_COMPARED_PAGES)
    signatures = [signature for tree in trees[::step][:MAX_COMPARED_PAGES] if (signature := _signature(tree))]
    groups = list(range(len(signatures)))  # group of each page; groups of similar pages are merged
    for i, signature in enumerate(signatures):
        for j, earlier in enumerate(signatures[:i]):
            if groups[i] != groups[j] and len(signature & earlier) >= MIN_SHARED * min(len(signature), len(earlier)):
                joining, kept = groups[i], groups[j]
                groups = [kept if group == joining else group for group in groups]
    return [pages for _, pages in Counter(groups).most_common()]


def mixed_sites_warning(trees: Sequence[TagTree]) -> str:
    """Return a warning if the pages come from different sites, by host or by content; "" if they seem to be one site."""
    hosts = Counter(host for tree in trees if (host := urlsplit(tree.url).hostname))
    if len(hosts) > 1:
        host_counts = ", ".join(f"{host} ({n})" for host, n in hosts.most_common(3))
        return f"these pages come from {len(hosts)} hosts: {host_counts}; extract each source separately"
    sizes = count_sites(trees)
    other_sizes = [pages for pages in sizes[1:] if pages > 1 and pages >= MIN_SITE_SHARE * sum(sizes)]
    if other_sizes:
        parts = ", ".join(map(str, [sizes[0], *other_sizes]))
        return f"these pages look like {len(other_sizes) + 1} sites ({parts} pages of a sample); extract each source separately"
    return ""


def _signature(tree: TagTree) -> frozenset[str]:
    """Return the classes and short texts of a page; texts are prefixed with a quote to differ from classes."""
    texts = (f"'{text}" for text in tree.chunks if len(text) <= MAX_FRAME_CHARS and any(map(str.isalpha, text)))
    return frozenset([*filter(None, tree.classes), *texts])


SAME_SHARE = 0.8  # share of answers with the identical list above which the list is a menu, not a region of the answers


def further_regions(
    trees: Sequence[TagTree], queries: Sequence[str], model: SourceModel, number: int
) -> list[SourceModel]:
    """Learn models of up to `number` further record lists on the pages, besides that of `model`."""
    models: list[SourceModel] = []
    previous, rest = model, list(trees)
    while len(models) < number and previous.rules:
        rest = [without_records(tree, apply(previous, tree)) for tree in rest]
        previous = learn_source([Answer(tree, query) for tree, query in zip(rest, queries, strict=True)])
        lists = [{record.text for record in apply(previous, tree).records} for tree in rest] if previous.rules else []
        lists = [texts for texts in lists if texts]
        if not lists or max(map(lists.count, lists)) >= SAME_SHARE * len(lists):
            break
        models.append(previous)
    return models


def without_records(tree: TagTree, reading: Reading) -> TagTree:
    """Return the page without the texts from its first to its last record."""
    rows = [row for record in reading.records if (row := tree.row_at(record.path)) is not None]
    if not rows:
        return tree
    kept = np.ones(len(tree.chunks), dtype=bool)
    kept[int(tree.text_at[min(rows)]) : max(int(tree.text_end[row]) for row in rows)] = False
    before = np.concatenate(([0], np.cumsum(kept))).astype(np.int32)
    return replace(
        tree,
        chunks=tuple(text for text, is_kept in zip(tree.chunks, kept.tolist(), strict=True) if is_kept),
        chunk_row=tree.chunk_row[kept],
        chunk_gap=tree.chunk_gap[kept],
        text_at=before[tree.text_at],
        text_end=before[tree.text_end],
    )


# Thor with the paper's settings, and with those that measure best here (docs/decisions/0012-keep-thor-as-published-for-comparison.md):
# record F1 of 0.29 and 0.84 on 40 answers of each source of the corpus of answer kinds.
THOR_PARAMS = {"thor": thor.AS_PUBLISHED, "thor-tuned": thor.ThorParams()}
METHODS = ("upwell", *THOR_PARAMS)
MAX_LEARNED_ANSWERS = 300  # answers used for learning; the largest source of the quality corpus has 130
# Thor §V-C, §VIII-A: TF-IDF of tags, at most 5 clusters. Unlike the paper, k is chosen by the silhouette instead of Thor's quality.
THOR_CLUSTERS = thor.ClusterParams(signature="tfidf-tags", most=5)
THOR_PASSED_CLUSTERS = 2  # clusters searched for pagelets; Thor §VIII-B calls two of three a good compromise


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
    schema: UserSchema | None = None,
    warn: Callable[[str], None] = lambda _: None,
) -> Iterator[ExtractedPage]:
    """Yield the kind and the records of each saved answer of one source (a folder of HTML or JSON, or WARC), in page order.

    Learns from a sample of the pages (`save` stores the model), or applies `model`. Memory does not grow with the number of pages.

    links    append the targets of a record's links to its text
    method   `upwell`; `thor` (clusters, pagelets and objects as published, without fields or model); `thor-tuned` (better settings)
    regions  number of record lists searched for in an answer, best first (Thor's top-k pagelets)
    table    file or folder for the records of all pages, in `format`; each further region gets its own file
    schema   columns of the table: which, in which order, with which names and types
    warn     receives warnings
    """
    if method not in METHODS:
        raise WrongUsage(f"method must be one of {', '.join(METHODS)}, not {method!r}")
    if format not in FORMATS:
        raise WrongUsage(f"format must be one of {', '.join(FORMATS)}, not {format!r}")
    if method != "upwell" and (model is not None or save is not None):
        raise WrongUsage("Thor learns no source model: use --source and --save only with --method upwell")
    if regions < 1 or (regions > 1 and (model is not None or save is not None)):
        raise WrongUsage("--regions must be at least 1, and cannot be combined with --source or --save if it is larger")
    local_folder = local_copy(folder)
    pages = (
        _by_source_model(local_folder, model, Path(save) if save is not None else None, links, warn, regions)
        if method == "upwell"
        else _by_thor(local_folder, replace(THOR_PARAMS[method], max_pagelets=regions), links, warn)
    )
    return pages if table is None else _with_table(pages, table, format, schema or UserSchema())


def _with_table(
    pages: Iterator[ExtractedPage], place: str | Path, format: Format, schema: UserSchema
) -> Iterator[ExtractedPage]:
    """Yield the pages; then write a typed table of the records of each region."""
    tables: dict[int, list[dict[str, object]]] = {1: []}
    for page in pages:
        for record in page.records:
            row = record_row(record.key, page.page, record.path, record.fields, record.text)
            tables.setdefault(record.region, []).append(row)
        yield page
    with open_output(place) as file:
        path = file / f"records.{format}" if file.is_dir() else file
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            for region, rows in tables.items():
                target = path if region == 1 else path.with_stem(f"{path.stem}-{region}")
                made = table_of_rows(rows, schema=schema)
                write(made.rows, path.parent, format, file=target, keep_order=bool(schema))
        except OSError as error:
            raise WrongUsage(f"{path} cannot be written ({error.strerror}); choose another file with -o") from error


def record_row(key: str, page: str, path: str, fields: Mapping[str, str], text: str) -> dict[str, object]:
    """Return a record as a table row."""
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
        model = learn_source([Answer(tree, query) for tree, query in zip(trees, queries, strict=True)])
        further = further_regions(trees, queries, model, regions - 1)
        if not model.rules:
            warn(
                f"no record list found in {len(trees)} pages of {folder}; check that they are answers, not home pages or errors"
            )
    if save is not None:
        save.write_text(model.to_json() + "\n", encoding="utf-8")
    clustering = thor.cluster_pages(trees, rng=np.random.default_rng(0))
    labels = {page.name: label for page, label in zip(sample, clustering.labels, strict=True)}
    types = {name: kind for name, kind in model.columns.types.items() if kind not in ("url", "image")}
    watch = DriftWatch(model)
    for page in pages_at(folder):
        tree = page.tree()
        label = labels[page.name] if page.name in labels else thor.assign_pages(clustering, [tree])[0]
        reading = apply(model, tree, status=page.status, asked_at=model.asked_at, query=page.query)
        watch.note(reading, tree)
        readings, rest = [reading], tree
        for region_model in further:
            rest = without_records(rest, readings[-1])
            readings.append(apply(region_model, rest, status=page.status))
        yield _result(page, tree, label, readings, types, links)
    if watch.reason:
        warn(f"{watch.reason}; the site may have changed: run again without --source to learn it again")


def _by_thor(
    folder: Path, params: thor.ThorParams, links: bool, warn: Callable[[str], None]
) -> Iterator[ExtractedPage]:
    """Run phases two to four of Thor.

    Clusters are learned from a sample, and further pages join them (Thor §V-E). Pagelets are located in batches of pages, so that memory
    does not grow with their number; up to `MAX_LEARNED_ANSWERS` pages form one batch.
    """
    sample, trees = _sample(folder, warn)
    clustering = thor.cluster_pages(trees, THOR_CLUSTERS, rng=np.random.default_rng(0))
    kept_clusters = thor.rank_clusters(trees, clustering.labels, top=THOR_PASSED_CLUSTERS)
    sampled = {page.name: label for page, label in zip(sample, clustering.labels, strict=True)}
    for batch in _batches(pages_at(folder), MAX_LEARNED_ANSWERS):
        trees = [page.tree() for page in batch]
        labels = [
            sampled[page.name] if page.name in sampled else thor.assign_pages(clustering, [tree])[0]
            for page, tree in zip(batch, trees, strict=True)
        ]
        pagelets: dict[int, list[thor.Pagelet]] = {}
        for cluster in kept_clusters:
            members = [i for i, label in enumerate(labels) if label == cluster]
            located = thor.find_pagelets([trees[i] for i in members], params, rng=np.random.default_rng(0))
            pagelets.update(zip(members, located, strict=True))
        for i, (page, tree, label) in enumerate(zip(batch, trees, labels, strict=True)):
            page_pagelets: Sequence[thor.Pagelet | None] = pagelets.get(i) or [None]
            yield _result(
                page, tree, label, [_thor_reading(tree, page.status, pagelet) for pagelet in page_pagelets], {}, links
            )


def _thor_reading(tree: TagTree, status: int, pagelet: thor.Pagelet | None) -> Reading:
    """Read a page with Thor; the kind follows from the number of objects. Thor does not name fields."""
    if status >= 400 or not tree.chunks:
        return Reading(kind="error")
    if pagelet is None:
        return Reading(kind="none")
    objects = thor.objects_like_dynamic_subtrees(tree, pagelet.row, pagelet.dynamic)
    records = tuple(_object_record(tree, pagelet.row, first, end) for first, end in objects)
    kind: Kind = "multi" if len(records) > 1 else "single" if records else "none"
    return Reading(kind=kind, records=records, pagelet=tree.path(pagelet.row), score=pagelet.score)


def _object_record(tree: TagTree, pagelet: int, first: int, end: int) -> Record:
    """Convert an object, a range of chunks, into a record at the outermost row that begins with it."""
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
    """Return the answers used for learning; warn if they come from several sites."""
    sample = sample_evenly(pages_at(folder), MAX_LEARNED_ANSWERS)
    trees = [page.tree() for page in sample]
    if mixed_sites := mixed_sites_warning(trees):
        warn(mixed_sites)
    return sample, trees


def _batches(pages: Iterator[SavedPage], size: int) -> Iterator[list[SavedPage]]:
    """Yield batches of `size` pages; the last one has up to twice as many, so that no batch is very small."""
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
    types: Mapping[str, ValueType],
    links: bool,
) -> ExtractedPage:
    """Build the result of a page from the readings of its regions; its kind is that of the first."""
    return ExtractedPage(
        page=page.name,
        kind=readings[0].kind,
        cluster=cluster if cluster is not None else -1,
        pagelets=tuple(
            MatchRegion(path=reading.pagelet, score=round(reading.score, 2)) for reading in readings if reading.pagelet
        ),
        records=tuple(
            record
            for region, reading in enumerate(readings, 1)
            for record in _records(reading.records, types if region == 1 else {}, links, region)
        ),
        checks=check(readings[0], tree, page.query),
    )


def _records(
    records: Sequence[Record], types: Mapping[str, ValueType], links: bool, region: int
) -> tuple[ExtractedRecord, ...]:
    """Convert records, with values for the fields that have one of `types`."""
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
