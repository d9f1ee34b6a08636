"""Secrets go to the scheme, host and port that the user typed, and a file never chooses where they go."""

import asyncio
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest
import trustme

from tests.command import upwell
from tests.hostile.site import Answer, HostileSite, ReceivedRequest, hostile
from upwell.errors import Unreachable, WrongUsage
from upwell.harvest.site_work import try_addresses
from upwell.net.access import Access
from upwell.net.browser import Chromium
from upwell.net.cookies import Cookie
from upwell.net.fetch import Fetcher, Manners
from upwell.store.location import POINTER_FILE, PostgresLocation, state_location
from upwell.types import BrowserVisit, Request

SECRET = "s3cret-of-mine-1234567890"
COOKIES = tuple(Cookie(name="session", value=SECRET, domain=host) for host in ("127.0.0.1", "127.0.0.2", "localhost"))
ACCESSES = {
    "cookies": Access(cookies=COOKIES),
    "header": Access(headers=(("X-Api-Key", SECRET),)),
    "user": Access(user="ann", password=SECRET),
    "token": Access(token=SECRET),
}


def manners(access: Access, *allow: str) -> Manners:
    return Manners(rate=0, retries=0, access=access, allow=allow)


def has_secret(request: ReceivedRequest) -> bool:
    """Return True if a request carries the secret, or anything in its place."""
    return any(
        name.lower() in ("authorization", "cookie", "x-api-key") or SECRET in value
        for name, value in request.headers.items()
    )


def fetch(url: str, access: Access, *urls: str, allow: tuple[str, ...] = ()) -> None:
    """Fetch URLs in sequence; the first is the user's."""

    async def run() -> None:
        async with Fetcher(manners(access, *allow), user_urls=(url,)) as net:
            for wanted in (url, *urls):
                await net.fetch(Request(url=wanted))

    asyncio.run(run())


@contextmanager
def over_tls(
    site: HostileSite, servers: trustme.CA, people: trustme.CA | None = None
) -> Iterator[tuple[str, list[bytes]]]:
    """Forward HTTPS to a site; yield the URL, and the client certificates that were shown."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    servers.issue_cert("127.0.0.1").configure_cert(context)
    if people is not None:
        people.configure_trust(context)
        context.verify_mode = ssl.CERT_OPTIONAL
    shown: list[bytes] = []
    listening = socket.create_server(("127.0.0.1", 0))

    def pump(source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                target.sendall(data)
        except OSError:
            pass
        finally:
            for end in (source, target):
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def serve() -> None:
        while True:
            try:
                plain, _ = listening.accept()
                client = context.wrap_socket(plain, server_side=True)
            except ssl.SSLError:
                continue
            except OSError:
                return
            if certificate := client.getpeercert(binary_form=True):
                shown.append(certificate)
            inner = socket.create_connection(("127.0.0.1", site.port))
            threading.Thread(target=pump, args=(client, inner), daemon=True).start()
            threading.Thread(target=pump, args=(inner, client), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    yield f"https://127.0.0.1:{listening.getsockname()[1]}/", shown
    listening.close()


@pytest.mark.parametrize("kind", ACCESSES)
def test_redirect_of_robots_txt_takes_no_secret_along(kind: str) -> None:
    """The host that a robots.txt is redirected to gets neither the cookies for it nor any other credential."""
    with hostile({"/robots.txt": Answer("")}, host="127.0.0.2") as other:
        moved = Answer(status=301, headers={"Location": f"{other.url}robots.txt"})
        with hostile({"/robots.txt": moved}) as site:
            fetch(site.url, ACCESSES[kind], allow=(other.url,))
    assert other.received
    assert not any(map(has_secret, other.received))
    assert all(map(has_secret, site.received))


@pytest.mark.parametrize("kind", ACCESSES)
def test_https_to_http_redirect_takes_no_secret_along(kind: str, tmp_path: Path) -> None:
    """After a redirect from HTTPS to plain HTTP nothing secret is sent."""
    servers, authority = trustme.CA(), str(tmp_path / "ca.pem")
    servers.cert_pem.write_to_path(authority)
    with hostile({"/robots.txt": Answer("")}) as plain, hostile() as secure, over_tls(secure, servers) as (url, _):
        secure.pages["/robots.txt"] = Answer(status=301, headers={"Location": f"{plain.url}robots.txt"})
        fetch(url, replace(ACCESSES[kind], ca=authority), allow=(plain.url,))
    assert plain.received
    assert not any(map(has_secret, plain.received))
    assert all(map(has_secret, secure.received))


@pytest.mark.parametrize("kind", ACCESSES)
def test_same_host_over_plain_http_gets_no_secret(kind: str) -> None:
    """The user typed https; a page at the same host and port number over http is another origin."""
    with hostile() as site:
        typed = site.url.replace("http://", "https://")

        async def run() -> None:
            async with Fetcher(manners(ACCESSES[kind]), user_urls=(typed,)) as net:
                await net.fetch(Request(url=site.url))
                assert net.withheld == {site.url.rstrip("/")}

        asyncio.run(run())
    assert site.received
    assert not any(map(has_secret, site.received))


def test_renewed_session_stays_with_its_origin() -> None:
    """A cookie that a site sets in place of the user's does not reach another port or host."""
    renewed = Answer("ok", headers={"Set-Cookie": "session=renewed; Path=/"})
    with hostile({"/robots.txt": Answer("")}) as other, hostile({"/a": renewed}) as site:
        fetch(f"{site.url}a", ACCESSES["cookies"], f"{site.url}b", f"{other.url}c", allow=(other.url,))
    assert site.received[-1].headers["Cookie"] == "session=renewed"
    assert not any(map(has_secret, other.received))


