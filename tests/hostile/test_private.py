"""Private networks are reached only if the user named the address in this command, or has harvested it before."""

import asyncio
import json
import re
import resource
import socket
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from tests.command import upwell
from tests.hostile.site import HostileSite, hostile
from tests.hostile.test_secrets import harvested
from tests.web.serving import serving
from tests.web.test_mcp import call, refused, server
from tests.web.test_security import ask, own
from upwell import api
from upwell.choose.plan import Plan
from upwell.errors import Refused
from upwell.net.fetch import Fetcher, Manners
from upwell.types import Request
from upwell.web.query_process import MAX_PROCESS_BYTES

PUBLIC = "93.184.216.34"


def lead_to(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    """Let the system's resolver answer with an address for every name, as the owner of a domain can."""

    def getaddrinfo(host: str, port: int, *_: object) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)


def fetch(url: str, *allow: str) -> int:
    async def run() -> int:
        manners = Manners(rate=100, retries=0, connect=0.3, allow=allow, ignore_robots=True)
        async with Fetcher(manners, user_urls=(url,)) as net:
            return (await net.fetch(Request(url=url))).status

    return asyncio.run(run())


def test_typed_name_that_leads_into_a_private_network_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not matter where the name led before: each run asks again. The message names the option, and the option works."""
    with hostile() as site:
        url = f"http://wiki.example:{site.port}/"
        lead_to(monkeypatch, "127.0.0.1")
        with pytest.raises(Refused, match=f"--allow wiki.example:{site.port}"):
            fetch(url)
        for other in ("wiki.example", f"wiki.example:{site.port + 1}", f"other.example:{site.port}"):
            with pytest.raises(Refused):
                fetch(url, other)
        assert site.received == []
        assert fetch(url, f"wiki.example:{site.port}") == 200
        assert fetch(url, url) == 200


def test_sites_of_a_list_that_lead_into_a_private_network_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Names of a list are refused, each on its own."""
    with hostile() as site:
        lead_to(monkeypatch, "127.0.0.1")
        urls = [f"http://{name}.example:{site.port}/" for name in "ab"]
        results = api.harvest_all(
            urls, out=tmp_path, plan=Plan(budget=5, browser="never"), manners=Manners(rate=5, retries=0)
        )
    assert all(isinstance(result, Refused) for result in results)
    assert site.received == []


def test_private_addresses_in_a_list_are_refused(tmp_path: Path) -> None:
    """A line of a file is not typed; the message names the option."""
    with hostile() as site, hostile() as typed:
        (tmp_path / "sites.txt").write_text(f"{site.url}\nlocalhost:{site.port}\n")
        options = ("-o", "out", "--rate", "0", "--budget", "15", "--browser", "never")
        done = upwell("harvest", "sites.txt", typed.url, *options, cwd=tmp_path)
        assert f"--allow 127.0.0.1:{site.port}" in done.stderr
        assert site.received == []
        assert typed.received
        upwell("harvest", "sites.txt", *options, "--allow", f"127.0.0.1:{site.port}", cwd=tmp_path)
    assert site.received
    assert all(request.host.startswith("127.0.0.1") for request in site.received)


def control_at(file: Path, site: HostileSite, folder: Path) -> Path:
    """Write a stranger's harvest, whose search posts to /_control of a private server; return its source.json."""
    saved = json.loads(file.read_text())
    saved["search_interface"] |= {
        "url": f"{site.url}_control",
        "page": site.url,
        "method": "POST",
        "body": "q={query}",
    }
    folder.mkdir()
    (folder / "source.json").write_text(json.dumps(saved))
    return folder / "source.json"


def test_source_of_a_stranger_reaches_no_private_server(tmp_path: Path) -> None:
    """Through `ask` and `enrich`, though the same user has harvested another address, and another path of the same one."""
    with hostile() as own_site, hostile() as victim:
        file = harvested(own_site, tmp_path)
        (tmp_path / "rows.csv").write_text("city\namber\nopal\n")
        for number, target in enumerate((victim, own_site)):
            stranger = control_at(file, target, tmp_path / f"stranger{number}")
            before = len(target.received)
            done = upwell("ask", "amber", str(stranger.parent), "--rate", "0", cwd=tmp_path)
            assert done.returncode == 1
            assert f"--allow 127.0.0.1:{target.port}" in done.stderr
            upwell("enrich", "rows.csv:city", str(stranger), "--rate", "0", "-o", "enriched", cwd=tmp_path)
            assert target.received[before:] == []


