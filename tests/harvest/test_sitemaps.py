"""Sitemaps as lists of record pages, without a search and next to a search with a result cap."""

import gzip
from pathlib import Path

from tests.harvest.test_lists import BOX, FREE, ITEMS, MENU, served, shop, source_of
from upwell import api
from upwell.harvest.loop import Plan

TAGS = [f"tag{number}" for number in range(40)]


def sitemap(*paths: str) -> str:
    return "<urlset>" + "".join(f"<url><loc>{path}</loc></url>" for path in paths) + "</urlset>"


def test_sitemap_is_the_source_of_a_site_without_search(tmp_path: Path) -> None:
    """robots.txt names an index of compressed sitemaps; pages that list others are not records; rows are read from record pages."""
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
    assert result.summary["size_state"] == "at least", "nothing else shows whether the sitemap names all records"
    table = result.to_pandas()
    assert set(table["_url"]) == {f"{url}item/{n}" for n, _, _ in ITEMS}
    assert set(table["title"]) == {title for _, title, _ in ITEMS}


def test_sitemap_completes_a_search_with_a_result_cap(tmp_path: Path) -> None:
    """The sitemap gives the size, and missing records are read from their record pages; two of these are gone."""
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