def test_client_certificate_is_shown_only_to_the_site(tmp_path: Path) -> None:
    """A certificate says who the user is: a server reached through a redirect of robots.txt does not see it."""
    people, servers = trustme.CA(), trustme.CA()
    mine, authority = str(tmp_path / "mine.pem"), str(tmp_path / "ca.pem")
    people.issue_cert("ann@example.org").private_key_and_cert_chain_pem.write_to_path(mine)
    servers.cert_pem.write_to_path(authority)
    with (
        hostile({"/robots.txt": Answer("")}) as other,
        hostile() as site,
        over_tls(site, servers, people) as (url, shown),
        over_tls(other, servers, people) as (elsewhere, shown_elsewhere),
    ):
        site.pages["/robots.txt"] = Answer(status=301, headers={"Location": f"{elsewhere}robots.txt"})
        fetch(url, Access(certificate=mine, ca=authority), allow=(elsewhere,))
    assert shown
    assert other.received
    assert not shown_elsewhere


def test_scripts_of_a_page_take_no_secret_along() -> None:
    """A page loads a script from another host, for which the user's cookie file has a cookie too."""
    with hostile({"/x.js": Answer("1", type="text/javascript"), "/robots.txt": Answer("")}, host="127.0.0.2") as other:
        page = f"<html><script src='{other.url}x.js'></script><script>document.title = document.cookie</script><p>hello</p></html>"
        with hostile({"/": page}) as site:
            cookie = Cookie(name="session", value=SECRET, domain="127.0.0.1", http_only=True)
            access = Access(cookies=(cookie, *COOKIES[1:]), token=SECRET)

            async def run() -> str:
                async with Fetcher(manners(access, other.url), user_urls=(site.url,)) as net, Chromium(net) as chromium:
                    return (await chromium.render(BrowserVisit(url=site.url))).html

            shown = asyncio.run(run())
    assert other.received
    assert not any(map(has_secret, other.received))
    assert all(map(has_secret, site.received))
    assert SECRET not in shown  # a cookie that its site hides from scripts is hidden here too


def test_without_a_scheme_credentials_are_sent_over_https_only() -> None:
    """An attacker who blocks HTTPS does not get the token over HTTP."""
    tried: list[str] = []

    async def ask(url: str) -> None:
        tried.append(url)
        raise Unreachable(url)

    for has_credentials, expected in (
        (True, ["https://example.org/"]),
        (False, ["https://example.org/", "http://example.org/"]),
    ):
        tried.clear()
        with pytest.raises(Unreachable):
            asyncio.run(try_addresses("example.org", ask, has_credentials=has_credentials))
        assert tried == expected
    tried.clear()
    with pytest.raises(Unreachable):
        asyncio.run(try_addresses("ann:pw@example.org", ask))
    assert tried == ["https://ann:pw@example.org/"]


