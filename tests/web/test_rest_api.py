"""The REST API of `upwell serve`, over a real server and a real harvest."""

import csv
import io
import json
import sqlite3
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode
from xml.etree import ElementTree

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.web.serving import Serving, serving, signed_in
from upwell import api
from upwell.choose.plan import Plan
from upwell.demo import Running
from upwell.net.manners import Manners
from upwell.web.record_query import columns_of_table, parse_query, records, version_of
from upwell.web.rest_api import API, ENDPOINTS, openapi
from upwell.web.tokens import TokenStore

INJECTIONS = (
    "' OR 1=1 --",
    '"; DROP TABLE records; --',
    "') UNION SELECT * FROM read_csv('/etc/passwd') --",
    "\\",
    "%",
    "\x00",
    "COPY (SELECT 1) TO 'x'",
)


@dataclass(frozen=True, kw_only=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, kw_only=True)
class Client:
    url: str
    token: str

    def get(
        self,
        path: str,
        headers: dict[str, str] | None = None,
        method: str = "GET",
        data: bytes | None = None,
        **parameters: str,
    ) -> Answer:
        address = f"{self.url}{API.removeprefix('/')}{path}" + (f"?{urlencode(parameters)}" if parameters else "")
        sent = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        request = urllib.request.Request(address, headers={**sent, **(headers or {})}, method=method, data=data)  # noqa: S310 # of the server under test
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 # of the server under test
                return Answer(
                    status=answer.status,
                    headers={name.lower(): value for name, value in answer.headers.items()},
                    body=answer.read(),
                )
        except urllib.error.HTTPError as error:
            return Answer(
                status=error.code,
                headers={name.lower(): value for name, value in error.headers.items()},
                body=error.read(),
            )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, demo: Running) -> Path:
    out = tmp_path_factory.mktemp("api")
    api.harvest(demo.url, out=out, plan=Plan(budget=60), manners=Manners(rate=0))
    return out


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Serving]:
    with serving(folder, "--cors", "https://app.example") as running:
        yield running


@pytest.fixture(scope="module")
def client(served: Serving) -> Client:
    return Client(url=served.url, token=served.token)


@pytest.fixture(scope="module")
def source(client: Client) -> str:
    (only,) = client.get("/sources").json["sources"]
    return f"/sources/{quote(only['id'])}"


def test_sources_have_a_statement_and_a_schema(client: Client, source: str) -> None:
    listed = client.get("/sources").json["sources"][0]
    shown = client.get(source).json
    assert listed["records"] > 100
    assert listed["statement"]
    assert shown["schema"]["records"][0].keys() == {"name", "type"}
    assert {"population", "country"} <= {column["name"] for column in shown["schema"]["records"]}
    missing = client.get("/sources/nothing")
    assert missing.status == 404
    assert missing.headers["content-type"] == "application/problem+json"
    assert missing.json["detail"].startswith("there is no source 'nothing'; sources: ")


def test_pages_of_records_hold_every_record_once(client: Client, source: str) -> None:
    """The cursor leads through all records; `next` is an address that works."""
    keys, cursor = [], ""
    while True:
        page = client.get(f"{source}/records", limit="37", cursor=cursor, sort="population").json
        keys += [record["key"] for record in page["records"]]
        if not (cursor := page["cursor"]):
            break
    assert len(keys) == len(set(keys)) == page["total"]
    first = client.get(f"{source}/records", limit="2", fields="name").json
    assert all(list(record["fields"]) == ["name"] for record in first["records"])
    assert client.get(first["next"].removeprefix(API)).status == 200


def test_filters_order_and_words(client: Client, source: str) -> None:
    rows = client.get(f"{source}/records", limit="1000").json["records"]
    country = rows[0]["fields"]["country"]
    of_country = client.get(f"{source}/records", limit="1000", country=country).json
    assert of_country["total"] == sum(row["fields"]["country"] == country for row in rows) > 0
    at_least: Any = {"min:population": "100000"}
    large = client.get(f"{source}/records", limit="1000", sort="-population", **at_least).json["records"]
    sizes = [row["fields"]["population"] for row in large]
    assert sizes == sorted(sizes, reverse=True)
    assert min(sizes) >= 100000
    assert len(sizes) == sum((row["fields"]["population"] or 0) >= 100000 for row in rows)
    name = rows[0]["fields"]["name"]
    assert any(row["fields"]["name"] == name for row in client.get(f"{source}/records", q=name).json["records"])
    key = rows[0]["key"]
    assert client.get(f"{source}/record", key=key).json["fields"]["name"] == name
    wrong = client.get(f"{source}/records", populaton="1")
    assert wrong.status == 400
    assert "there is no column 'populaton'; columns with similar names: population" in wrong.json["detail"]


