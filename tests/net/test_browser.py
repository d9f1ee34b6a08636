"""Pages rendered in the browser, under the same rules as other requests."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, Literal
from urllib.parse import urlsplit

import pytest

from upwell import api
from upwell.demo import Switches, serve
from upwell.errors import Forbidden, Unreachable
from upwell.harvest.loop import Plan
from upwell.net.browser import MAX_REQUESTS, Chromium
from upwell.net.chromium_process import MAX_PAGES
from upwell.net.fetch import Fetcher, Manners
from upwell.types import BrowserVisit, RenderedPage

HOME = "<p>stone river music<form action=/find class=search><input name=q type=search><button>Search</button></form>"
RESULTS = """<h1>Search</h1><div id=out></div><script>
const word = new URLSearchParams(location.search).get("q"), rows = [];
for (const name of ["river", "music", "stone"]) for (let i = 0; i < 12; i++) rows.push(name + " number " + i);
const hits = rows.filter(row => row.includes(word));
out.innerHTML = hits.map(row => `<li><a href="/${row}">${row}</a> is one of many records about it</li>`).join("") || "<p>Nothing here</p>";
</script>"""

GREEDY = "<p id=out>wait</p><script>for (let i = 0; i < 300; i++) fetch('/piece/' + i).catch(() => 0); out.textContent = 'shown'</script>"


@contextmanager
def scripted() -> Iterator[tuple[str, list[str]]]:
    """Serve a site whose script makes the answers without a request; yield its URL and the paths requested so far."""
    paths: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            paths.append(path)
            body = {"/": HOME, "/find": RESULTS, "/greedy": GREEDY}.get(path, "").encode()
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/", paths
        server.shutdown()


def show(visit: BrowserVisit, manners: Manners | None = None) -> RenderedPage:
    async def run() -> RenderedPage:
        async with Fetcher(manners or Manners(rate=0), user_urls=(visit.url,)) as net, Chromium(net) as chromium:
            return await chromium.render(visit)

    return asyncio.run(run())


def printed_interfaces(url: str, browser: Literal["auto", "never"] = "auto") -> list[dict[str, Any]]:
    """Return the search interfaces that `upwell forms` prints."""
    return list(
        json.loads(json.dumps(api.forms(url, manners=Manners(rate=0), browser=browser).as_dict()))["search_interfaces"]
    )


def test_rendered_page_and_typed_query() -> None:
    """The form made by a script is in the page; typing returns the request of the script and the answer."""
    with serve(Switches(script="results")) as site:
        assert 'type="search"' in show(BrowserVisit(url=site.url)).html
        typed = show(BrowserVisit(url=site.url, query="iceland"))
    assert [call.url for call in typed.calls] == [f"{site.url}api/search?q=iceland&page=1"]
    assert 'class="city"' in typed.html


def test_browser_obeys_robots_and_types_only_into_search_boxes() -> None:
    """A forbidden page is not opened; a page with only a login and a newsletter has no search box."""
    with serve(Switches(disallow="/")) as site, pytest.raises(Forbidden):
        show(BrowserVisit(url=site.url))
    with serve() as site:
        with pytest.raises(Unreachable, match="no search box"):
            show(BrowserVisit(url=f"{site.url}register", query="word"))
        assert {r.method for r in site.received} == {"GET"}


def test_answers_made_by_scripts_are_harvested(tmp_path: Path) -> None:
    """Without JavaScript all answers are equal: `auto` detects this and queries in the browser."""
    with scripted() as (url, _):
        (template,) = printed_interfaces(url)
        assert (template["url"], template["via"]) == (f"{url}find", "browser")
        result = api.harvest(url, out=tmp_path, plan=Plan(budget=45, patience=2), manners=Manners(rate=0))
    assert result.summary["records"] >= 24


def test_page_with_too_many_requests_is_stopped_and_shown() -> None:
    """A page that makes 300 requests gets answers up to the limit."""
    with scripted() as (url, paths):
        seen = show(BrowserVisit(url=f"{url}greedy"))
        assert "shown" in seen.html
        assert 20 < len(paths) <= MAX_REQUESTS + 1  # with robots.txt


def test_browser_never_gives_a_decoy() -> None:
    """The search box is found, but counts as a decoy."""
    with scripted() as (url, _):
        (template,) = printed_interfaces(url, "never")
    assert (template["via"], template["score"] < 0.6) == ("form", True)


def test_closed_port_in_the_browser() -> None:
    """The error is one line with the reason, without a traceback."""
    with pytest.raises(Unreachable, match="cannot be shown"):
        show(BrowserVisit(url="http://127.0.0.1:9/"), Manners(rate=0, ignore_robots=True))


WITHOUT_PLAYWRIGHT = """
import asyncio, sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "playwright":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Refuse())
from upwell import api
from upwell.errors import MissingExtra
from upwell.types import BrowserVisit
from upwell.net.browser import Chromium
from upwell.net.chromium_process import MAX_PAGES
from upwell.net.fetch import Fetcher, Manners

async def render():
    async with Fetcher(Manners(rate=0), user_urls=sys.argv[1:]) as net, Chromium(net) as chromium:
        await chromium.render(BrowserVisit(url=sys.argv[1]))

try:
    asyncio.run(render())
except MissingExtra as error:
    print(error)
print(len(api.forms(sys.argv[1], manners=Manners(rate=0)).interfaces))
"""


def test_missing_playwright_is_reported_with_a_remedy() -> None:
    """Without the extra a visit fails with one line, and `auto` continues without the browser."""
    with scripted() as (url, _):
        command = [sys.executable, "-c", WITHOUT_PLAYWRIGHT, url]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.stderr == ""
    assert done.stdout == "the browser needs the package playwright: pip install 'upwell[browser]'\n1\n"


def chromium_processes() -> int:
    """Return the browsers started by this process, without their helper processes, which have a type."""
    processes = {
        int(path.parent.name): path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()
    }
    children = {
        pid: int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        for pid, command in processes.items()
        if b"chromium" in command.partition(b"\0")[0] and b"--type=" not in command and Path(f"/proc/{pid}").exists()
    }

    def is_ours(pid: int) -> bool:
        while pid > 1 and pid != os.getpid():
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        return pid == os.getpid()

    return sum(
        b"--user-data-dir" in processes[pid] and is_ours(pid) and children[pid] not in children for pid in children
    )


def test_many_sites_share_one_browser() -> None:
    """Six sites use one browser with a limited number of pages at once; it ends with them."""
    most_pages = 0
    browsers: list[int] = []

    async def look(url: str) -> None:
        nonlocal most_pages
        async with Fetcher(Manners(rate=0), user_urls=(url,)) as net, Chromium(net) as chromium:
            page = await chromium.render(BrowserVisit(url=f"{url}find?q=river"))
            assert "river number 3" in page.html
            browsers.append(chromium_processes())
            most_pages = max(most_pages, MAX_PAGES - chromium.process._pages._value)

    async def run(urls: list[str]) -> None:
        await asyncio.gather(*(look(url) for url in urls))

    with scripted() as (url, _):
        asyncio.run(run([url] * 6))
    assert max(browsers) == 1
    assert most_pages <= MAX_PAGES
    assert chromium_processes() == 0