def harvested(site: HostileSite, folder: Path) -> Path:
    """Harvest a site by command, as its user; return the source.json."""
    done = upwell("harvest", site.url, "-o", "own", "--rate", "0", "--budget", "40", "--browser", "never", cwd=folder)
    assert done.returncode in (0, 3), done.stderr
    (file,) = folder.glob("own/*/source.json")
    return file


def test_source_file_does_not_choose_who_gets_a_token(tmp_path: Path) -> None:
    """`upwell ask` with a token needs the address of the source; other sources are asked without the token."""
    with hostile() as site, hostile() as other:
        file = harvested(site, tmp_path)
        (tmp_path / "both" / "a").mkdir(parents=True)
        (tmp_path / "both" / "b").mkdir()
        (tmp_path / "both" / "a" / "source.json").write_text(file.read_text())
        (tmp_path / "both" / "b" / "source.json").write_text(
            file.read_text().replace(f":{site.port}/", f":{other.port}/")
        )
        before = len(site.received)
        options = ("--rate", "0", "--token", SECRET, "--deadline", "20")
        refused = upwell("ask", "amber", "both", *options, cwd=tmp_path)
        assert refused.returncode == 2
        assert "--allow" in refused.stderr
        assert site.received[before:] == other.received == []
        done = upwell("ask", "amber", "both", *options, "--allow", site.url, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert any(map(has_secret, site.received[before:]))
    assert other.received == []  # a private address that only a file names


def test_list_of_sites_does_not_choose_who_gets_a_token(tmp_path: Path) -> None:
    """A token is not sent to the lines of a file, unless the user says that the file is trusted."""
    with hostile() as site:
        (tmp_path / "sites.txt").write_text(f"{site.url}\n")
        options = ("-o", "out", "--rate", "0", "--budget", "15", "--browser", "never", "--token", SECRET)
        assert upwell("harvest", "sites.txt", *options, cwd=tmp_path).returncode == 2
        assert site.received == []
        upwell("harvest", "sites.txt", *options, "--allow", "sites.txt", cwd=tmp_path)
        assert any(map(has_secret, site.received))


@pytest.mark.parametrize(
    "address", ["postgresql://me@127.0.0.1:{port}/upwell", "postgresql://127.0.0.1:{port}/x?user=me&sslmode=disable"]
)
def test_folder_does_not_choose_who_gets_the_database_password(address: str, tmp_path: Path) -> None:
    """No verb connects to the database that the state.json of a stranger names."""
    with socket.create_server(("127.0.0.1", 0)) as database:
        database.settimeout(0.5)
        folder = tmp_path / "harvest" / "example.org"
        folder.mkdir(parents=True)
        state = address.format(port=database.getsockname()[1])
        (folder / POINTER_FILE).write_text(json.dumps({"state": state, "site": "example.org"}))
        for verb in (
            ("status", "harvest"),
            ("export", "harvest"),
            ("explain", "harvest/example.org"),
            ("harvest", "http://example.org/", "-o", "harvest"),
        ):
            done = upwell(*verb, cwd=tmp_path, PGPASSWORD=SECRET)
            # `status` names each harvest that it cannot read, and goes on with the others
            assert done.returncode == (1 if verb[0] == "status" else 2), (verb, done.stderr)
            assert "UPWELL_STATE" in done.stderr
            with pytest.raises(TimeoutError):
                database.accept()


def test_database_that_the_user_named_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is remembered outside of the folder, without the password; a variable names it too."""
    folder = tmp_path / "example.org"
    folder.mkdir()
    (folder / POINTER_FILE).write_text(
        json.dumps({"state": "postgresql://me@db.example/upwell", "site": "example.org"})
    )
    with pytest.raises(WrongUsage):
        state_location(folder)
    monkeypatch.setenv("UPWELL_STATE", "postgresql://me:pw@db.example/upwell")
    assert state_location(folder) == PostgresLocation("postgresql://me:pw@db.example/upwell", "example.org")
    monkeypatch.delenv("UPWELL_STATE")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    state_location(folder, "postgresql://me:pw@db.example/upwell")
    assert state_location(folder) == PostgresLocation("postgresql://me@db.example/upwell", "example.org")
    memory = tmp_path / "home" / "upwell" / "named"
    assert memory.stat().st_mode & 0o777 == 0o600
    assert "db.example" not in memory.read_text()
    memory.chmod(0o666)  # another user could have written it
    with pytest.raises(WrongUsage):
        state_location(folder)
