"""Sitemaps as lists of record pages: where a site has no search, and beside a search that cuts off."""

import gzip
from pathlib import Path

from tests.harvest.test_lists import BOX, FREE, ITEMS, MENU, served, shop, source_of
from upwell import api
from upwell.harvest.loop import Plan

TAGS = [f"tag{number}" for number in range(40)]


def sitemap(*paths: str) -> str:
    return "<urlset>" + "".join(f"<url><loc>{path}</loc></url>" for path in paths) + "</urlset>"


def test_a_sitemap_is_the_source_where_there_is_no_search(tmp_path: Path) -> None:
    """Named by robots.txt, an index of compressed files; pages that list others are no records; rows come from the pages."""
    home = ["http://x/"]

    def site(path: str, sent: dict[str, str]) -> str | bytes | None:
        if path == "/maps.xml":
            return f"<sitemapindex><sitemap><loc>{home[0]}pages.xml.gz</loc></sitemap></sitemapindex>"
        if path == "/pages.xml.gz":
            paths = ("about", *(f"tag/{tag}" for tag in TAGS), *(f"item/{n}" for n, _, _ in ITEMS))
            return gzip.compress(sitemap(*(f"{home[0]}{path}" for path in paths)).encode())
        if path.startswith("/tag/"):
            tagged = ITEMS[int(path.removeprefix("/tag/tag")) :: 40]
            return MENU + "".join(f"<li><a href=/item/{n}>{title}</a>" for n, title, _ in tagged)
        return (shop(path, sent) or "").replace(BOX, "") if path.startswith("/item/") or path == "/" else None

    with served(site, robots=lambda url: f"User-agent: *\nSitemap: {url}maps.xml") as (url, _):
        home[0] = url
        result = api.harvest(url, out=tmp_path, plan=Plan(budget=400, browser="never", coverage=1.0), manners=FREE)
    assert source_of(result)["search_interface"]["via"] == "sitemap"
    assert result.summary["coverage"] == 1.0
    table = result.to_pandas()
    assert set(table["_url"]) == {f"{url}item/{n}" for n, _, _ in ITEMS}
    assert set(table["title"]) == {title for _, title, _ in ITEMS}


def test_a_sitemap_brings_what_the_search_leaves_out(tmp_path: Path) -> None:
    """The box shows ten matches of a word: the size is known by the sitemap, and what is missing is read on its own page; two are gone."""
    home = ["http://x/"]

    def site(path: str, sent: dict[str, str]) -> str | bytes | None:
        if path == "/sitemap.xml":
            return sitemap(*(f"{home[0]}item/{n}" for n in range(len(ITEMS) + 2)))
        if path == "/catalogue" or path in (f"/item/{len(ITEMS)}", f"/item/{len(ITEMS) + 1}"):
            return None
        return shop(path, sent)

    with served(site, robots=lambda url: f"Sitemap: {url}sitemap.xml") as (url, _):
        home[0] = url
        result = api.harvest(url, out=tmp_path, plan=Plan(budget=400, browser="never", coverage=1.0), manners=FREE)
    assert set(result.to_pandas()["_key"]) == {f"{url}item/{n}" for n, _, _ in ITEMS}
    assert source_of(result)["checks"]["size_by"] == "list"
    assert result.summary["size"]["low"] == len(ITEMS)
    assert result.summary["requests"] < 330
