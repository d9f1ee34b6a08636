"""Credentials of the user, by command line against servers that require them; secrets are written nowhere."""

import gzip
import json
import ssl
from base64 import b64encode
from pathlib import Path

import pytest
import trustme
from aiohttp import web

from tests.command import Done, upwell
from tests.guarded import guarded, http_proxy, socks_proxy
from upwell.net.access import Access
from upwell.net.cookies import Cookie, read_cookies
from upwell.net.manners import Manners

SECRET = "s3cret-of-mine-1234567890"


def harvest(url: str, cwd: Path, *arguments: str, **environment: str) -> Done:
    common = ("-o", "out", "--rate", "0", "--budget", "25", "--log", "log/events.jsonl")
    return upwell("harvest", url, *common, *arguments, cwd=cwd, **environment)


def everything_written(folder: Path) -> bytes:
    """Return the contents of all files in a folder, decompressed."""
    contents = b""
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name not in ("cookies.txt", "cookies.json", "secret.txt"):
            contents += gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return contents


def assert_let_in(done: Done, cwd: Path, *secrets: str) -> None:
    """Assert that records were harvested, and that no file or message contains a secret."""
    assert done.returncode == 0, done.stderr
    (summary,) = cwd.glob("out/*/summary.json")
    assert json.loads(summary.read_text())["records"] > 20
    written = everything_written(cwd) + done.stdout.encode() + done.stderr.encode()
    for secret in secrets:
        assert secret.encode() not in written, secret


def refuse(status: int = 401, **headers: str) -> web.Response:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return web.Response(status=status, text="<h1>no</h1>", content_type="text/html", headers=names)


def test_cookies_from_a_browser(tmp_path: Path) -> None:
    """A Netscape file and the JSON of an extension work; a renewed session is not archived."""

    def guard(request: web.Request) -> web.StreamResponse | None:
        return None if request.cookies.get("session") == SECRET else refuse()

    with guarded(guard) as (url, let_in):
        shut_out = harvest(url, tmp_path)
        assert shut_out.returncode == 1
        assert "--cookies" in shut_out.stderr
        (tmp_path / "cookies.txt").write_text(
            "# Netscape HTTP Cookie File\n\n"
            f"#HttpOnly_127.0.0.1\tFALSE\t/\tFALSE\t0\tsession\t{SECRET}\n.example.org\tTRUE\t/\tTRUE\t4102444800\ta\tb\n"
        )
        assert_let_in(harvest(url, tmp_path, "--cookies", "cookies.txt"), tmp_path, SECRET)
        exported = [{"domain": "127.0.0.1", "hostOnly": True, "name": "session", "value": SECRET, "path": "/"}]
        (tmp_path / "cookies.json").write_text(json.dumps(exported))
        before = len(let_in)
        assert upwell("forms", url, "--rate", "0", "--cookies", "cookies.json", cwd=tmp_path).returncode == 0
        assert len(let_in) > before


def test_invalid_cookie_files(tmp_path: Path) -> None:
    """A missing, invalid, empty or expired file is reported."""
    for name, text, expected in (
        ("none", None, "cannot be read"),
        ("a", "hello\n", "neither"),
        ("b", "[]", "has no cookie"),
        ("c", "h\tFALSE\t/\tFALSE\t10\tn\tv\n", "have expired"),
    ):
        if text is not None:
            (tmp_path / name).write_text(text)
        done = upwell("forms", "http://127.0.0.1:9/", "--cookies", name, cwd=tmp_path)
        assert done.returncode == 2
        assert expected in done.stderr


