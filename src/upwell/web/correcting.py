"""A wrong reading, put right by example: "this is a record", "this is the next page". What is learned so is kept with the harvest.

The pages come from the archive. The records are read anew from it when the harvest goes on: no page is asked for again.
"""

import json
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from upwell.errors import WrongUsage
from upwell.extract.leaves import leaves_of
from upwell.page.data import read_page
from upwell.page.tree import TagTree
from upwell.source.apply import apply
from upwell.source.learn import RecordExample, learn_source
from upwell.source.model import SourceModel, load_all
from upwell.store import archived_pages
from upwell.store.places import place_of
from upwell.store.state import State
from upwell.store.state_tables import CORRECTED

__all__ = ["ShownText", "answers_of", "correct_next_page", "correct_record", "texts_of"]

MAX_ANSWERS = 24  # of the archive that are looked at
MAX_TEXTS = 400  # of an answer that are shown


@dataclass(frozen=True, kw_only=True)
class ShownText:
    """One text of an answer, as the page shows it."""

    number: int
    text: str
    is_record_start: bool
    in_record: bool
    is_link: bool


def answers_of(folder: Path) -> list[tuple[TagTree, str]]:
    """Answers to queries in the archive of a harvest, each with its query; those with the most text first."""
    pages = (page for page in archived_pages.pages(folder / "archive") if page.query and page.status == 200)
    found = [(read_page(page.body, page.url, page.headers), page.query) for page in islice(pages, MAX_ANSWERS)]
    return sorted(found, key=lambda answer: -len(answer[0].chunks))


def _models(folder: Path) -> list[SourceModel]:
    try:
        return list(load_all((folder / "source.json").read_text(encoding="utf-8")))
    except (OSError, WrongUsage):  # nothing was learned yet
        return []


def _model_for(models: list[SourceModel], tree: TagTree) -> SourceModel:
    """The model whose answers come from the same path; else the first."""
    from urllib.parse import urlsplit

    path = urlsplit(tree.url).path
    return next((model for model in models if model.asked_at == path), models[0] if models else SourceModel())


def texts_of(folder: Path, tree: TagTree) -> list[ShownText]:
    """The texts of an answer, with the records that are read in it now."""
    leaves, model = leaves_of(tree), _model_for(_models(folder), tree)
    starts: dict[int, int] = {}  # first leaf of each record → the leaf behind it
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
    """Learns the source anew from a record that a person has shown: the texts `first` … `last` of an answer."""
    answers = answers_of(folder)
    if not 0 <= answer < len(answers):
        raise WrongUsage("this answer is no longer in the archive; look again")
    old = _model_for(_models(folder), answers[answer][0])
    is_empty = [
        bool(old.rules) and apply(old, tree).kind == "none" and i != answer for i, (tree, _) in enumerate(answers)
    ]
    full = [i for i, empty in enumerate(is_empty) if not empty]
    background = [answers[i] for i, empty in enumerate(is_empty) if empty]
    model = learn_source(
        [answers[i][0] for i in full],
        [tree for tree, _ in background],
        queries=[answers[i][1] for i in full],
        background_queries=[query for _, query in background],
        example=RecordExample(answer=full.index(answer), first=first, last=last),
    )
    if not model.rules:
        raise WrongUsage(
            "nothing else on the page is built like that; mark the whole of one record, from its first text to its last"
        )
    _keep(folder, old, replace(model, roles=old.roles, next_link=old.next_link))


def correct_next_page(folder: Path, answer: int, text: int) -> None:
    """Keeps which link leads to the next page."""
    answers = answers_of(folder)
    if not 0 <= answer < len(answers):
        raise WrongUsage("this answer is no longer in the archive; look again")
    tree = answers[answer][0]
    leaves = leaves_of(tree)
    row = next((row for row, _ in tree.links() if leaves.row_start[row] <= text < leaves.row_end[row]), None)
    if row is None:
        raise WrongUsage("that text is no link; choose the one that leads to the next page")
    said = " ".join(tree.text(row).split())
    if said.isdigit():
        raise WrongUsage(
            f"{said} is a number, which is another one on the next page; choose the word or the arrow that leads on"
        )
    old = _model_for(_models(folder), tree)
    if not old.rules:
        raise WrongUsage("no records are read yet; show what a record is first")
    _keep(folder, old, replace(old, next_link=(tree.spots[tree.spot_of[row]].place, said)))


def _keep(folder: Path, old: SourceModel, new: SourceModel) -> None:
    """Keeps a model for the next run, which reads the archived pages with it; records that were read otherwise are forgotten."""
    models = [new if model is old or model == old else model for model in _models(folder)] or [new]
    with State(place_of(folder)) as state:
        state.forget_records()
        state.set_note(CORRECTED, json.dumps([json.loads(model.to_json()) for model in models], ensure_ascii=False))
    for name in ("source.json", "summary.json"):  # of the other reading
        (folder / name).unlink(missing_ok=True)
