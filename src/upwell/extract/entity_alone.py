"""One page without others of its site: what it names itself, because nobody can tell what is template.

Labels are texts that end with a colon, terms, the first of two cells of a line, and bold words before other text of their line.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from upwell.extract.entity_columns import Candidate
from upwell.extract.entity_names import form_of
from upwell.extract.entity_stated import is_stated
from upwell.extract.entity_texts import COLONS, PageTexts
from upwell.page.spots import BROKEN
from upwell.page.tree import TagTree

__all__ = ["labels_alone", "named_alone"]

TERM_TAGS = ("dt", "th")
BOLD_TAGS = ("b", "strong")
MAX_LABEL_CHARS = 40
MAX_NAMED_CHARS = 200  # of a text that only its class names; longer ones are prose


def labels_alone(page: PageTexts) -> Iterator[tuple[str, str]]:
    """The labels of a page that is read alone, with their cells."""
    tree = page.tree
    for chunk, cell, text in page.texts:
        row = int(tree.chunk_row[chunk])
        if text.endswith(COLONS):
            yield cell, text
        elif len(text) <= MAX_LABEL_CHARS and not any(map(str.isdigit, text)):
            tag, above = tree.name(row), int(tree.parent[row])
            is_first_cell = _is_first_of_two_cells(tree, row) or _is_first_of_two_cells(tree, above)
            if tag in TERM_TAGS or is_first_cell or (tag in BOLD_TAGS and _stands_before_text(tree, chunk, above)):
                yield cell, text


def _stands_before_text(tree: TagTree, chunk: int, above: int) -> bool:
    """Whether a text of the row above goes on in the line of a chunk."""
    following = chunk + 1
    return (
        following < len(tree.chunks)
        and int(tree.chunk_row[following]) == above
        and bool(tree.chunk_gap[following] != BROKEN)
    )


def _is_first_of_two_cells(tree: TagTree, row: int) -> bool:
    if row < 0 or tree.spots[tree.spot_of[row]].column != 1:
        return False
    cells = tree.children(int(tree.parent[row]))
    return len(cells) == 2 and bool(tree.text_end[cells[1]] > tree.text_at[cells[1]])


def named_alone(found: Sequence[Candidate], tree: TagTree, title: Candidate | None) -> list[Candidate]:
    """Of the candidates of one page those that it names: by a label, a statement, a property, an id, a class of its own, or by their form."""
    uses = Counter(name for own in tree.attributes.values() for name in (own.get("class") or "").split())
    return [column for column in found if column is title or column.label or _is_named(column, uses)]


def _is_named(column: Candidate, uses: Counter[str]) -> bool:
    place = column.address.place
    if is_stated(place) or "@" in place or place.startswith("#") or form_of(column.texts):
        return True
    tag, *classes = re.split(r"[.]", place.rsplit("/", 1)[-1])
    is_short = max(map(len, column.texts)) <= MAX_NAMED_CHARS
    return tag == "h1" or (is_short and any(uses[name] == 1 for name in classes))
