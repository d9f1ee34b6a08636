"""Links that may lead to lists: which addresses are records, which links are opened first, which lists are of one family."""

from upwell.discover.lists import ListLinks, RecordAddresses, family_of
from upwell.page.tree import read
from upwell.urls.patterns import learn_url_patterns, matches_any

RECORDS = [f"http://x/shop/item/{n}?lang=en" for n in range(1, 9)]
MENU = "<a href=/shop?lang=en>Shop</a><a href=/shop?lang=en&page=2>2</a><a href=/find?q=a>a</a><a href=/shop/item/9?lang=en>9</a>"


def test_shapes_keep_what_all_addresses_share() -> None:
    """Another number has the shape; another folder, another argument, a word or another host has not."""
    shapes = learn_url_patterns([*RECORDS, "http://y/advertisement"])
    assert matches_any(shapes, "http://x/shop/item/77?lang=en")
    others = ("http://x/shop/items/77?lang=en", "http://x/shop/item/77?lang=de", "http://x/shop/item/new?lang=en", "http://z/shop/item/7?lang=en")  # fmt: skip
    assert not any(matches_any(shapes, other) for other in others)


def test_where_the_addresses_of_records_begin_is_opened_first() -> None:
    """Records, other pages of a list, queries and pages of help are no candidates; each candidate is opened once."""
    records = RecordAddresses.learn(RECORDS, ())
    links = ListLinks()
    links.add(read(f"{MENU}<a href=/help>Help</a><a href=/new>New</a>", url="http://x/"), records, "q")
    assert [links.next(), links.next(), links.next()] == ["http://x/shop?lang=en", "http://x/new", None]


def test_sections_that_are_no_lists_say_nothing_of_other_sections() -> None:
    """Two pages of a folder that are no lists end the search there; sections of the site are tried each for itself."""
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


def test_what_every_page_links_to_is_no_record_of_a_list() -> None:
    """A record in the frame does not make every page a list, but is a record where a list has it."""
    pages = [read(f"<a href={RECORDS[0]}>best</a><a href=/{name}>more</a>", url=f"http://x/{name}") for name in "ab"]
    records = RecordAddresses.learn(RECORDS, pages)
    assert records.on(pages[0]) == set()
    assert records.key(RECORDS[0]) == RECORDS[0]


def test_families_differ_in_one_place() -> None:
    """Letters and months are one family; pages and orders of one list are not, nor are sections of the site."""
    links = "/az/b?x=1 /az/c?x=1 /az/a?x=2 /az/a?x=1&page=2 /az/b?x=2 /about?x=1"
    page = read("".join(f"<a href='{link}'>{link}</a>" for link in links.split()), url="http://x/")
    family = family_of("http://x/az/a?x=1", [page], lambda url: False)
    assert sorted(family) == ["http://x/az/a?x=2", "http://x/az/b?x=1", "http://x/az/c?x=1"]
