"""Server on a raw socket that can send any bytes."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["http_answer", "raw_server"]


@contextmanager
def raw_server(answer: Callable[[socket.socket, bytes], None]) -> Iterator[tuple[str, list[bytes]]]:
    """Pass each connection and the head of its request to `answer`; yield the URL and the heads received so far."""
    heads: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def handle(client: socket.socket) -> None:
            with client:
                try:
                    head = client.recv(65536)
                    heads.append(head)
                    answer(client, head)
                except OSError:
                    pass  # the client closed the connection

        def serve() -> None:
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                threading.Thread(target=handle, args=(client,), daemon=True).start()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}/", heads
        server.shutdown(socket.SHUT_RDWR)
    thread.join()


def http_answer(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    """Return a complete answer as sent over the network."""
    lines = [
        f"HTTP/1.1 {status}",
        "Content-Type: text/html",
        "Connection: close",
        *headers,
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body
