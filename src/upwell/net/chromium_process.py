"""Chromium as a process that can reach nothing: without privileges, in its sandbox, and with a proxy that refuses every connection.

All harvests of an event loop share one, with a few pages at a time: each page has a context of its own, which shares nothing with others.

What a page asks for is answered by playwright's interception, from the Fetcher (`net.browser`). Whatever escapes that (WebSockets,
shared workers, prefetching, DNS, redirects inside the browser) meets a proxy of our own on loopback that says no.
"""

import asyncio
import os
import pwd
import shutil
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from upwell.errors import MissingExtra, Unreachable

if TYPE_CHECKING:
    from playwright.async_api import Browser, Playwright

__all__ = ["MAX_PAGES", "ChromiumProcess", "shared_process"]

ARGUMENTS = (
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-sync",
    "--disable-quic",
    "--dns-prefetch-disable",
    "--proxy-bypass-list=<-loopback>",  # loopback goes through the proxy too
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # 127.0.0.1 is where the proxy listens
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-features=WebRtcHideLocalIpsWithMdns,Prerender2,SpeculationRules",
)
NOBODY = "nobody"  # the user without rights that every Unix has
START_SECONDS = 30.0
CLOSE_SECONDS = 5.0  # a page that never rests can keep the browser from closing in order
# Run as root, Chromium gives up its rights: it would run its sandbox as root or not at all.
AS_NOBODY = """#!/bin/sh
for argument in "$@"; do
  case "$argument" in --user-data-dir=*) chown -R {user} "${{argument#--user-data-dir=}}";; esac
done
HOME={home} exec setpriv --reuid={user} --regid={group} --clear-groups -- {program} "$@"
"""


MAX_PAGES = 2 * (os.cpu_count() or 1)  # at once; a page takes a core while it loads, and waits for the rate between

_processes: "WeakKeyDictionary[asyncio.AbstractEventLoop, ChromiumProcess]" = WeakKeyDictionary()


def shared_process() -> "ChromiumProcess":
    """The Chromium of the running event loop."""
    return _processes.setdefault(asyncio.get_running_loop(), ChromiumProcess())


@dataclass(eq=False)
class ChromiumProcess:
    """One running Chromium, started when a page is first wanted, and again if it has died; it ends when its last user leaves."""

    refused: int = 0  # connections that came to the proxy
    users: int = 0
    _pages: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_PAGES), init=False)
    _starting: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)
    _visits: "Counter[Browser]" = field(default_factory=Counter, init=False)
    _playwright: "Playwright | None" = field(default=None, init=False)
    _browser: "Browser | None" = field(default=None, init=False)
    _proxy: asyncio.Server | None = field(default=None, init=False)
    _home: Path | None = field(default=None, init=False)

    def enter(self) -> None:
        """Counts somebody who may want pages."""
        self.users += 1

    async def leave(self) -> None:
        """Ends the browser when the last one has left."""
        self.users -= 1
        if not self.users:
            await self.stop()

    @asynccontextmanager
    async def page(self) -> AsyncIterator["Browser"]:
        """The browser for one page, when there is room for it."""
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
        """Lets further pages have another browser; this one ends with the last page that it shows."""
        if browser is self._browser:
            self._browser = None

    async def _close(self, browser: "Browser") -> None:
        del self._visits[browser]
        with suppress(TimeoutError):  # then playwright's own process ends it
            await asyncio.wait_for(browser.close(), CLOSE_SECONDS)

    async def start(self) -> "Browser":
        """The browser, started when it is first needed."""
        if self._browser is not None and self._browser.is_connected():
            return self._browser
        program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        try:
            from playwright.async_api import Error, async_playwright
        except ImportError as missing:
            raise MissingExtra("the browser needs the package playwright: pip install 'upwell[browser]'") from missing
        if self._playwright is None:
            self._playwright = await async_playwright().start()
        own = self._playwright.chromium.executable_path  # of `playwright install chromium`
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
        """Executable and whether its sandbox is on, the safest first; a container may have no user namespaces for the sandbox."""
        if os.geteuid() != 0:
            return [(program, True), (program, False)]
        ways = [(program, False)]
        if shutil.which("setpriv"):
            try:
                account = pwd.getpwnam(NOBODY)
            except KeyError:
                return ways
            self._home = self._home or Path(tempfile.mkdtemp(prefix="upwell-chromium-"))
            os.chown(self._home, account.pw_uid, account.pw_gid)
            self._home.chmod(0o755)  # the script in it is started by playwright, the profile is Chromium's own
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
        """Ends the browser, and the proxy with it."""
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
