"""What a match says: its pieces of text under stable names, and its own address."""

from collections.abc import Sequence

from upwell.extract.leaves import Leaves
from upwell.page.tree import TagTree

__all__ = ["headings_of", "of", "read"]


def headings_of(tree: TagTree, row: int) -> tuple[str, ...]:
    """The column headings of the table that a row is in; empty where there is none."""
    for above in (row, *tree.ancestors(row)):
        if tree.name(above) == "table":
            for line in tree.rows("tr"):
                if above < line < tree.end[above]:
                    cells = tree.children(int(line))
                    if cells and all(tree.name(cell) == "th" for cell in cells):
                        return tuple(" ".join(tree.text(cell).split()) for cell in cells)
            return ()
    return ()


def read(tree: TagTree, rows: Sequence[int], headings: Sequence[str] = ()) -> tuple[dict[str, str], str | None]:
    """The fields of a match that spans these sibling rows, and the address of its first link."""
    pieces = [
        (tree.chunks[chunk], int(tree.chunk_row[chunk]), root, place)
        for place, root in enumerate(rows)
        for chunk in range(int(tree.text_at[root]), int(tree.text_end[root]))
    ]
    address = next((url for root in rows for _, url in tree.links(root)), None)
    return _named(tree, pieces, headings), address


def of(
    leaves: Leaves, first: int, last: int, depth: int, headings: Sequence[str] = ()
) -> tuple[dict[str, str], str | None]:
    """The fields of a match that is a range of leaves below a container of this depth, and the address of its first link."""
    tree, pieces, place, before = leaves.tree, [], -1, -2
    for i in range(first, last):
        row, unit = int(leaves.row[i]), int(leaves.above[i, depth + 1])
        if unit != before or unit < 0:
            place, before = place + 1, unit
        pieces.append((leaves.texts[i].strip(), row, unit if unit >= 0 else row, place))
    address = next(
        (url for i in range(first, last) if leaves.linked[i] and (url := _address(tree, int(leaves.row[i])))), None
    )
    return _named(tree, pieces, headings), address


def _address(tree: TagTree, row: int) -> str | None:
    """Where the link around a row leads to."""
    link = next((above for above in (row, *tree.ancestors(row)) if tree.name(above) == "a"), None)
    return tree.resolve(tree.attr(link, "href")) if link is not None else None


def _named(tree: TagTree, pieces: Sequence[tuple[str, int, int, int]], headings: Sequence[str]) -> dict[str, str]:
    """Pieces of text (text, row, row of its unit, place of the unit) by name.

    A piece is named by `itemprop`, class, column heading or term (<dt>, <th>), or else by its tag and place.
    """
    found: dict[str, list[str]] = {}
    for text, row, root, place in pieces:
        name = _name(tree, row, root, place, headings)
        if name:
            found.setdefault(name, []).append(text)
    return {name: " ".join(texts) for name, texts in found.items()}


def _name(tree: TagTree, row: int, root: int, place: int, headings: Sequence[str]) -> str:
    """The name of the text in a row of a match; "" for a term, which is a name itself."""
    steps = []
    for above in (row, *tree.ancestors(row)):
        if above <= root and above != root:
            break
        said = tree.attr(above, "itemprop")
        if not said and above != root:
            said = next((c for c in tree.classes[tree.cls[above]].split() if not any(d.isdigit() for d in c)), None)
        if not said and tree.name(above) == "td" and headings and tree.nth[above] <= len(headings):
            said = headings[tree.nth[above] - 1]
        if above != root and tree.name(above) in TERMS:
            if _term_of(tree, above) is None:
                return ""
            said = said or _term_of(tree, above)
        if said:
            return _clean(said)
        if above == root:
            break
        steps.append(f"{tree.name(above)}{tree.nth[above] if tree.nth[above] > 1 else ''}")
    return _clean("_".join([f"{tree.name(root)}{place + 1 if place else ''}", *reversed(steps)]))


TERMS = {"dt": ("dd",), "dd": ("dt",), "th": ("td",), "td": ("th",)}  # what is named by, or names, its neighbour


def _term_of(tree: TagTree, row: int) -> str | None:
    """The term before a <dd> or <td>; "" where there is none, None where the row is the term of another one itself."""
    line = tree.children(int(tree.parent[row]))
    if tree.name(row) in ("dt", "th"):
        return None if any(tree.name(other) in TERMS[tree.name(row)] for other in line) else ""
    before = [other for other in line if other < row and tree.name(other) in TERMS[tree.name(row)]]
    return tree.text(before[-1]) if before else ""


def _clean(name: str) -> str:
    """A name that is good as a column: letters, digits and underscores, and never one of Upwell's own."""
    plain = "".join(c if c.isalnum() else "_" for c in name.lower()).strip("_")
    return plain or "text"