def test_header_password_and_token(tmp_path: Path) -> None:
    """A custom header, HTTP Basic (by option, in the URL, from a file) and a bearer token work; the error for 401 names the option."""
    basic = b64encode(f"ann:{SECRET}".encode()).decode()
    demands = {
        "header": (lambda r: r.headers.get("X-Api-Key") == SECRET, {}, ["--header", f"X-Api-Key: {SECRET}"]),
        "user": (
            lambda r: r.headers.get("Authorization") == f"Basic {basic}",
            {"WWW_Authenticate": 'Basic realm="x"'},
            ["--user", f"ann:{SECRET}"],
        ),
        "token": (
            lambda r: r.headers.get("Authorization") == f"Bearer {SECRET}",
            {"WWW_Authenticate": "Bearer"},
            ["--token", "@secret.txt"],
        ),
    }
    (tmp_path / "secret.txt").write_text(f"{SECRET}\n")
    for name, (is_right, headers, options) in demands.items():
        folder = tmp_path / name
        folder.mkdir()
        (folder / "secret.txt").write_text(f"{SECRET}\n")

        def guard(request: web.Request, is_right=is_right, headers=headers) -> web.StreamResponse | None:  # type: ignore[no-untyped-def] # of the table above
            return None if is_right(request) else refuse(**headers)

        with guarded(guard) as (url, _):
            shut_out = harvest(url, folder)
            assert shut_out.returncode == 1
            assert ("--cookies" if name == "header" else f"--{name}") in shut_out.stderr
            assert_let_in(harvest(url, folder, *options), folder, SECRET, basic)
            if name == "user":
                inside = url.replace("http://", f"http://ann:{SECRET}@")
                assert_let_in(harvest(inside, folder), folder, SECRET, basic)
            if name == "token":
                assert upwell("forms", url, "--rate", "0", cwd=folder, UPWELL_TOKEN=SECRET).returncode == 0


def test_no_secret_is_sent_to_another_site(tmp_path: Path) -> None:
    """A redirect to another host is not followed with the header, and requests to other hosts do not have it."""
    with guarded(lambda request: None) as (other, at_other):
        target = other.replace("127.0.0.1", "localhost")

        def guard(request: web.Request) -> web.StreamResponse | None:
            return web.Response(status=302, headers={"Location": target})

        with guarded(guard) as (url, _):
            done = harvest(url, tmp_path, "--header", f"X-Api-Key: {SECRET}", "--ignore-robots")
        assert done.returncode == 1
        assert at_other == []


def test_proxies(tmp_path: Path) -> None:
    """Proxies work by option with a password, by HTTP_PROXY, and with SOCKS; a wrong password is not shown."""
    login = b64encode(f"ann:{SECRET}".encode()).decode()
    with guarded(lambda request: None) as (url, received), http_proxy(f"Basic {login}") as (proxy, seen):
        done = harvest(url, tmp_path, "--proxy", f"http://ann:{SECRET}@{proxy}")
        assert_let_in(done, tmp_path, SECRET, login)
        assert len(seen) >= len(received) > 10
        wrong = upwell("forms", url, "--rate", "0", "--proxy", f"http://ann:wr0ng-word@{proxy}", cwd=tmp_path)
        assert wrong.returncode == 1
        assert "wr0ng" not in wrong.stderr
        assert "proxy" in wrong.stderr
    with guarded(lambda request: None) as (url, _), http_proxy() as (proxy, seen):
        assert upwell("forms", url, "--rate", "0", cwd=tmp_path, HTTP_PROXY=proxy, http_proxy=proxy).returncode == 0
        assert f"GET {url}" in seen
        seen.clear()
        passed_by = {"http_proxy": proxy, "no_proxy": "127.0.0.1"}
        assert upwell("forms", url, "--rate", "0", cwd=tmp_path, **passed_by).returncode == 0
        assert seen == []
    with guarded(lambda request: None) as (url, _), socks_proxy() as (socks, seen):
        assert upwell("forms", url, "--rate", "0", "--proxy", socks, cwd=tmp_path).returncode == 0
        assert seen


