"""Accept answers that are not framed as HTTP requires, as browsers and curl do: the parser of aiohttp gets a well-formed copy.

A server that sends the last chunk twice, more bytes than its `Content-Length`, lines that end in a bare LF, or a header line that is not one
would otherwise count as a server that does not answer. Nothing is guessed about the content: an answer that ends too early remains an error,
and what follows a complete answer is dropped with its connection.
"""

from typing import Any, Literal

from aiohttp.client_proto import ResponseHandler

__all__ = ["LenientResponseHandler", "ResponseFraming"]

MAX_HEAD_BYTES = 4 << 20  # from which a head is left to the limits of the parser; these allow 128 lines of 16 KiB
MAX_CHUNK_LINE_BYTES = 4096  # size and extensions of a chunk, or a trailer
MAX_CHUNK_DIGITS = 15  # of the size of a chunk, in hexadecimal; more is an attack
WITHOUT_BODY = (b"204", b"304")
NAME_CHARS = frozenset(
    b"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
)  # RFC 9110 §5.6.2

# head: status line and headers; length: a body of known length; end: a body up to the end of the connection; size, data, line end and
# trailer: of a chunked body; whole: the answer is complete; raw: left to the parser as it is
_State = Literal["head", "length", "end", "size", "data", "line end", "trailer", "whole", "raw"]


class ResponseFraming:
    """Framing of one answer: `feed` returns what the parser gets of the bytes received.

    >>> framing = ResponseFraming()
    >>> framing.feed(b"HTTP/1.1 200 OK\\nTransfer-Encoding: chunked\\n\\n2\\nok\\n0\\n\\n0\\n\\n")
    b'HTTP/1.1 200 OK\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n2\\r\\nok\\r\\n0\\r\\n\\r\\n'
    >>> framing.has_surplus
    True
    """

    def __init__(self) -> None:
        self.has_surplus = False  # more bytes came than belong to the answer
        self._state: _State = "head"
        self._waiting = b""  # incomplete line or head
        self._left = 0  # bytes left of the body or chunk

    def feed(self, data: bytes) -> bytes:
        """Return the next bytes for the parser."""
        if self._state in ("end", "raw"):
            return data
        data, self._waiting = self._waiting + data, b""
        parts = []
        while data and self._state != "whole":
            part, data, is_waiting = self._step(data)
            parts.append(part)
            if is_waiting:
                self._waiting = data
                break
        else:
            self.has_surplus |= bool(data)
        return b"".join(parts)

    def _step(self, data: bytes) -> tuple[bytes, bytes, bool]:
        """Return what the parser gets, the rest, and whether more has to be received before the rest can be used."""
        if self._state == "head":
            return self._read_head(data)
        if self._state in ("end", "raw"):
            return data, b"", False
        if self._state in ("length", "data"):
            part, rest = data[: self._left], data[self._left :]
            self._left -= len(part)
            if not self._left:
                self._state = "line end" if self._state == "data" else "whole"
            return part, rest, False
        line, end, rest = data.partition(b"\n")
        if not end:
            return (data, b"", False) if self._is_too_long(data) else (b"", data, True)
        return self._read_line(line.strip(b"\r \t")), rest, False

    def _is_too_long(self, data: bytes) -> bool:
        if len(data) > MAX_CHUNK_LINE_BYTES:
            self._state = "raw"
        return self._state == "raw"

    def _read_line(self, line: bytes) -> bytes:
        """Read a line of the framing of a chunked body."""
        if self._state == "line end":
            self._state = "size" if not line else "raw"
            return b"\r\n" + line
        if self._state == "trailer":
            self._state = "whole" if not line else "trailer"
            return b"\r\n" if not line else b""
        size = line.partition(b";")[0].strip()
        if not size or len(size) > MAX_CHUNK_DIGITS or size.strip(b"0123456789abcdefABCDEF"):
            self._state = "raw"
            return line + b"\r\n"
        self._left = int(size, 16)
        self._state = "data" if self._left else "trailer"
        return b"%x\r\n" % self._left

    def _read_head(self, data: bytes) -> tuple[bytes, bytes, bool]:
        if not data.startswith(b"HTTP/"[: len(data)]) or len(data) > MAX_HEAD_BYTES:
            self._state = "raw"
            return data, b"", False
        ends = [at + len(end) for end in (b"\n\n", b"\n\r\n") if (at := data.find(end)) >= 0]
        if not ends:
            return b"", data, True
        head, rest = data[: min(ends)], data[min(ends) :]
        status_line, *lines = [line.rstrip(b"\r") for line in head.split(b"\n")]
        status = status_line.split(b" ")[1:2]
        lengths: list[bytes] = []
        kept, is_chunked, is_kept = [status_line], False, True
        for line in lines:
            name, colon, value = line.partition(b":")
            if line[:1] in (b" ", b"\t"):  # goes on with the header before
                kept += [line] if is_kept and len(kept) > 1 else []
                continue
            name, value = name.rstrip(b" \t"), value.strip(b" \t")
            is_kept = bool(colon and name) and NAME_CHARS.issuperset(name)
            if name.lower() == b"content-length":
                lengths += [value] if value not in lengths else []
                is_kept = False
            is_chunked |= name.lower() == b"transfer-encoding" and value.lower().split(b",")[-1].strip() == b"chunked"
            kept += [name + b": " + value] if is_kept else []
        if status and status[0].startswith(b"1") and status[0] != b"101":
            pass  # a notice: the answer follows
        elif status and status[0] in WITHOUT_BODY:
            self._state = "whole"
        elif is_chunked:  # then a Content-Length says nothing (RFC 9112 §6.3)
            self._state = "size"
        elif not lengths:
            self._state = "end"
        elif len(lengths) > 1 or not lengths[0].isdigit() or len(lengths[0]) > MAX_CHUNK_DIGITS:
            self._state, kept = "raw", [*kept, *(b"Content-Length: " + length for length in lengths)]
        else:
            kept.append(b"Content-Length: " + lengths[0])
            self._left = int(lengths[0])
            self._state = "length" if self._left else "whole"
        return b"\r\n".join(kept) + b"\r\n\r\n", rest, False


class LenientResponseHandler(ResponseHandler):
    """Connection whose answers pass through `ResponseFraming`."""

    def __init__(self, loop: Any) -> None:
        super().__init__(loop)
        self._framing = ResponseFraming()

    def set_response_params(self, **params: Any) -> None:
        """Prepare for the next answer."""
        self._framing = ResponseFraming()
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        """Pass on what was received; a connection with surplus bytes is not used again."""
        clean = self._framing.feed(data)
        if self._framing.has_surplus:
            self.force_close()
        if clean or not data:
            super().data_received(clean)
