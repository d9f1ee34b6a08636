"""Feeds with paging, and whole lists to download, on sites without a search."""

from pathlib import Path

from tests.harvest.test_lists import BOX, FREE, ITEMS, served, shop, source_of
from upwell import api
from upwell.harvest.loop import Plan


def test_a_feed_that_goes_on(tmp_path: Path) -> None:
    """Nothing links to the items but a feed in parts (RFC 5005): it is walked like a list."""

    def site(path: str, sent: dict[str, str]) -> str | bytes | None:
        if path == "/":
            return "<link rel=alternate type=application/atom+xml href=/feed.atom><h1>Things</h1><p>Old and new."
        if path != "/feed.atom":
            return shop(path, sent) if path.startswith("/item/") else None
        start = int(sent.get("from", "0"))
        entries = "".join(
            f"<entry><title>{title}</title><link href='/item/{n}'/><summary>{text}</summary></entry>"
            for n, title, text in ITEMS[start : start + 30]
        )
        more = f"<link rel='next' href='/feed.atom?from={start + 30}'/>" if start + 30 < len(ITEMS) else ""
        return f"<?xml version='1.0'?><feed><title>Things</title>{more}{entries}</feed>".encode()

    with served(site) as (url, _):
        result = api.harvest(url, out=tmp_path, plan=Plan(budget=60, browser="never"), manners=FREE)
    assert result.summary["coverage"] == 1.0
    table = result.to_pandas()
    assert set(table["_url"]) == {f"{url}item/{n}" for n, _, _ in ITEMS}
    assert set(table["title"]) == {title for _, title, _ in ITEMS}


def test_a_list_that_can_be_downloaded(tmp_path: Path) -> None:
    """A table beside a list that goes on: it has the list's records by their numbers, and is taken instead of it."""

    def site(path: str, sent: dict[str, str]) -> str | bytes | None:
        if path == "/catalogue/all.csv":
            return "\r\n".join(["id,name,text", *(f'{n},"{title}",{text}' for n, title, text in ITEMS)]).encode()
        page = shop(path, sent) if path != "/find" else None
        return page and page.replace(BOX, "<a href=/catalogue/all.csv>CSV</a>" if path == "/catalogue" else "")

    with served(site) as (url, asked):
        result = api.harvest(url, out=tmp_path, plan=Plan(budget=60, browser="never"), manners=FREE)
    assert result.summary["coverage"] == 1.0
    assert source_of(result)["template"]["via"] == "index"
    assert set(result.to_pandas()["_url"]) == {f"{url}item/{n}" for n, _, _ in ITEMS}
    assert sum(path.startswith("/catalogue?page") for path in asked) <= 3