def test_files_for_download(client: Client, source: str, tmp_path: Path) -> None:
    """CSV, JSON Lines and Parquet hold all records that match, not a page of them; RSS is well-formed."""
    total = client.get(f"{source}/records", limit="1").json["total"]
    rows = list(csv.DictReader(io.StringIO(client.get(f"{source}/records", format="csv").body.decode())))
    lines = client.get(f"{source}/records", format="jsonl").body.decode().splitlines()
    (tmp_path / "r.parquet").write_bytes(
        client.get(f"{source}/records", format="parquet", fields="name,population").body
    )
    with duckdb.connect() as database:
        of_parquet = database.execute(
            "SELECT name, population FROM read_parquet(?)", [str(tmp_path / "r.parquet")]
        ).fetchall()
    assert len(rows) == len(lines) == len(of_parquet) == total
    assert json.loads(lines[0])["name"] == rows[0]["name"] == of_parquet[0][0]
    feed = ElementTree.fromstring(client.get(f"{source}/records", format="rss", limit="5").body)  # noqa: S314 # our own feed
    assert len(feed.findall("channel/item")) == 5


def test_an_etag_saves_the_transfer(client: Client, source: str) -> None:
    first = client.get(f"{source}/records", limit="5")
    again = client.get(f"{source}/records", headers={"If-None-Match": first.headers["etag"]}, limit="5")
    other = client.get(f"{source}/records", headers={"If-None-Match": first.headers["etag"]}, limit="6")
    assert (again.status, again.body, other.status) == (304, b"", 200)


def test_live_answers_are_shared_and_cached(client: Client, source: str, demo: Running) -> None:
    """The same query of several clients at once is sent once; a source that the query does not fit says so."""
    name = client.get(f"{source}/records", limit="1", fields="name").json["records"][0]["fields"]["name"]
    with ThreadPoolExecutor(8) as pool:
        answers = [answer.json for answer in pool.map(lambda _: client.get(f"{source}/ask", q=name), range(8))]
    assert all(answer == answers[0] for answer in answers)
    assert any(record["fields"]["name"] == name for record in answers[0]["records"])
    assert answers[0]["requests"] >= 1
    together = client.get("/ask", q=name).json
    assert any(found["fields"]["name"] == name for found in together["found"])
    streamed = client.get("/ask", q=name, stream="true").body.decode().splitlines()
    assert [json.loads(line)["records"] for line in streamed] == [answers[0]["records"]]
    assert client.get(f"{source}/ask", q=" ").status == 400


def test_search_finds_harvested_records(client: Client, source: str) -> None:
    name = client.get(f"{source}/records", limit="1", fields="name").json["records"][0]["fields"]["name"]
    found = client.get("/search", q=name).json
    assert found["total"] >= 1
    assert found["hits"][0]["source"] == source.rpartition("/")[2].replace("%3A", ":")


