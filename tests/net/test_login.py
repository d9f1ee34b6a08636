"""`--login`: the user logs in once in a real browser, and later commands use the session."""

import asyncio
from pathlib import Path

import pytest
from aiohttp import web
from playwright.async_api import Page

from tests.command import Done, upwell
from tests.guarded import guarded
from upwell.net.access import Access
from upwell.net.cookies import write_cookies
from upwell.net.login import log_in, session_cookies, session_file

FORM = "<form method=post action=/signin><input name=name><input name=word type=password><button>Log in</button></form>"
SESSION = "kept-session-0123456789"


def guard(request: web.Request) -> web.StreamResponse | None:
    """Serve a login page without a session; its form creates one."""
    if request.path == "/robots.txt" or request.cookies.get("id") == SESSION:
        return None
    if request.path == "/signin":
        answer = web.Response(status=303, headers={"Location": "/"})
        answer.set_cookie("id", SESSION, httponly=True)
        return answer
    return web.Response(text=f"<h1>Please log in</h1>{FORM}", content_type="text/html")


async def person(page: Page) -> None:
    """Type name and password, and close the window after the login."""
    await page.fill("[name=name]", "ann")
    await page.fill("[name=word]", "secret")
    await page.click("button")
    await page.wait_for_selector("form[action='/search']")
    await page.close()


def test_session_of_a_login_is_kept_and_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a session the error names the option; the session of the browser is stored readable by its owner only."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)

    def harvest(*options: str) -> Done:
        return upwell("harvest", url, "--rate", "0", "--budget", "30", *options, cwd=tmp_path)

    with guarded(guard) as (url, _):
        shut_out = harvest("--browser", "never")
        assert shut_out.returncode == 1
        assert "shows a login page" in shut_out.stderr
        assert "--login" in shut_out.stderr
        no_screen = harvest("--login")
        assert no_screen.returncode == 1
        assert "--cookies" in no_screen.stderr
        cookies = asyncio.run(log_in(url, Access(), person, headless=True))
        file = session_file("127.0.0.1")
        write_cookies(cookies, file)
        assert file.stat().st_mode & 0o077 == 0
        messages: list[str] = []
        assert [cookie.value for cookie in session_cookies(url, "", messages.append)] == [SESSION]
        assert str(file) in messages[0]
        let_in = harvest("--login")
        assert let_in.returncode == 0, let_in.stderr
        written = b"".join(path.read_bytes() for path in (tmp_path / "harvest").rglob("*") if path.is_file())
        assert SESSION.encode() not in written
