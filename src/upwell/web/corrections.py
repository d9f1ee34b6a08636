"""Corrections by example: the user marks a record or the link to the next page, and the source model is learned again.

Answers come from the archive; when the harvest continues, records are read again from it without sending requests.
"""

import json
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from upwell.answers.answer import Answer
from upwell.errors import WrongUsage
from upwell.page.formats import read_page
from upwell.page.tree import TagTree
from upwell.records.leaves import split_leaves
from upwell.source.apply import apply
from upwell.source.learn import RecordExample, learn_source
from upwell.source.model import SourceModel, load_all
from upwell.store import archive
from upwell.store.location import state_location
from upwell.store.state import CORRECTED_NOTE, State

__all__ = ["ShownText", "answer_texts", "answers_of", "correct_next_page", "correct_record"]

MAX_ANSWERS = 24  # archived answers used
MAX_TEXTS = 400  # texts of an answer that are shown


@dataclass(frozen=True, kw_only=True)
class ShownText:
    """Text of an answer, as displayed."""

    number: int
    text: str
    is_record_start: bool
    in_record: bool
    is_link: bool


def answers_of(folder: Path) -> list[tuple[TagTree, str]]:
    """Return archived answers of a harvest with their queries, those with most text first."""
    pages = (page for page in archive.archived_pages(folder / "archive") if page.query and page.status == 200)
    answers = [(read_page(page.body, page.url, page.headers), page.query) for page in islice(pages, MAX_ANSWERS)]
    return sorted(answers, key=lambda answer: -len(answer[0].chunks))


def _models(folder: Path) -> list[SourceModel]:
    try:
        return list(load_all((folder / "source.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, WrongUsage):  # damaged, or nothing was learned yet
        return []


def _model_for(models: list[SourceModel], tree: TagTree) -> SourceModel:
    """Return the model whose answers come from the same path, or else the first model."""
    from urllib.parse import urlsplit

    path = urlsplit(tree.url).path
    return next((model for model in models if model.asked_at == path), models[0] if models else SourceModel())


def answer_texts(folder: Path, tree: TagTree) -> list[ShownText]:
    """Return the texts of an answer, with the records that are currently read from it."""
    leaves, model = split_leaves(tree), _model_for(_models(folder), tree)
    starts: dict[int, int] = {}  # first leaf of each record → end leaf
    for record in apply(model, tree).records if model.rules else ():
        row = tree.row_at(record.path)
        if row is not None:
            starts[int(leaves.row_start[row])] = int(leaves.row_end[row])
    links = {leaf for row, _ in tree.links() for leaf in range(int(leaves.row_start[row]), int(leaves.row_end[row]))}
    shown, end = [], 0
    for number, text in enumerate(leaves.texts[:MAX_TEXTS]):
        end = starts.get(number, end)
        is_start, is_in, is_link = number in starts, number < end, number in links
        shown.append(ShownText(number=number, text=text, is_record_start=is_start, in_record=is_in, is_link=is_link))
    return shown


def correct_record(folder: Path, answer: int, first: int, last: int) -> None:
    """Learn the source again from a record marked by the user: the texts `first` … `last` of an answer."""
    answers = answers_of(folder)
    if not 0 <= answer < len(answers):
        raise WrongUsage("this answer is no longer in the archive; reload the page")
    old = _model_for(_models(folder), answers[answer][0])
    is_empty = [
        bool(old.rules) and apply(old, tree).kind == "none" and i != answer for i, (tree, _) in enumerate(answers)
    ]
    full = [i for i, empty in enumerate(is_empty) if not empty]
    background = [answers[i] for i, empty in enumerate(is_empty) if empty]
    model = learn_source(
        [Answer(*answers[i]) for i in full],
        [Answer(tree, query) for tree, query in background],
        example=RecordExample(answer=full.index(answer), first=first, last=last),
    )
    if not model.rules:
        raise WrongUsage(
            "no other part of the page has that structure; mark one whole record, from its first to its last text"
        )
    _store_model(folder, old, replace(model, roles=old.roles, next_link=old.next_link))


def correct_next_page(folder: Path, answer: int, text: int) -> None:
    """Store which link leads to the next page."""
    answers = answers_of(folder)
    if not 0 <= answer < len(answers):
        raise WrongUsage("this answer is no longer in the archive; reload the page")
    tree = answers[answer][0]
    leaves = split_leaves(tree)
    row = next((row for row, _ in tree.links() if leaves.row_start[row] <= text < leaves.row_end[row]), None)
    if row is None:
        raise WrongUsage("that text is not a link; select the link to the next page")
    label = " ".join(tree.text(row).split())
    if label.isdigit():
        raise WrongUsage(
            f"{label} is a page number, which differs on each page; select the word or arrow for the next page"
        )
    old = _model_for(_models(folder), tree)
    if not old.rules:
        raise WrongUsage("no records are recognised yet; mark a record first")
    _store_model(folder, old, replace(old, next_link=(tree.signatures[tree.signature_of[row]].short_path, label)))


def _store_model(folder: Path, old: SourceModel, new: SourceModel) -> None:
    """Store a model for the next run, which reads the archived pages with it; records read with the old model are dropped."""
    models = [new if model is old or model == old else model for model in _models(folder)] or [new]
    with State(state_location(folder)) as state:
        state.forget_records()
        state.set_note(
            CORRECTED_NOTE, json.dumps([json.loads(model.to_json()) for model in models], ensure_ascii=False)
        )
    for name in ("source.json", "summary.json"):  # written with the old model
        (folder / name).unlink(missing_ok=True)