def test_tokens_have_scopes_and_budgets(served: Serving, client: Client, source: str, tmp_path: Path) -> None:
    """A token that may read does not ask; its secret is not stored; a removed one is refused."""
    name = f"reader-{tmp_path.name}"

    def tokens(*arguments: str) -> str:
        done = subprocess.run([sys.executable, "-m", "upwell", "tokens", *arguments], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    secret = json.loads(tokens("add", name, "--json"))["token"]
    try:
        reader = Client(url=served.url, token=secret)
        assert reader.get("/sources").status == 200
        refused = reader.get(f"{source}/ask", q="x")
        assert (refused.status, "lacks the scope 'ask'" in refused.json["detail"]) == (403, True)
        assert reader.get("/harvests", method="POST", data=b"url=http://127.0.0.1/").status == 403
        assert Client(url=served.url, token="upw_wrong").get("/sources").status == 401
        with closing(sqlite3.connect(TokenStore().file)) as database:
            assert secret not in "".join(map(str, database.execute("SELECT * FROM tokens").fetchall()))
        assert name in tokens("list")
    finally:
        tokens("remove", name)
    assert reader.get("/sources").status == 401


def test_a_token_reaches_no_private_network(served: Serving, tmp_path: Path) -> None:
    """Its owner is not the user, who may type any address."""
    store, name = TokenStore(), f"harvester-{tmp_path.name}"
    harvester = Client(url=served.url, token=store.add(name, ["harvest"]))
    try:
        refused = harvester.get("/harvests", method="POST", data=b"url=http://127.0.0.1:1/")
    finally:
        store.remove(name)
    assert (refused.status, "is in a private network" in refused.json["detail"]) == (400, True)


def test_parallel_calls_cannot_exceed_a_budget(tmp_path: Path) -> None:
    store = TokenStore(tmp_path / "tokens.sqlite")
    store.add("asker", ["ask"], 50)
    with ThreadPoolExecutor(16) as pool:
        taken = sum(pool.map(lambda _: store.take("asker", 3), range(60)))
    assert taken == 16
    assert store.all()[0].used == 48
    store.give_back("asker", 3)
    assert store.take("asker", 5)
    assert not store.take("asker", 1)


def test_other_origins_need_permission(client: Client) -> None:
    allowed = client.get("/sources", headers={"Origin": "https://app.example"})
    other = client.get("/sources", headers={"Origin": "https://evil.example"})
    preflight = Client(url=client.url, token="").get(
        "/sources", method="OPTIONS", headers={"Origin": "https://app.example"}
    )
    assert allowed.headers["access-control-allow-origin"] == "https://app.example"
    assert "access-control-allow-origin" not in other.headers
    assert preflight.status == 204
    assert (
        client.get("/harvests", headers={"Origin": "https://evil.example"}, method="POST", data=b"url=x").status == 403
    )


def test_a_harvest_starts_over_the_api(client: Client, demo: Running, folder: Path) -> None:
    """JSON is accepted as well as a form; unknown fields are refused."""
    body = json.dumps({"url": demo.url, "budget": 40, "about": "peru"}).encode()
    started = client.get("/harvests", method="POST", data=body, headers={"Content-Type": "application/json"})
    assert started.status == 202, started.body
    location = started.headers["location"].removeprefix(API)
    for _ in range(200):
        if not client.get(location).json["is_running"]:
            break
        threading.Event().wait(0.3)
    ended = client.get(location).json
    assert (ended["stopped"], ended["failure"]) == ("coverage", "")
    assert client.get("/harvests", method="POST", data=b"url=x&budgt=1").status == 400


@settings(max_examples=60, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
@given(
    name=st.sampled_from(
        [
            "population",
            "name",
            "is:name",
            "has:name",
            "min:population",
            "max:population",
            "empty:name",
            "q",
            "sort",
            "fields",
            "limit",
            "cursor",
            "kind",
            "format",
        ]
    )
    | st.text(max_size=12),
    value=st.sampled_from(INJECTIONS) | st.text(max_size=20),
)
def test_no_parameter_is_executed(name: str, value: str, client: Client, source: str) -> None:
    """Any parameter gives records or a problem; the table stays whole."""
    answer = client.get(f"{source}/records", **{name: value.encode("utf-8", "ignore").decode()})  # type: ignore[arg-type] # names of parameters
    assert answer.status in (200, 400, 404), (name, value, answer.body)
    if answer.status != 200:
        assert answer.json.keys() == {"type", "title", "status", "detail"}


def test_the_description_covers_every_endpoint(client: Client) -> None:
    described = client.get("/openapi.json").json
    assert described == json.loads(json.dumps(openapi()))
    assert sum(map(len, described["paths"].values())) == len(ENDPOINTS)
    assert all(operation["operationId"] for path in described["paths"].values() for operation in path.values())


def test_the_page_with_the_documentation_sends_requests(served: Serving) -> None:
    """The page works offline, under its own policy, and shows the answer as text."""
    with signed_in(served) as page:
        page.goto(f"{served.url}{API.removeprefix('/')}/docs")
        page.locator("#sources button").click()
        page.locator("#sources .api-answer", has_text="statement").wait_for()
        page.goto(served.url)
        page.locator("a[href^='/harvests/']").first.click()
        page.get_by_role("link", name="API").click()
        assert "Authorization: Bearer" in page.content()


def test_a_learned_source_answers_without_a_harvest(demo: Running, tmp_path: Path) -> None:
    """`upwell learn` sends few requests; `ask` and `catalogue check` work at once, and a source that is gone is named."""

    def upwell(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, "-m", "upwell", *arguments], capture_output=True, text=True)

    learned = upwell("learn", demo.url, "-o", str(tmp_path), "--rate", "0", "--json")
    assert learned.returncode == 0, learned.stderr
    about = json.loads(learned.stdout)
    assert about["requests"] <= 45
    assert Path(about["source"]).is_file()
    asked = upwell("ask", "lima", str(tmp_path), "--rate", "0", "--json")
    assert "Lima" in asked.stdout, asked.stderr
    checked = upwell("catalogue", "check", str(tmp_path), "--rate", "0", "--json")
    assert (checked.returncode, json.loads(checked.stdout)["state"]) == (0, "ok"), checked.stderr
    text = (
        Path(about["source"])
        .read_text()
        .replace(str(demo.port) if hasattr(demo, "port") else demo.url.split(":")[-1].strip("/"), "1")
    )
    Path(about["source"]).write_text(text)
    gone = upwell("catalogue", "check", str(tmp_path), "--rate", "0", "--json", "--allow", "http://127.0.0.1:1/")
    assert (gone.returncode, json.loads(gone.stdout)["state"]) == (1, "failed")


def test_a_million_records_are_paged(tmp_path: Path) -> None:
    """A page from the middle of a large table is the same as the rows themselves."""
    path = tmp_path / "records.parquet"
    rows = "SELECT 'k' || i AS _key, 'http://x/' || i AS _url, i AS number, i % 7 AS part FROM range(1000000) t(i)"
    with duckdb.connect() as database:
        database.sql(rows).write_parquet(str(path))
    columns, version = columns_of_table(path), version_of(path)
    query = parse_query([("part", "3"), ("sort", "-number"), ("limit", "10")], columns, version)
    page = records(path, query, columns, version)
    assert page.total == 142_857
    assert [record["fields"]["number"] for record in page.records[:2]] == [999_995, 999_988]
    following = records(
        path,
        parse_query([("part", "3"), ("sort", "-number"), ("limit", "10"), ("cursor", page.cursor)], columns, version),
        columns,
        version,
    )
    assert following.records[0]["fields"]["number"] == 999_995 - 70
