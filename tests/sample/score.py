"""Read the sample with Upwell, and compare what is read with the truth."""

from collections.abc import Sequence
from typing import Any

from tests.sample.pages import Page, Site
from upwell.answers.answer import Answer
from upwell.answers.totals import read_totals
from upwell.content.main_content import BlockParams, find_blocks, learn_site, linked_entries
from upwell.discover.forms import find
from upwell.page.tree import TagTree, read
from upwell.records.entity_model import apply_entity_model, learn_entities
from upwell.source.apply import Reading, apply
from upwell.source.learn import learn_source
from upwell.source.paging import next_page_of


def tree_of(page: Page) -> TagTree:
    """Parse a page."""
    return read(page.body.encode(), url=page.url)


def squeezed(text: str) -> str:
    """Return a text without white space, which markup may add or not."""
    return "".join(text.split())


def wrong_answers(site: Site) -> list[str]:
    """Return what is read wrongly in the answers of a source: page number, judgement."""
    trees = [tree_of(page) for page in site.pages]
    full = [i for i, page in enumerate(site.pages) if page.truth["kind"] == "multi"]
    model = learn_source([Answer(trees[i], site.pages[i].truth["query"]) for i in full])
    wrong = []
    for n, (page, tree) in enumerate(zip(site.pages, trees, strict=True)):
        truth = page.truth
        reading = apply(model, tree, query=truth["query"], status=truth.get("status", 200))
        judged: dict[str, tuple[Any, Any]] = {
            "kind": (reading.kind, truth["kind"]),
            "records": (
                [squeezed(record.text) for record in reading.records],
                [squeezed(text) for text in truth["records"]],
            ),
        }
        if truth["kind"] == "multi":
            stated = read_totals(tree, [record.text for record in reading.records])
            step = next_page_of(tree, reading, truth["query"])
            judged |= {"total": (stated.total, truth["total"]), "next": (step.url if step else None, truth["next"])}
        wrong += [f"{n} {name}" for name, (read_value, true_value) in judged.items() if read_value != true_value]
    return wrong


def wrong_next(page: Page) -> list[str]:
    """Return "0 next" if another link than the true one is taken for the next page."""
    step = next_page_of(tree_of(page), Reading(kind="multi"), page.truth["query"])
    return [] if (step.url if step and step.via != "button" else None) == page.truth["next"] else ["0 next"]


def wrong_total(page: Page) -> list[str]:
    """Return "0 total" if another number is taken for the total."""
    return [] if read_totals(tree_of(page), page.truth["records"]).total == page.truth["total"] else ["0 total"]


def wrong_forms(page: Page) -> list[str]:
    """Return the numbers of forms whose purpose or query field is judged wrongly."""
    forms = find(tree_of(page))
    judged = [(form.kind, form.query_field) for form in forms]
    truth = [(form["kind"], form["query_field"] or None) for form in page.truth["forms"]]
    return [f"0 form {i}" for i, (one, other) in enumerate(zip(judged, truth, strict=True)) if one != other]


def wrong_articles(site: Site) -> list[str]:
    """Return what is read wrongly in the articles of a site: page number, part."""
    trees = [tree_of(page) for page in site.pages]
    learned = learn_site(trees)
    wrong = []
    for n, (page, tree) in enumerate(zip(site.pages, trees, strict=True)):
        truth = page.truth
        blocks = {block.type: block for block in find_blocks(tree, learned)}
        lines = blocks["article"].text.split("\n") if "article" in blocks else []
        judged: dict[str, tuple[Any, Any]] = {
            "lines": (
                [squeezed(line) for line in lines if line != truth["title"]],
                [squeezed(line) for line in truth["lines"]],
            )
        }
        for part in ("title", "date", "author"):
            judged[part] = (blocks[part].text if part in blocks else None, truth[part])
        wrong += [f"{n} {name}" for name, (read_value, true_value) in judged.items() if read_value != true_value]
    return wrong


# Parameters with which every line is judged by itself: its position in the text does not count.
EVERY_LINE_ALONE = BlockParams(inside=0.0, outside=0.0, lifted=-1e-9, min_article_chars=0.0)


def lines_judged_alone(site: Site) -> list[tuple[int, int]]:
    """Return for each page how many lines of the article are missing, and how many other lines are taken, if each is judged by itself."""
    trees = [tree_of(page) for page in site.pages]
    learned = learn_site(trees)
    counts = []
    for page, tree in zip(site.pages, trees, strict=True):
        blocks = find_blocks(tree, learned, EVERY_LINE_ALONE, tables=False)
        taken = [squeezed(line) for block in blocks if block.type == "article" for line in block.text.split("\n")]
        true_lines = [squeezed(line) for line in page.truth["lines"]]
        known = {*true_lines, squeezed(page.truth["title"])}
        counts.append((sum(line not in taken for line in true_lines), sum(line not in known for line in taken)))
    return counts


def wrong_contents(page: Page) -> list[str]:
    """Return "0 contents" if other links are taken for the table of contents."""
    tree = tree_of(page)
    blocks = [block for block in find_blocks(tree) if block.type == "toc"]
    urls = sorted({url for block in blocks for _, url in linked_entries(tree, block)})
    return [] if urls == page.truth["contents"] else ["0 contents"]


def wrong_fields(site: Site) -> list[str]:
    """Return the fields of record pages that are read wrongly: page number, name."""
    trees = [tree_of(page) for page in site.pages]
    model = learn_entities(trees)
    wrong = []
    for n, (page, tree) in enumerate(zip(site.pages, trees, strict=True)):
        fields = {name: _joined(value) for name, value in apply_entity_model(model, tree).items()}
        truth = page.truth["fields"]
        wrong += [
            f"{n} {name}"
            for name, value in truth.items()
            if squeezed(_without_label(fields.get(name, ""), name)) != squeezed(value)
        ]
        wrong += [f"{n} furniture" for value in page.truth["furniture"] if value in fields.values()]
    return wrong


def _joined(value: str | Sequence[str] | None) -> str:
    return value if isinstance(value, str) else "; ".join(value or ())


def _without_label(text: str, name: str) -> str:
    """Return a value without its label, which may be kept in front of it."""
    label, colon, value = text.partition(": ")
    return value if colon and label.lower().replace(" ", "_") == name else text


def wrong_in(site: Site) -> list[str]:
    """Return everything that is read wrongly in a site: number of the page, and part."""
    if site.judgement in ("answers", "kinds"):
        return wrong_answers(site)
    if site.judgement == "articles":
        return wrong_articles(site)
    if site.judgement == "entities":
        return wrong_fields(site)
    of_page = {"pagers": wrong_next, "totals": wrong_total, "forms": wrong_forms, "contents": wrong_contents}
    return of_page[site.judgement](site.pages[0])
