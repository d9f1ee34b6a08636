"""Answers with records in various kinds of markup, between a menu and a footer."""

from upwell.page.tree import TagTree, read

__all__ = ["FRAME", "SHAPES", "WORDS", "page", "things"]

WORDS = ["amber", "birch", "cedar", "dune", "ember", "fjord", "grove", "heath", "islet", "junco", "kelp", "larch"]
FRAME = (
    "<h1>Search</h1><ul><li><a href=/>Home</a><li><a href=/a>About</a><li><a href=/c>Contact</a></ul>{}<p>Made here."
)


def things(first: int = 0, n: int = 6) -> list[tuple[str, str, str]]:
    """Return URL, title and text of `n` records."""
    words = [WORDS[(first + i) % len(WORDS)] for i in range(n)]
    return [
        (f"/t/{w}", f"The {w} report", f"What is known of {w}, with many words about {w} and {i} more")
        for i, w in enumerate(words)
    ]


SHAPES = {
    "list": ("<ol>{}</ol>", "<li><a href={0}>{1}</a><p>{2}</p>"),
    "divs": ("<main>{}</main>", "<div class=hit><h3><a href={0}>{1}</a></h3><span>{2}</span></div>"),
    "definitions": ("<dl>{}</dl>", "<dt><a href={0}>{1}</a><dd>{2}"),
    "rows in pairs": ("<table>{}</table>", "<tr><td><a href={0}>{1}</a><tr><td colspan=2>{2}"),
    "flat with breaks": ("<div>{}</div>", "<a href={0}>{1}</a><br>{2}<br><br>"),
    "flat with rules": ("<center>{}</center>", "<hr><b><a href={0}>{1}</a></b> {2}"),
    "nested tables": ("<table><tr><td>{}</table>", "<table><tr><td><a href={0}>{1}</a></td></tr><tr><td>{2}</td></tr></table>"),
    "grid": ("<table><tr>{}</tr></table>", "<td><a href={0}>{1}</a><br>{2}</td>"),
}  # fmt: skip


def page(shape: str, records: list[tuple[str, str, str]]) -> TagTree:
    """Return an answer with these records."""
    container, item = SHAPES[shape]
    items = "".join(item.format(*record) for record in records)
    return read(FRAME.format(container.format(items)), url="http://h/s?q=x")