def test_own_harvest_of_a_private_address_can_be_asked(tmp_path: Path) -> None:
    """Wherever its folder is moved, also with edited columns; not if the memory of the user is gone."""
    with hostile() as site:
        file = harvested(site, tmp_path)
        edited = json.loads(file.read_text()) | {"tables": {}}
        (tmp_path / "moved").mkdir()
        (tmp_path / "moved" / "source.json").write_text(json.dumps(edited))
        done = upwell("ask", "amber", "moved", "--rate", "0", "--deadline", "20", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "amber" in done.stdout.lower()
        before = len(site.received)
        other_user = {"XDG_STATE_HOME": str(tmp_path / "nobody")}
        assert upwell("ask", "amber", "moved", "--rate", "0", cwd=tmp_path, **other_user).returncode == 1
        assert len(site.received) == before
        allowed = ("--allow", site.url, "--deadline", "20")
        assert upwell("ask", "amber", "moved", "--rate", "0", *allowed, cwd=tmp_path, **other_user).returncode == 0


def test_web_pages_do_not_continue_the_harvest_of_a_stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither "continue" nor "refresh" requests a private address that only the folder names."""
    with hostile() as site:
        harvested(site, tmp_path)
        before = len(site.received)
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "nobody"))
        name = next((tmp_path / "own").iterdir()).name
        with serving(tmp_path / "own") as pages:
            for action in ("go", "refresh"):
                status, _, text = ask(pages, "POST", f"/harvests/{name}/{action}", own(pages), {"more": "5"})
                assert status == 400
                assert "private network" in text
        assert len(site.received) == before


def test_model_reaches_private_servers_only_if_the_user_allows_them(tmp_path: Path) -> None:
    """MCP without --allow, with another host and with another port: nothing arrives, by no tool."""
    with hostile() as site:
        harvested(site, tmp_path)
        before = len(site.received)

        async def way() -> None:
            for options in ((), ("--allow", "example.org"), ("--allow", f"127.0.0.1:{site.port + 1}")):
                async with Client(server(tmp_path / "own", *options)) as client:
                    for tool in ("find_search", "harvest"):
                        for url in (site.url, site.url.replace("127.0.0.1", "localhost")):
                            assert "--allow" in await refused(client, tool, url=url)
                    assert "--allow" in await refused(client, "ask", query="amber")
            assert len(site.received) == before
            async with Client(server(tmp_path / "own", "--allow", f"127.0.0.1:{site.port}")) as client:
                assert (await call(client, "find_search", url=site.url))["searches"]

        asyncio.run(way())
    assert len(site.received) > before


def test_model_sends_no_more_requests_to_a_server_than_allowed(tmp_path: Path) -> None:
    """All tools and all calls together, also with other topics and start pages."""
    with hostile(records=400) as site:

        async def way() -> None:
            async with Client(server(tmp_path, "--max-budget", "30", "--allow", "127.0.0.1")) as client:
                for number, about in enumerate(("", "amber", "opal", "ruby")):
                    for tool, arguments in (
                        ("find_search", {"url": site.url}),
                        ("harvest", {"url": f"{site.url}?start={number}", "about": about, "budget": 500}),
                        ("ask", {"query": "amber"}),
                    ):
                        await client.call_tool(tool, arguments)

        asyncio.run(way())
    assert 20 < len(site.received) <= 30


def test_query_of_a_model_has_limits(tmp_path: Path) -> None:
    """A query that would take gigabytes or minutes is stopped, and the server answers the next one."""
    heavy = (
        "SELECT repeat('x', 2000000000)",
        "SELECT repeat(range::VARCHAR, 10000000) FROM range(100000)",
        "SELECT list(range) FROM range(1000000000)",
        "SELECT count(*) FROM range(1000000) a, range(1000000) b",
    )
    with hostile() as site:
        harvested(site, tmp_path)

    async def way() -> None:
        async with Client(server(tmp_path / "own")) as client:
            for query in heavy:
                assert re.search("stopped|Memory", await refused(client, "sql", query=query))
            assert (await call(client, "sql", query="SELECT 42 AS answer"))["rows"] == [[42]]
            everything = await call(client, "sql", query="SHOW TABLES")
            assert everything["rows"]

    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    asyncio.run(way())
    after = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert max(before, after) < MAX_PROCESS_BYTES / 1024
