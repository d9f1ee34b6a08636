"""Security of the web pages."""

import http.client
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit

import pytest

from tests.web.serving import Serving, serving, signed_in
from upwell.demo import serve
from upwell.harvest.files import write_tables
from upwell.store.folder import open_folder
from upwell.store.read_only import is_running
from upwell.table.build import build_tables
from upwell.types import Decision, Outcome, Record, Request, Response, WeighedCandidate

XSS = [
    "<script>window.hit=1</script>",
    '"><img src=x onerror=window.hit=1>',
    "javascript:window.hit=1",
    "' onmouseover='window.hit=1",
    "{{ 7*7 }}",
    "</textarea></title><svg onload=window.hit=1>",
]


def ask(
    pages: Serving, method: str, path: str, headers: dict[str, str] | None = None, form: dict[str, str] | None = None
) -> tuple[int, http.client.HTTPMessage, str]:
    """Send a request with exactly these headers."""
    where = urlsplit(pages.url)
    connection = http.client.HTTPConnection(str(where.hostname), where.port or 80, timeout=30)
    kind = {"Content-Type": "application/x-www-form-urlencoded"} if form is not None else {}
    connection.request(method, path, urlencode(form) if form is not None else None, {**kind, **(headers or {})})
    answer = connection.getresponse()
    text = answer.read().decode("utf-8", "replace")
    connection.close()
    return answer.status, answer.headers, text


