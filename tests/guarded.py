"""The demo site behind access control, over HTTP or HTTPS, and proxies in front of it."""

import asyncio
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from aiohttp import web

from upwell.demo import Received, Switches
from upwell.demo.site import application

T = TypeVar("T")
Guard = Callable[[web.Request], web.StreamResponse | None]  # answer to requests without access
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@contextmanager
def in_thread(start: Callable[[], Awaitable[int]], stop: Callable[[], Awaitable[None]]) -> Iterator[int]:
    """Run a server in its own event loop; yield its port."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield asyncio.run_coroutine_threadsafe(_as_coroutine(start()), loop).result()
    finally:
        asyncio.run_coroutine_threadsafe(_as_coroutine(stop()), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _as_coroutine(waited: Awaitable[T]) -> T:
    return await waited


@contextmanager
def guarded(guard: Guard, tls: ssl.SSLContext | None = None) -> Iterator[tuple[str, list[Received]]]:
    """Serve the demo site behind access control; yield its URL and the accepted requests."""
    received: list[Received] = []
    app = application(Switches(), received)

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        return guard(request) or await handler(request)

    app.middlewares.insert(0, check)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)

    async def start() -> int:
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
        return int(runner.addresses[0][1])

    with in_thread(start, runner.cleanup) as port:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{port}/", received


@contextmanager
def http_proxy(wants: str = "") -> Iterator[tuple[str, list[str]]]:
    """Run a plain HTTP proxy (absolute URLs and CONNECT); `wants` is the required Proxy-Authorization."""
    seen: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError:
            writer.close()
            return
        method, target, _ = head.split(b"\r\n")[0].decode().split(" ")
        seen.append(f"{method} {target}")
        if wants and wants.encode() not in head:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            writer.close()
            return
        place = target if method == "CONNECT" else target.split("/")[2]
        host, _, port = place.partition(":")
        inner, outer = await asyncio.open_connection(host, int(port or 80))
        if method == "CONNECT":
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        else:
            outer.write(
                head.replace(f"http://{place}".encode(), b"", 1).replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
            )
        await asyncio.gather(_pipe(reader, outer), _pipe(inner, writer))

    with _tcp(serve) as port:
        yield f"127.0.0.1:{port}", seen


@contextmanager
def socks_proxy() -> Iterator[tuple[str, list[str]]]:
    """Run a SOCKS 5 proxy without authentication (RFC 1928)."""
    seen: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        (count,) = (await reader.readexactly(2))[1:]
        await reader.readexactly(count)
        writer.write(b"\x05\x00")
        kind = (await reader.readexactly(4))[3]
        if kind == 1:
            host = ".".join(str(part) for part in await reader.readexactly(4))
        else:
            host = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
        port = int.from_bytes(await reader.readexactly(2))
        seen.append(f"{host}:{port}")
        inner, outer = await asyncio.open_connection(host, port)
        writer.write(b"\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00")
        await asyncio.gather(_pipe(reader, outer), _pipe(inner, writer))

    with _tcp(serve) as port:
        yield f"socks5://127.0.0.1:{port}", seen


@contextmanager
def _tcp(serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]) -> Iterator[int]:
    servers: list[asyncio.Server] = []

    async def start() -> int:
        servers.append(await asyncio.start_server(serve, "127.0.0.1", 0))
        return int(servers[0].sockets[0].getsockname()[1])

    async def stop() -> None:
        servers[0].close()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    with in_thread(start, stop) as port:
        yield port


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()
