"""Saved answers of one source, read again: learn from some of them, then one result a page."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from upwell.answers import clusters, mixed
from upwell.extract.values import parse_value
from upwell.offline import saved_pages as saved
from upwell.source.apply import Reading, apply, check
from upwell.source.drift import Watch
from upwell.source.learn import learn_source
from upwell.source.model import SourceModel

__all__ = ["extract"]

LEARN_FROM = 300  # answers that a source is learned from; the gate's largest source has 130, more only cost


def extract(
    root: Path, model: SourceModel | None, save: Path | None, links: bool, warn: Callable[[str], None]
) -> Iterator[dict[str, object]]:
    """What `upwell extract` prints, a page at a time; see `upwell.api.extract`."""
    some = saved.sample(root, LEARN_FROM)
    trees = [saved.tree_of(page) for page in some]
    if strangers := mixed.warning(trees):
        warn(strangers)
    if model is None:
        model = learn_source(trees, queries=[page.query for page in some])
        if not model.rules:
            warn(
                f"no list of matches in {len(trees)} pages of {root}; are these answers, and not home pages or errors?"
            )
    if save is not None:
        save.write_text(model.to_json() + "\n", encoding="utf-8")
    grouped = clusters.group(trees, rng=np.random.default_rng(0))
    labels = {page.page: label for page, label in zip(some, grouped.labels, strict=True)}
    watch = Watch(model)
    for page in saved.saved_at(root):
        tree = saved.tree_of(page)
        label = labels[page.page] if page.page in labels else clusters.assign(grouped, [tree])[0]
        reading = apply(model, tree, status=page.status, asked_at=model.asked_at)
        watch.note(reading, tree)
        yield {
            "page": page.page,
            "kind": reading.kind,
            "cluster": label if label is not None else -1,  # like no page that was learned from
            "pagelets": [{"path": reading.pagelet, "score": round(reading.score, 2)}] if reading.pagelet else [],
            "records": _records(model, reading, links),
            "checks": check(reading, tree, page.query),
        }
    if watch.reason:
        warn(f"{watch.reason}; the site may have changed: learn it again without --source")


def _records(model: SourceModel, reading: Reading, links: bool) -> list[dict[str, object]]:
    """Records as JSON has them: fields as the page writes them, and values of those that are numbers, prices, dates."""
    types = {name: kind for name, kind in model.columns.types.items() if kind not in ("url", "image")}
    return [
        {
            "text": " ".join([record.text, *record.links]) if links else record.text,
            "fields": dict(record.fields),
            "values": {
                name: value
                for name, text in record.fields.items()
                if name in types and (value := parse_value(text, types[name])) is not None
            },
            "key": record.key,
            "path": record.path,
        }
        for record in reading.records
    ]
