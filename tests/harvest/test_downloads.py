"""Paged feeds and exports, with and without a search; `ask` on a source that is an index."""

from pathlib import Path

from tests.harvest.test_lists import BOX, FREE, ITEMS, served, shop, source_of
from upwell import api
from upwell.harvest.loop import Plan


def feed(sent: dict[str, str]) -> bytes:
    """Return a part of a feed of all items: thirty entries and a link to the next part."""
    start = int(sent.get("from", "0"))
    entries = "".join(
        f"<entry><title>{title}</title><link href='/item/{n}'/><summary>{text}</summary></entry>"
        for n, title, text in ITEMS[start : start + 30]
    )
    more = f"<link rel='next' href='/feed.atom?from={start + 30}'/>" if start + 30 < len(ITEMS) else ""
    return f"<?xml version='1.0'?><feed><title>Things</title>{more}{entries}</feed>".encode()


def test_paged_feed_is_read_like_a_list(tmp_path: Path) -> None:
    """Only a paged feed (RFC 5005) links to the items."""

    def site(path: str, sent: dict[str, str]) -> str | bytes | None:
        if path == "/":
            return "<link rel=alternate type=application/atom+xml href=/feed.atom><h1>Things</h1><p>Old and new."
        if path != "/feed.atom":
            return shop(path, sent) if path.startswith("/item/") else None
        return feed(sent)

    with served(site) as (url, _):
        result = api.harvest(url, out=tmp_path, plan=Plan(budget=60, browser="never"), manners=FREE)
    assert result.summary["checks"]["lower_bound"]  # nothing else shows that the feed has everything
    table = result.to_pandas()
    assert set(table["_url"]) == {f"{url}item/{n}" for n, _, _ in ITEMS}
    assert set(table["title"]) == {title for _, title, _ in ITEMS}


def test_export_replaces_its_list(tmp_path: Path) -> None:
    """A table has the records of a list by their numbers, and is read instead of the list."""

    def site(path: str, sent: dict[str, str]) -> str | bytes | None:
        if path == "/catalogue/all.csv":
            return "\r\n".join(["id,name,text", *(f'{n},"{title}",{text}' for n, title, text in ITEMS)]).encode()
        page = shop(path, sent) if path != "/find" else None
        return page and page.replace(BOX, "<a href=/catalogue/all.csv>CSV</a>" if path == "/catalogue" else "")

    with served(site) as (url, asked):
        result = api.harvest(url, out=tmp_path, plan=Plan(budget=60, browser="never"), manners=FREE)
    assert result.summary["coverage"] == 1.0
    assert source_of(result)["search_interface"]["via"] == "index"
    assert set(result.to_pandas()["_url"]) == {f"{url}item/{n}" for n, _, _ in ITEMS}
    assert sum(path.startswith("/catalogue?page") for path in asked) <= 3


def with_export(path: str, sent: dict[str, str]) -> str | bytes | None:
    """Answer as the shop without its catalogue, with links to a table of all items."""
    if path == "/all.csv":
        return "\r\n".join(["id,name,text", *(f'{n},"{title}",{text}' for n, title, text in ITEMS)]).encode()
    page = shop(path, sent) if path != "/catalogue" else None
    return page and page + "<p><a href=/all.csv>CSV</a>"


def test_export_next_to_a_search(tmp_path: Path) -> None:
    """One request returns all records, with the keys and column names of the search, and an exact size."""
    with served(with_export) as (url, asked):
        result = api.harvest(url, out=tmp_path, plan=Plan(budget=200, browser="never"), manners=FREE)
    table = result.to_pandas()
    assert set(table["_key"]) == {f"{url}item/{n}" for n, _, _ in ITEMS}
    assert result.summary["requests"] < 60
    assert asked.count("/all.csv") == 1
    assert (result.summary["coverage"], result.summary["size"]["low"]) == (1.0, len(ITEMS))
    assert all(table[name].notna().mean() > 0.9 for name in table.columns if not name.startswith("_"))


def test_download_with_other_entities_is_rejected(tmp_path: Path) -> None:
    """A table of the site's shops is not a list of its items: it costs a request and adds no records."""

    def site(path: str, sent: dict[str, str]) -> str | bytes | None:
        if path == "/all.csv":
            return "\r\n".join(["id,town,street", *(f"s{n},Town {n},{n} Main Street" for n in range(40))]).encode()
        return with_export(path, sent)

    with served(site) as (url, asked):
        result = api.harvest(url, out=tmp_path, plan=Plan(budget=60, browser="never"), manners=FREE)
    assert asked.count("/all.csv") == 1
    assert all("/item/" in key for key in result.to_pandas()["_key"])


def test_paged_feed_next_to_a_search(tmp_path: Path) -> None:
    """The search has a result cap, and a paged feed (RFC 5005) has all records."""

    def site(path: str, sent: dict[str, str]) -> str | bytes | None:
        if path != "/feed.atom":
            page = shop(path, sent) if path != "/catalogue" else None
            return page and f"<link rel=alternate type=application/atom+xml href=/feed.atom>{page}"
        return feed(sent)

    with served(site) as (url, _):
        result = api.harvest(url, out=tmp_path, plan=Plan(budget=150, browser="never"), manners=FREE)
    assert set(result.to_pandas()["_key"]) == {f"{url}item/{n}" for n, _, _ in ITEMS}
    assert result.summary["coverage"] == 1.0


def test_ask_searches_an_index(tmp_path: Path) -> None:
    """An index is searched with one request, best match first; a source with lists only reports that it cannot be asked."""

    def site(path: str, sent: dict[str, str]) -> str | bytes | None:
        if path == "/all.csv":
            return with_export(path, sent)
        page = shop(path, sent) if path != "/find" else None
        return page and page.replace(BOX, "<a href=/all.csv>CSV</a>" if export and path == "/catalogue" else "")

    export = True
    with served(site) as (url, asked):
        index = api.harvest(url, out=tmp_path / "index", plan=Plan(budget=60, browser="never"), manners=FREE)
        export = False
        listed = api.harvest(url, out=tmp_path / "list", plan=Plan(budget=60, browser="never"), manners=FREE)
        del asked[:]
        answer = api.ask("silver harbour 87", index.folder, manners=FREE)
        nothing = api.ask("xyzzy", index.folder, manners=FREE)
        of_list = api.ask("silver", listed.folder, manners=FREE)
    assert [path for path in asked if path != "/robots.txt"] == ["/all.csv"] * 2
    assert (answer.findings[0].url, len(answer)) == (f"{url}item/87", 1)
    assert (len(nothing), nothing.troubles) == (0, {})
    assert len(of_list) == 0
    assert "upwell search" in "".join(of_list.troubles.values())
