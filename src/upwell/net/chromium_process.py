"""Chromium process without network access: no privileges, sandboxed, and with a proxy that refuses every connection.

All harvests of an event loop share one process and a limited number of pages; each page has its own context, which shares nothing with
others. Playwright's interception answers the requests of a page from the Fetcher (`net.browser`). Requests that bypass the interception
(WebSockets, shared workers, prefetching, DNS, redirects inside the browser) reach a proxy of our own on loopback, which refuses them.
"""

import asyncio
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from upwell.errors import MissingExtra, Unreachable

if TYPE_CHECKING:
    from playwright.async_api import Browser, Playwright

__all__ = ["MAX_PAGES", "ChromiumProcess", "require_playwright", "shared_process"]

ARGUMENTS = (
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-sync",
    "--disable-quic",
    "--dns-prefetch-disable",
    "--proxy-bypass-list=<-loopback>",  # loopback too goes through the proxy
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # the proxy listens on 127.0.0.1
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-features=WebRtcHideLocalIpsWithMdns,Prerender2,SpeculationRules",
)
NOBODY = "nobody"  # unprivileged user of every Unix system
NO_PLAYWRIGHT = "the browser needs the package playwright: pip install 'upwell[browser]'"
START_SECONDS = 30.0
CLOSE_SECONDS = 5.0  # a busy page can keep the browser from closing normally
# Script that drops root privileges before it starts Chromium, whose sandbox does not work for root.
AS_NOBODY = """#!/bin/sh
for argument in "$@"; do
  case "$argument" in --user-data-dir=*) chown -R {user} "${{argument#--user-data-dir=}}";; esac
done
HOME={home} exec setpriv --reuid={user} --regid={group} --clear-groups -- {program} "$@"
"""


MAX_PAGES = 2 * (
    os.cpu_count() or 1
)  # shown at once; a page uses a core while it loads, and waits for the request rate in between

_processes: "WeakKeyDictionary[asyncio.AbstractEventLoop, ChromiumProcess]" = WeakKeyDictionary()


def require_playwright() -> None:
    """Raise MissingExtra if the browser is certainly needed and its package is missing, before any request is sent."""
    if find_spec("playwright") is None:
        raise MissingExtra(NO_PLAYWRIGHT)


def shared_process() -> "ChromiumProcess":
    """Return the Chromium of the running event loop."""
    return _processes.setdefault(asyncio.get_running_loop(), ChromiumProcess())


@dataclass(eq=False)
class ChromiumProcess:
    """Chromium process, started for the first page, restarted if it died, and stopped when its last user leaves."""

    refused: int = 0  # connections refused by the proxy
    users: int = 0
    _pages: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_PAGES), init=False)
    _starting: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _visits: "Counter[Browser]" = field(default_factory=Counter, init=False)
    _playwright: "Playwright | None" = field(default=None, init=False)
    _browser: "Browser | None" = field(default=None, init=False)
    _proxy: asyncio.Server | None = field(default=None, init=False)
    _home: Path | None = field(default=None, init=False)

    def enter(self) -> None:
        """Count a user of the process."""
        self.users += 1

    async def leave(self) -> None:
        """Count one user less, and stop the browser after the last."""
        self.users -= 1
        if not self.users:
            await self.stop()

    @asynccontextmanager
    async def page(self) -> AsyncIterator["Browser"]:
        """Yield the browser for one page, once fewer than `MAX_PAGES` are shown."""
        async with self._pages:
            async with self._starting:
                browser = await self.start()
            self._visits[browser] += 1
            try:
                yield browser
            finally:
                self._visits[browser] -= 1
                if browser is not self._browser and not self._visits[browser]:
                    await self._close(browser)

    def give_up(self, browser: "Browser") -> None:
        """Use another browser for further pages; this one is closed after its last page."""
        if browser is self._browser:
            self._browser = None

    async def _close(self, browser: "Browser") -> None:
        del self._visits[browser]
        with suppress(TimeoutError):  # playwright's own process ends it then
            await asyncio.wait_for(browser.close(), CLOSE_SECONDS)

    async def start(self) -> "Browser":
        """Return the browser, and start it if necessary."""
        if self._browser is not None and self._browser.is_connected():
            return self._browser
        program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        try:
            from playwright.async_api import Error, async_playwright
        except ImportError as missing:
            raise MissingExtra(NO_PLAYWRIGHT) from missing
        if self._playwright is None:
            self._playwright = await async_playwright().start()
        own = self._playwright.chromium.executable_path  # from `playwright install chromium`
        program = program or shutil.which(own)
        if program is None:
            raise MissingExtra(
                "the browser needs Chromium: install your system's package chromium, or run playwright install chromium"
            )
        if self._proxy is None:
            self._proxy = await asyncio.start_server(self._refuse, "127.0.0.1", 0)
        port = self._proxy.sockets[0].getsockname()[1]
        reason = ""
        for executable, has_sandbox in self._ways_to_start(program):
            try:
                self._browser = await self._playwright.chromium.launch(
                    executable_path=executable,
                    args=[*ARGUMENTS, f"--proxy-server=http://127.0.0.1:{port}"],
                    chromium_sandbox=has_sandbox,
                    timeout=1000 * START_SECONDS,
                )
            except Error as error:
                reason = str(error).splitlines()[0]
                continue
            return self._browser
        raise Unreachable(f"Chromium does not start ({reason}); use --browser never")

    def _ways_to_start(self, program: str) -> list[tuple[str, bool]]:
        """Return executables, each with or without sandbox, safest first; a container may lack the user namespaces of the sandbox."""
        if not hasattr(os, "geteuid") or os.geteuid() != 0:
            return [(program, True), (program, False)]
        ways = [(program, False)]
        if shutil.which("setpriv"):
            import pwd  # every system with root has it

            try:
                account = pwd.getpwnam(NOBODY)
            except KeyError:
                return ways
            self._home = self._home or Path(tempfile.mkdtemp(prefix="upwell-chromium-"))
            os.chown(self._home, account.pw_uid, account.pw_gid)
            self._home.chmod(0o755)  # playwright starts the script in it; Chromium has its own profile folder
            script = self._home / "chromium"
            script.write_text(
                AS_NOBODY.format(user=account.pw_uid, group=account.pw_gid, home=self._home, program=program)
            )
            script.chmod(0o755)
            ways = [(str(script), True), (str(script), False), *ways]
        return ways

    async def _refuse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.refused += 1
        writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        writer.close()

    async def stop(self) -> None:
        """Stop the browser and its proxy."""
        if self._browser is not None:
            await self._close(self._browser)
            self._browser = None
        if self._playwright is not None:
            await self._playwright.stop()
            self._playwright = None
        if self._proxy is not None:
            self._proxy.close()
            self._proxy = None
        if self._home is not None:
            shutil.rmtree(self._home, ignore_errors=True)
            self._home = None
