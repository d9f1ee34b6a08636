"""The MCP server, in its own process, tested with the client of the SDK: tools, resources, progress, limits."""

import asyncio
import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters

from upwell.demo import Running, serve


def server(folder: Path, *options: str) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable, args=["-m", "upwell", "mcp", str(folder), "--rate", "0", *options], env=dict(os.environ)
    )


async def call(client: Client, tool: str, **arguments: Any) -> Any:
    """Call a tool and return its values; raise its error."""
    result = await client.call_tool(tool, arguments)
    if result.is_error:
        raise RuntimeError(result.content[0].text)  # type: ignore[union-attr] # errors are texts
    return result.structured_content.get("result", result.structured_content) if result.structured_content else None


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """Return the message of a tool that refuses."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return str(result.content[0].text)  # type: ignore[union-attr] # errors are texts


def test_over_http_on_this_machine(tmp_path: Path) -> None:
    """The tools work over streamable HTTP; other host names are refused; a signal ends the server with exit code 0."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "upwell", "mcp", str(tmp_path), "--http", "--port", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)

    async def tools() -> set[str]:
        async with Client(f"http://127.0.0.1:{port}/mcp") as client:
            return {tool.name for tool in (await client.list_tools()).tools}

    try:
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            time.sleep(0.1)
        assert "harvest" in asyncio.run(tools())
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("POST", "/mcp", "{}", {"Host": "evil.example", "Content-Type": "application/json"})
        assert connection.getresponse().status in (403, 421)
        connection.close()
    finally:
        process.terminate()
        assert process.wait(30) == 0


def test_a_models_way(demo: Running, tmp_path: Path) -> None:
    """Find, harvest with progress, inspect, search, query; a budget is limited, other hosts and writing SQL are refused."""

    async def way() -> None:
        with serve() as other:
            async with Client(server(tmp_path, "--max-budget", "60", "--allow", "127.0.0.1")) as client:
                tools = {tool.name for tool in (await client.list_tools()).tools}
                assert tools == {"find_search", "ask", "harvest", "status", "search", "table_schema", "sql", "compare"}
                assert await call(client, "status") == []
                found = await call(client, "find_search", url=demo.url)
                assert found["searches"][0]["query_field"] == "q"
                assert "--allow example.org" in await refused(client, "find_search", url="https://example.org/")
                told: list[tuple[float, float | None, str | None]] = []

                async def tell(progress: float, total: float | None, message: str | None) -> None:
                    told.append((progress, total, message))

                result = await client.call_tool("harvest", {"url": demo.url, "budget": 9999}, progress_callback=tell)
                assert result.structured_content
                harvest = result.structured_content
                assert harvest["requests"] <= 61
                assert "--max-budget" in harvest["limited"]
                assert told
                assert told[-1][1] == 60
                await call(client, "harvest", url=other.url, budget=50)
                (first, second) = sorted(one["name"] for one in await call(client, "status"))
                hits = await call(client, "search", query="asia", limit=3)
                assert len(hits["hits"]) == 3
                assert hits["next_offset"] == 3
                schema = await call(client, "table_schema")
                table = next(name for name in schema if name != "everything")
                assert schema[table]["population"] == "BIGINT"
                largest = f'SELECT name, population FROM "{table}" ORDER BY 2 DESC'  # noqa: S608 # a name of ours
                rows = await call(client, "sql", query=largest, limit=2)
                assert rows["columns"] == ["name", "population"]
                assert len(rows["rows"]) == 2
                for evil in (
                    "DROP TABLE x",
                    f"COPY (SELECT 1) TO '{tmp_path / 'evil.csv'}'",
                    "SELECT * FROM read_csv('/etc/passwd')",
                ):
                    assert await refused(client, "sql", query=evil)
                assert not (tmp_path / "evil.csv").exists()
                compared = await call(client, "compare", first=first, second=second)
                assert any(len(one["sources"]) == 2 and one["things"] for one in compared["overlap"])
                assert "known harvests" in await refused(client, "compare", first=first, second="none")
                asked = await call(client, "ask", query="lima", limit=5)
                assert asked["found"]
                report = (await client.read_resource(f"upwell://{first}/report")).contents[0]
                assert "Cities of the World" in report.text  # type: ignore[union-attr] # a text
                source = (await client.read_resource(f"upwell://{first}/source")).contents[0]
                assert json.loads(source.text)["rules"]  # type: ignore[union-attr] # a text
                rows_of_table = (await client.read_resource(f"upwell://{first}/table")).contents[0]
                assert len(json.loads(rows_of_table.text)["first"]) == 50  # type: ignore[union-attr] # a text

    asyncio.run(way())
