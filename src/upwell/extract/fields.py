"""What a match says: its pieces of text under stable names, and its own address."""

from collections.abc import Sequence

from upwell.page.tree import TagTree

__all__ = ["headings_of", "read"]


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
    """The fields of a match that spans these sibling rows, and the address of its first link.

    A piece of text is named by `itemprop`, class, column heading or term (<dt>, <th>), or else by its tag and place.
    """
    found: dict[str, list[str]] = {}
    address = None
    for place, root in enumerate(rows):
        if address is None:
            address = next((url for _, url in tree.links(root)), None)
        for chunk in range(int(tree.text_at[root]), int(tree.text_end[root])):
            name = _name(tree, int(tree.chunk_row[chunk]), root, place, headings)
            if name:
                found.setdefault(name, []).append(tree.chunks[chunk])
    return {name: " ".join(pieces) for name, pieces in found.items()}, address


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
