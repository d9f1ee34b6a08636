"""Undoing a response's content coding piece by piece, never beyond a limit: a small answer must not fill the memory."""

import zlib
from typing import Protocol

import brotli
from backports.zstd import DecompressionParameter, ZstdDecompressor, ZstdError

__all__ = ["ACCEPTED", "Decoder", "Excess"]

ACCEPTED = "gzip, deflate, br, zstd"
WINDOW_LOG = 23  # RFC 9659: zstd over HTTP uses windows of 8 MB at most
LAYERS = 2  # codings on top of each other; nobody sends more, but a bomb would


class Excess(ValueError):
    """More than the limit; asking again would bring the same."""


class _Layer(Protocol):
    def feed(self, data: bytes, limit: int) -> bytes: ...

    def complete(self) -> bool: ...


class Decoder:
    """Undoes the codings of a `Content-Encoding` header; `feed` raises Excess past the limit, ValueError where data is damaged."""

    def __init__(self, coding: str, limit: int) -> None:
        names = [name for name in (part.strip().lower() for part in coding.split(",")) if name not in ("", "identity")]
        if len(names) > LAYERS:
            raise Excess(f"{len(names)} content codings on top of each other")
        self._layers = [_layer(name) for name in reversed(names)]
        self._left = self.limit = limit

    def feed(self, data: bytes) -> bytes:
        """The decoded form of the next piece."""
        for layer in self._layers:
            try:
                data = layer.feed(data, self._left + 1)
            except (zlib.error, brotli.error, ZstdError, EOFError) as error:
                raise ValueError(f"damaged content coding: {error}") from error
            if len(data) > self._left:
                break
        self._left -= len(data)
        if self._left < 0:
            raise Excess(f"more than {self.limit:,} bytes")
        return data

    def finish(self) -> None:
        """Says that there is no more; raises ValueError where the data was cut off."""
        if not all(layer.complete() for layer in self._layers):
            raise ValueError("the compressed answer was cut off")


def _layer(name: str) -> _Layer:
    if name in ("gzip", "x-gzip"):
        return _Zlib(16 + zlib.MAX_WBITS)
    if name == "deflate":
        return _Deflate()
    if name == "br":
        return _Brotli()
    if name == "zstd":
        return _Zstd()
    raise Excess(f"content coding {name!r} was not asked for")


class _Zlib:
    def __init__(self, bits: int) -> None:
        self.bits, self.inner, self.fed = bits, zlib.decompressobj(bits), False

    def feed(self, data: bytes, limit: int) -> bytes:
        self.fed = self.fed or bool(data)
        out = b""
        while data and len(out) < limit:
            if self.inner.eof:  # another member of a gzip file; what is no member is padding
                if not data.startswith(b"\x1f\x8b"):
                    return out
                self.inner = zlib.decompressobj(self.bits)
            out += self.inner.decompress(data, limit - len(out))
            data = self.inner.unused_data or self.inner.unconsumed_tail
        return out

    def complete(self) -> bool:
        return self.inner.eof or not self.fed


class _Deflate(_Zlib):
    """RFC 9110 §8.4.1.2: deflate means zlib format; some servers send it bare."""

    def __init__(self) -> None:
        super().__init__(zlib.MAX_WBITS)

    def feed(self, data: bytes, limit: int) -> bytes:
        if not self.fed and data and (data[0] & 0x0F) != 8:
            self.bits = -zlib.MAX_WBITS
            self.inner = zlib.decompressobj(self.bits)
        return super().feed(data, limit)


class _Brotli:
    def __init__(self) -> None:
        self.inner, self.fed = brotli.Decompressor(), False

    def feed(self, data: bytes, limit: int) -> bytes:
        self.fed = self.fed or bool(data)
        out: bytes = self.inner.process(data, output_buffer_limit=limit)
        while len(out) < limit and not self.inner.can_accept_more_data():
            out += self.inner.process(b"", output_buffer_limit=limit - len(out))
        return out

    def complete(self) -> bool:
        return bool(self.inner.is_finished()) or not self.fed


class _Zstd:
    def __init__(self) -> None:
        self.fed = False
        self._new()

    def _new(self) -> None:
        self.inner = ZstdDecompressor(options={DecompressionParameter.window_log_max: WINDOW_LOG})

    def feed(self, data: bytes, limit: int) -> bytes:
        self.fed = self.fed or bool(data)
        out = b""
        while (data or not self.inner.needs_input) and len(out) < limit:
            if self.inner.eof:
                self._new()
            out += self.inner.decompress(data, limit - len(out))
            data = self.inner.unused_data if self.inner.eof else b""
            if self.inner.eof and not data:
                break
        return out

    def complete(self) -> bool:
        return self.inner.eof or not self.fed
