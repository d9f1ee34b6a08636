"""How much evidence main content, its metadata and tables of contents need: each decision on both sides of its boundary."""

import pytest

from tests.records.test_column_order import word
from upwell.content.main_content import BlockType, find_blocks, learn_site
from upwell.page.tree import TagTree, read

PROSE = "The keeper of the old light house walks along the shore every day, and nobody knows what he is looking for. "


def block(tree: TagTree, kind: BlockType) -> str | None:
    """The text of a block of a single page."""
    return next((block.text for block in find_blocks(tree) if block.type == kind), None)


def article(
    title: str = "A keeper walks along the shore", before: str = "", headline: str = "", body: str = PROSE * 3
) -> TagTree:
    headline = headline or f"<h1>{title}</h1>"
    return read(f"<title>{title}</title><div>{headline}{before}<p>{body}</p><p>{PROSE * 2}</p></div>")


@pytest.mark.parametrize(("lines", "is_found"), [(7, True), (16, False)])
def test_a_date_stands_near_the_headline(lines: int, is_found: bool) -> None:
    between = "".join(f"<p>{word(i)}</p>" for i in range(lines))
    assert (block(article(before=f"{between}<p>4 March 2021</p>"), "date") is not None) is is_found


@pytest.mark.parametrize(("lines", "is_found"), [(2, True), (3, False)])
def test_a_linked_author_stands_nearer(lines: int, is_found: bool) -> None:
    between = "".join(f"<p>{word(i)}</p>" for i in range(lines))
    tree = article(before=f"{between}<p><a href=/anna>By Anna Keeper</a></p>")
    assert (block(tree, "author") is not None) is is_found


@pytest.mark.parametrize(("chars", "is_date"), [(22, True), (45, False)])
def test_a_dateline_is_little_more_than_a_date(chars: int, is_date: bool) -> None:
    tree = article(before=f"<p>{('reported from the harbour of the old town at noon')[:chars]} 4 March 2021</p>")
    assert (block(tree, "date") is not None) is is_date


def words(first: int, count: int) -> str:
    return " ".join(word(i, 6) for i in range(first, first + count))


@pytest.mark.parametrize(
    ("title", "headline", "is_title"),
    [
        (words(0, 6), f"<h2>{words(0, 3)} {words(50, 7)}</h2>", True),  # a heading that shares a third of its words
        (words(0, 4), f"<h2>{words(0, 2)} {words(50, 8)}</h2>", False),  # a fifth
        (words(0, 8), f"<p>{words(0, 4)} {words(50, 6)}</p>", False),  # no heading, two fifths
        (words(0, 12), f"<p>{words(0, 5)}</p>", True),  # nearly half of the title
        (words(0, 14), f"<p>{words(0, 3)}</p>", False),  # a fifth of the title
        (words(0, 33), f"<h1>{words(0, 33)}</h1>", True),  # a long title
        (words(0, 50), f"<h1>{words(0, 50)}</h1>", False),  # too long for one
        ("Lights", "<p>Lights</p>", False),  # too short to be compared
        ("Lights on sea", "<p>Lights on sea</p>", True),
    ],
)
def test_a_headline_agrees_with_the_title(title: str, headline: str, is_title: bool) -> None:
    assert (block(article(title, headline=headline), "title") is not None) is is_title


def contents_of(tree: TagTree, site: list[TagTree] | None = None) -> bool:
    """Whether a page has a table of contents."""
    blocks = find_blocks(tree, learn_site(site) if site else None)
    return any(block.type == "toc" for block in blocks)


def listing(entries: list[str], page: int = 0, *, folder: str = "") -> TagTree:
    """A page with a list of links; each leads to a folder of its own, or all to one."""
    items = "".join(
        f"<li><a href={folder or f'/{word(i, 7)}'}/{word(i + 99 * page, 8)}>{text}</a>"
        for i, text in enumerate(entries)
    )
    return read(f"<h1>{word(page, 9)}</h1><div><ul>{items}</ul></div><p>Page {word(page, 3)}</p>")


def texts(chars: int, page: int = 0, count: int = 6) -> list[str]:
    return [" ".join(word(i + 40 * page, k) for k in range(40))[:chars] for i in range(count)]


@pytest.mark.parametrize(("chars", "is_contents"), [(9, False), (17, True)])
def test_entries_of_a_known_site_may_be_short(chars: int, is_contents: bool) -> None:
    site = [listing(texts(chars, page), page) for page in range(3)]
    assert contents_of(site[0], site) is is_contents


@pytest.mark.parametrize(("chars", "is_contents"), [(35, False), (70, True)])
def test_a_list_that_all_pages_repeat_needs_longer_entries(chars: int, is_contents: bool) -> None:
    site = [
        read(
            "<ul>"
            + "".join(f"<li><a href=/{word(i, 7)}/x>{text}</a>" for i, text in enumerate(texts(chars)))
            + f"</ul><p>Page {word(page, 3)}</p>"
        )
        for page in range(4)
    ]
    assert contents_of(site[0], site) is is_contents


@pytest.mark.parametrize(
    ("chars", "folder", "is_contents"), [(3, "/towns1", False), (5, "/towns1", True), (5, "", False)]
)
def test_short_names_lead_to_pages_of_one_folder(chars: int, folder: str, is_contents: bool) -> None:
    site = [listing(texts(chars, page, 9), page, folder=folder) for page in range(3)]
    assert contents_of(site[0], site) is is_contents


@pytest.mark.parametrize(("distinct", "is_contents"), [(9, True), (6, False)])
def test_links_of_a_list_of_names_lead_to_different_pages(distinct: int, is_contents: bool) -> None:
    def page(n: int) -> TagTree:
        items = "".join(f"<li><a href=/towns/{word(i % distinct, 8 + n)}>{word(i, n)}</a>" for i in range(10))
        return read(f"<ul>{items}</ul><p>Page {word(n, 3)}</p>")

    site = [page(n) for n in range(3)]
    assert contents_of(site[0], site) is is_contents


@pytest.mark.parametrize(("numbered", "is_contents"), [(8, True), (4, False)])
def test_most_pages_of_a_list_of_names_have_numbers_if_the_site_is_unknown(numbered: int, is_contents: bool) -> None:
    items = "".join(f"<li><a href=/towns/{word(i, 8)}{i if i < numbered else ''}>{word(i)}</a>" for i in range(10))
    assert contents_of(read(f"<ul>{items}</ul>")) is is_contents


@pytest.mark.parametrize(("linked", "is_contents"), [(35, False), (70, True)])
def test_a_link_takes_up_most_of_its_entry(linked: int, is_contents: bool) -> None:
    line = " ".join(word(1, k) for k in range(40))[:100]
    # the link ends the line: one that begins it heads an entry with a teaser
    items = "".join(f"<li>{line[linked:]}<a href=/{word(i, 7)}/{i}>{line[:linked]}</a>" for i in range(6))
    assert contents_of(read(f"<ul>{items}</ul>")) is is_contents


def test_one_link_is_no_list() -> None:
    assert not contents_of(listing(texts(60, count=1)))
    assert contents_of(listing(texts(60, count=2)))