def test_client_certificate_and_own_authority(tmp_path: Path) -> None:
    """A server with a private authority that requires a client certificate is reached."""
    ours, theirs = trustme.CA(), trustme.CA()
    ours.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    mine = theirs.issue_cert("ann@example.org")
    mine.private_key_and_cert_chain_pem.write_to_path(str(tmp_path / "mine.pem"))
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    ours.issue_cert("127.0.0.1").configure_cert(tls)
    theirs.configure_trust(tls)
    tls.verify_mode = ssl.CERT_REQUIRED
    with guarded(lambda request: None, tls) as (url, _):
        unknown = harvest(url, tmp_path)
        assert unknown.returncode == 1
        assert "--ca" in unknown.stderr
        assert_let_in(harvest(url, tmp_path, "--ca", "ca.pem", "--cert", "mine.pem"), tmp_path)
    wrong = upwell("forms", url, "--cert", "ca.pem", cwd=tmp_path)
    assert wrong.returncode == 2
    assert "ca.pem" in wrong.stderr


def test_user_agent_and_contact(tmp_path: Path) -> None:
    """The User-Agent header has the product and the contact, and can be changed."""
    agents: list[str] = []

    def guard(request: web.Request) -> web.StreamResponse | None:
        agents.append(request.headers["User-Agent"])
        return None if "Museum" in agents[-1] else refuse(403)

    with guarded(guard) as (url, _):
        shut_out = upwell("forms", url, "--rate", "0", "--contact", "ann@example.org", cwd=tmp_path)
        assert agents[-1].startswith("Upwell/0.2")
        assert agents[-1].endswith("(+ann@example.org)")
        assert "--user-agent" in shut_out.stderr
        assert upwell("forms", url, "--rate", "0", "--user-agent", "Museum/1.0", cwd=tmp_path).returncode == 0


def test_credentials_in_the_browser(tmp_path: Path) -> None:
    """A page that needs JavaScript, a header and a cookie is harvested."""
    (tmp_path / "cookies.txt").write_text(f"127.0.0.1\tFALSE\t/\tFALSE\t0\tsession\t{SECRET}\n")

    def guard(request: web.Request) -> web.StreamResponse | None:
        is_right = request.cookies.get("session") == SECRET and request.headers.get("X-Key") == SECRET
        return None if is_right else refuse(403)

    with guarded(guard) as (url, _):
        access = ("--cookies", "cookies.txt", "--header", f"X-Key: {SECRET}")
        done = upwell("forms", url, "--rate", "0", "--browser", "always", *access, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "found by browser" in done.stdout


def test_formats_of_cookie_files(tmp_path: Path) -> None:
    """Playwright's storage state and a cookie for all subdomains are read."""
    state = {
        "cookies": [{"name": "a", "value": "b", "domain": ".example.org", "path": "/", "expires": -1}],
        "origins": [],
    }
    (tmp_path / "state.json").write_text(json.dumps(state))
    (cookie,) = read_cookies(tmp_path / "state.json")
    assert cookie.is_for("www.example.org")
    assert not cookie.is_for("example.com")
    assert "value" not in repr(cookie)


@pytest.mark.parametrize("header", ["no colon", "Bad Name: x"])
def test_invalid_headers(header: str, tmp_path: Path) -> None:
    """The error does not show the value."""
    done = upwell("forms", "http://127.0.0.1:9/", "--header", header, cwd=tmp_path)
    assert done.returncode == 2
    assert "Name: value" in done.stderr


def test_secrets_repeated_by_a_site_are_hidden() -> None:
    """A token in a page or header and a renewed session are hidden, a short cookie that is also a word of a URL is not."""
    access = Access(token=SECRET, cookies=(Cookie(name="kind", value="city", domain="h"),))
    assert access.hide_in_page(f"<p>You sent {SECRET} to the city".encode()) == b"<p>You sent *** to the city"
    answer = {"Set-Cookie": "a=b", "Location": "/city/7", "X-Echo": f"Bearer {SECRET}", "X-Odd": "\udcff"}
    assert access.hide_in_answer(answer) == {
        "Set-Cookie": "***", "Location": "/city/7", "X-Echo": "Bearer ***", "X-Odd": "\udcff",
    }  # fmt: skip
    assert SECRET not in repr(access) + repr(Manners(access=access))
    assert Access().hide_in_answer(answer) == answer
