"""`--login`: open a browser window once for the user to log in, and keep the session's cookies for later harvests.

The cookies are stored outside of all harvests, in a file that only its owner can read (`session_file`).
"""

import asyncio
import os
import shutil
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from upwell.errors import MissingExtra, UpwellError, WrongUsage
from upwell.net.access import Access
from upwell.net.cookies import Cookie, read_cookies, write_cookies
from upwell.net.run import run_to_end
from upwell.places import address_of

if TYPE_CHECKING:
    from playwright.async_api import Page

__all__ = ["log_in", "session_cookies", "session_file"]

POLL_SECONDS = 0.3  # interval at which the cookies are read while the user logs in
UserActions = Callable[["Page"], Awaitable[None]]  # stands in for the user in tests; ends when the window is closed


def session_cookies(site: str, proxy: str, say: Callable[[str], None]) -> tuple[Cookie, ...]:
    """Return the stored session cookies of a site, or let the user log in now."""
    url = address_of(site)
    host = urlsplit(url).hostname or ""
    file = session_file(host)
    if file.is_file():
        try:
            cookies = read_cookies(file)
        except WrongUsage:
            say(f"the session of {host} has expired")
        else:
            since = datetime.fromtimestamp(file.stat().st_mtime, UTC).date()
            say(f"using the session of {host} of {since}; to log in again, remove {file}")
            return cookies
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or sys.platform in ("win32", "darwin")):
        raise UpwellError(
            "--login needs a screen, and there is none here; log in with a browser elsewhere, export its cookies and use --cookies FILE"
        )
    say(f"log in to {host} in the window that opens, then close it")
    cookies = run_to_end(log_in(url, Access(proxy=proxy)))
    if not cookies:
        raise UpwellError(f"no session of {host}: the window was closed before the site had set a cookie")
    write_cookies(cookies, file)
    say(f"the session of {host} is kept in {file}")
    return cookies


async def log_in(
    url: str, access: Access, user_actions: UserActions | None = None, *, headless: bool = False
) -> tuple[Cookie, ...]:
    """Open a site in a browser window, wait until the window is closed, and return the last cookies."""
    try:
        from playwright.async_api import Error, async_playwright
    except ImportError as missing:
        raise MissingExtra("--login needs the browser: pip install 'upwell[browser]'") from missing
    async with async_playwright() as playwright:
        program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        try:
            browser = await playwright.chromium.launch(
                executable_path=program,
                headless=headless,
                args=["--no-sandbox", "--no-first-run"],
                proxy=access.browser_proxy(url),  # type: ignore[arg-type] # a plain dictionary
            )
        except Error as error:
            raise MissingExtra(
                f"the browser did not open ({str(error).splitlines()[0]}); install your system's package chromium"
            ) from error
        context = await browser.new_context(no_viewport=True)
        page = await context.new_page()
        await page.goto(url)
        cookies: list[Any] = []
        actions = asyncio.ensure_future(user_actions(page)) if user_actions is not None else None
        try:
            while not page.is_closed() and browser.is_connected():
                cookies = list(await context.cookies())
                await asyncio.sleep(POLL_SECONDS)
        except Error:
            pass  # the window was closed meanwhile
        if actions is not None:
            await actions
        if browser.is_connected():
            cookies = list(await context.cookies()) or cookies
            await browser.close()
    return tuple(map(_cookie, cookies))


def _cookie(cookie: dict[str, Any]) -> Cookie:
    return Cookie(
        name=cookie["name"],
        value=cookie["value"],
        domain=cookie["domain"].removeprefix("."),
        path=cookie["path"],
        for_subdomains=cookie["domain"].startswith("."),
        secure=cookie["secure"],
        http_only=bool(cookie.get("httpOnly")),
        expires=max(0.0, float(cookie["expires"])),
    )


def session_file(host: str) -> Path:
    """Return the file with the session of a host: outside of all harvests, readable by its owner only."""
    home = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(home) / "upwell" / "sessions" / f"{host}.txt"
