"""Links to lists: which URLs are records, which links are opened first, which lists form a family."""

from upwell.discover.lists import ListLinks, RecordAddresses, family_of
from upwell.page.tree import read
from upwell.urls.patterns import learn_url_patterns, matches_any

RECORDS = [f"http://x/shop/item/{n}?lang=en" for n in range(1, 9)]
MENU = "<a href=/shop?lang=en>Shop</a><a href=/shop?lang=en&page=2>2</a><a href=/find?q=a>a</a><a href=/shop/item/9?lang=en>9</a>"


def test_record_urls_are_recognized_by_their_shape() -> None:
    """A URL with another number matches; another folder, argument, word or host does not."""
    shapes = learn_url_patterns([*RECORDS, "http://y/advertisement"])
    assert matches_any(shapes, "http://x/shop/item/77?lang=en")
    others = ("http://x/shop/items/77?lang=en", "http://x/shop/item/77?lang=de", "http://x/shop/item/new?lang=en", "http://z/shop/item/7?lang=en")  # fmt: skip
    assert not any(matches_any(shapes, other) for other in others)


def test_parent_url_of_records_is_opened_first() -> None:
    """Records, further pages of a list, queries and help pages are not opened; every other link is opened once."""
    records = RecordAddresses.learn(RECORDS, ())
    links = ListLinks()
    links.add(read(f"{MENU}<a href=/help>Help</a><a href=/new>New</a>", url="http://x/"), records, "q")
    assert [links.next(), links.next(), links.next()] == ["http://x/shop?lang=en", "http://x/new", None]


def test_failed_sections_do_not_exclude_other_sections() -> None:
    """After two pages of a folder that are not lists its other pages are skipped; top-level sections are all tried."""
    records = RecordAddresses.learn(RECORDS, ())
    links = ListLinks()
    page = "".join(f"<a href={path}>{path}</a>" for path in ("/a", "/b", "/c", "/f/d", "/f/e", "/f/g"))
    links.add(read(page, url="http://x/"), records)
    opened = []
    while (url := links.next()) is not None:
        opened.append(url)
        links.fail(url)
    assert sorted(opened)[:3] == ["http://x/a", "http://x/b", "http://x/c"]
    assert len(opened) == 5


def test_record_linked_from_every_page_does_not_make_a_list() -> None:
    """A record in the frame of the site does not count for lists, but keeps its key."""
    pages = [read(f"<a href={RECORDS[0]}>best</a><a href=/{name}>more</a>", url=f"http://x/{name}") for name in "ab"]
    records = RecordAddresses.learn(RECORDS, pages)
    assert records.on(pages[0]) == set()
    assert records.key(RECORDS[0]) == RECORDS[0]


def test_families_differ_in_one_place() -> None:
    """Letters and months form a family; pages and orders of one list do not, nor do sections of the site."""
    links = "/az/b?x=1 /az/c?x=1 /az/a?x=2 /az/a?x=1&page=2 /az/b?x=2 /about?x=1"
    page = read("".join(f"<a href='{link}'>{link}</a>" for link in links.split()), url="http://x/")
    family = family_of("http://x/az/a?x=1", [page], lambda url: False)
    assert sorted(family) == ["http://x/az/a?x=2", "http://x/az/b?x=1", "http://x/az/c?x=1"]
