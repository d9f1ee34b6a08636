"""`--login`: the browser is opened once for the person to log in, and the session is kept for later.

The cookies lie outside of all harvests, in a file that only its owner can read: `session_file`.
"""

import asyncio
import os
import shutil
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from upwell.errors import MissingExtra, UpwellError, WrongUsage
from upwell.net.access import Access, session_file
from upwell.net.cookies import Cookie, read_cookies, write_cookies
from upwell.net.run import run_to_end
from upwell.places import address_of

if TYPE_CHECKING:
    from playwright.async_api import Page

__all__ = ["log_in", "session"]

LOOK_SECONDS = 0.3  # between two looks at the cookies, while the person logs in
Person = Callable[["Page"], Awaitable[None]]  # what a person does in the window; it is over when they close it


def session(site: str, proxy: str, say: Callable[[str], None]) -> tuple[Cookie, ...]:
    """The session that is kept for a site, else that of a person who logs in now."""
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
            say(f"with the session of {host} of {since}; to log in again, remove {file}")
            return cookies
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or sys.platform in ("win32", "darwin")):
        raise UpwellError(
            "--login needs a screen, and there is none here; log in with a browser elsewhere and bring its cookies: --cookies FILE"
        )
    say(f"log in to {host} in the window that opens, then close it")
    cookies = run_to_end(log_in(url, Access(proxy=proxy)))
    if not cookies:
        raise UpwellError(f"no session of {host}: the window was closed before the site had set a cookie")
    write_cookies(cookies, file)
    say(f"the session of {host} is kept in {file}")
    return cookies


async def log_in(
    url: str, access: Access, person: Person | None = None, *, headless: bool = False
) -> tuple[Cookie, ...]:
    """Opens a site in the browser, waits until its window is closed, and gives the cookies that it had at last."""
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
        found: list[Any] = []
        acts = asyncio.ensure_future(person(page)) if person is not None else None
        try:
            while not page.is_closed() and browser.is_connected():
                found = list(await context.cookies())
                await asyncio.sleep(LOOK_SECONDS)
        except Error:
            pass  # the window went while it was looked at
        if acts is not None:
            await acts
        if browser.is_connected():
            found = list(await context.cookies()) or found
            await browser.close()
    return tuple(_cookie(one) for one in found)


def _cookie(one: dict[str, Any]) -> Cookie:
    return Cookie(
        name=one["name"],
        value=one["value"],
        domain=one["domain"].removeprefix("."),
        path=one["path"],
        for_subdomains=one["domain"].startswith("."),
        secure=one["secure"],
        expires=max(0.0, float(one["expires"])),
    )