def own(pages: Serving) -> dict[str, str]:
    """Return the header with the token."""
    return {"Authorization": f"Bearer {pages.token}"}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Serving, Path]]:
    """Serve a harvest in which every field, key, URL, query and name is chosen by an attacker."""
    folder = tmp_path_factory.mktemp("hostile")
    with open_folder(folder / "evil.example") as (place, state, _):
        records = [
            Record(
                key=f"{text}{i}",
                url=text,
                path="",
                text="",
                fields={"title": f"{text} {i}", f"col {text}": f"{text} {i}", "n": str(i)},
            )
            for i, text in enumerate(XSS * 5)
        ]
        state.add(
            records, {"_source": XSS[0], "_query": XSS[1], "_page": "00", "_fetched": "2026-01-01T00:00:00+00:00"}
        )
        for number, text in enumerate(XSS, 1):
            others = (WeighedCandidate("word", text, 2, 1.0, 2.0, 3.0, 4.0),)
            decision = Decision(WeighedCandidate(text, text, 1, 1.0, 2.0, 3.0, 4.0), others, source=text)
            request = Request(url=f"http://evil.example/{text}", decision=decision)
            response = Response(request=request, url=text, status=200, headers={}, body=text.encode())
            state.store(request, Outcome(response=response))
            state.note_yield(number, 1, 1)
        write_tables(build_tables(state), place, "parquet")
    size = {"estimate": 30, "low": 30, "high": 30}
    summary = {
        "site": XSS[0], "title": XSS[1], "records": 30, "requests": 3, "size": size, "coverage": 1.0, "statement": XSS[0], "stopped": "budget",
        "checks": {"lower_bound": False, "fill": {"title": 1.0}, "understands": {"and": XSS[0]}}, "out_of_reach": [XSS[1]], "tables": {"records": 30},
        "details": {"columns": [XSS[0]], "requests": 5},
        "sources": [{"template": {"via": "form", "url": XSS[2], "query_field": XSS[0], "body": "", "rendered": False}, "checks": {}}],
    }  # fmt: skip
    (place / "summary.json").write_text(json.dumps(summary))
    events = [
        {"event": "started", "time": "2026-01-01T00:00:00+00:00", "budget": 9},
        {
            "event": "asked",
            "time": "2026-01-01T00:00:01+00:00",
            "site": "x",
            "query": XSS[0],
            "requests": 1,
            "records": 2,
        },
        {
            "event": "trouble",
            "time": "2026-01-01T00:00:01+00:00",
            "skipped": {"stage": "a", "page": XSS[0], "reason": XSS[1]},
        },
        {"event": "failed", "time": "2026-01-01T00:00:02+00:00", "reason": XSS[0]},
    ]
    (place / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    with serving(folder) as pages:
        yield pages, place


def test_nothing_of_a_site_is_executed(hostile: tuple[Serving, Path]) -> None:
    """Hostile texts are escaped on every page; links lead only to http and https URLs."""
    pages, place = hostile
    key = quote(f"{XSS[1]}1")
    base = f"{pages.url}harvests/{place.name}"
    filters = urlencode({f"is:{XSS[0]}": XSS[1], "q": XSS[0], "sort": XSS[2], "kind": XSS[0]})
    with signed_in(pages) as page:
        for address in (
            pages.url, base, f"{base}/records", f"{base}/records?pictures=1", f"{base}/records?{filters}", f"{base}/record?key={key}", f"{base}/columns",
            f"{base}/requests", f"{base}/requests?kind={quote(XSS[0])}&page={quote(XSS[0])}", *(f"{base}/requests/{n}" for n in range(1, 8)),
            f"{base}/requests/{quote(XSS[0])}", f"{base}/facet?column=title", f"{pages.url}new?url={quote(XSS[1])}", f"{pages.url}{quote(XSS[0])}",
        ):  # fmt: skip
            answer = page.goto(address)
            assert answer is not None
            assert answer.status in (200, 404), address
            assert page.evaluate("window.hit") is None
            assert page.locator("main script, main svg[onload], [onerror], [onmouseover]").count() == 0
            assert page.locator("a[href^='javascript'], img[src^='javascript']").count() == 0
            assert "49" not in page.title()


def test_every_answer_keeps_to_itself(hostile: tuple[Serving, Path]) -> None:
    """Headers forbid external resources; the archived page may do nothing at all."""
    pages, place = hostile
    for path in ("/", f"/harvests/{place.name}", "/static/app.js", "/none"):
        _, headers, _ = ask(pages, "GET", path, own(pages))
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"


def test_only_its_own_names_are_answered(hostile: tuple[Serving, Path]) -> None:
    """DNS rebinding: another host name is refused although it resolves to this server."""
    pages, _ = hostile
    port = urlsplit(pages.url).port
    for host, status in (
        ("localhost", 200),
        ("127.0.0.1", 200),
        ("evil.example", 403),
        ("localhost.evil.example", 403),
        ("", 403),
    ):
        assert ask(pages, "GET", "/", {"Host": f"{host}:{port}", **own(pages)})[0] == status, host
    assert ask(pages, "GET", "/", {"Host": "127.0.0.1:1", **own(pages)})[0] == 403


def test_what_changes_something_needs_the_token(tmp_path: Path) -> None:
    """A harvest starts only with the right token, in a field or a header, and from the same origin."""
    with serve() as site, serving(tmp_path) as pages:
        origin = {"Origin": "http://evil.example"}
        form = {"url": site.url, "budget": "30"}
        assert ask(pages, "POST", "/harvests", form=form)[0] == 403
        assert ask(pages, "POST", "/harvests", form={**form, "token": "wrong"})[0] == 403
        assert ask(pages, "POST", "/harvests", origin, {**form, "token": pages.token})[0] == 403
        assert (
            ask(pages, "POST", "/harvests", {"Sec-Fetch-Site": "cross-site"}, {**form, "token": pages.token})[0] == 403
        )
        for invalid in ("null", "http://[::1", "http://a]b"):
            assert ask(pages, "POST", "/harvests", {"Origin": invalid}, {**form, "token": pages.token})[0] == 403
        assert not list(tmp_path.iterdir())
        wrong = ask(pages, "POST", "/harvests", {"Accept": "application/json"}, {"url": "", "token": pages.token})
        assert wrong[0] == 400
        assert "address is empty" in json.loads(wrong[2])["error"]
        started = ask(pages, "POST", "/harvests", {"Authorization": f"Bearer {pages.token}"}, form)
        assert started[0] == 303
        assert started[1]["location"].startswith("/harvests/127.0.0.1_")
        again = ask(pages, "POST", "/harvests", form={**form, "token": pages.token})
        assert again[0] == 400
        assert "already" in again[2]
    assert not any(map(is_running, tmp_path.iterdir()))  # ending the server ends its harvests


def test_with_a_token_of_your_own_nothing_is_shown_without_it(tmp_path: Path) -> None:
    """The URL with the token sets a cookie, which allows reading but not changing."""
    with serving(tmp_path, "--token", "secret-1") as pages:
        assert ask(pages, "GET", "/")[0] == 401
        assert ask(pages, "GET", "/?token=wrong")[0] == 401
        status, headers, _ = ask(pages, "GET", "/?token=secret-1")
        assert status == 303
        assert "HttpOnly" in headers["set-cookie"]
        assert "SameSite=strict" in headers["set-cookie"]
        cookie = {"Cookie": headers["set-cookie"].split(";")[0]}
        assert ask(pages, "GET", "/", cookie)[0] == 200
        assert ask(pages, "POST", "/harvests", cookie, {"url": "http://127.0.0.1:1/"})[0] == 403


def test_other_users_of_the_machine_see_neither_pages_nor_token(tmp_path: Path) -> None:
    """Anybody on the machine can connect to loopback: without the token nothing is shown, and no command line contains it."""
    (tmp_path / "secret").write_text("of-a-file-1234\n")
    for options in ((), ("--token", f"@{tmp_path / 'secret'}")):
        with serving(tmp_path / "harvests", *options) as pages:
            for path in ("/", "/new", "/search", "/static/app.js"):
                status, _, text = ask(pages, "GET", path)
                assert status == 401
                assert pages.token not in text
            shown = subprocess.run(["ps", "axww", "-o", "args"], capture_output=True, text=True, check=True).stdout
            assert pages.token not in shown
            assert ask(pages, "GET", "/", own(pages))[0] == 200


def test_other_addresses_only_with_a_token(tmp_path: Path) -> None:
    """An address that others can reach requires --token."""
    from tests.command import upwell

    done = upwell("serve", str(tmp_path), "--host", "192.0.2.1", "--port", "0", cwd=tmp_path)
    assert done.returncode == 2
    assert "--token" in done.stderr


def test_what_a_harvest_folder_says_reads_no_other_file(hostile: tuple[Serving, Path]) -> None:
    """Names in URLs are names of harvests, never paths."""
    pages, _ = hostile
    for name in ("..", "..%2f..", "evil.example~..", "%2e%2e~etc", "."):
        assert ask(pages, "GET", f"/harvests/{name}/records", own(pages))[0] in (404, 405), name
