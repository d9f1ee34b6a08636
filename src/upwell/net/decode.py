"""Decode the content coding of a response in chunks and within a size limit, so that a small answer cannot fill the memory."""

import zlib
from typing import Protocol

import brotli
from backports.zstd import DecompressionParameter, ZstdDecompressor, ZstdError

__all__ = ["ACCEPT_ENCODING", "Decoder", "UnacceptableBody"]

ACCEPT_ENCODING = "gzip, deflate, br, zstd"
ZSTD_MAX_WINDOW_LOG = 23  # RFC 9659: zstd over HTTP uses windows of 8 MB at most
MAX_CODINGS = 2  # nested codings; no server sends more, but a decompression bomb would


class UnacceptableBody(ValueError):
    """The body is too large or has an unsupported coding; a retry would give the same."""


class _Coding(Protocol):
    def decode(self, data: bytes, limit: int) -> bytes: ...

    def is_complete(self) -> bool: ...


class Decoder:
    """Decoder for the codings of a `Content-Encoding` header.

    `decode` raises UnacceptableBody beyond the limit of decoded bytes, and ValueError if the data is damaged.
    """

    def __init__(self, content_encoding: str, limit: int) -> None:
        names = [part.strip().lower() for part in content_encoding.split(",")]
        names = [name for name in names if name not in ("", "identity")]
        if len(names) > MAX_CODINGS:
            raise UnacceptableBody(f"{len(names)} nested content codings")
        self._codings = [_coding(name) for name in reversed(names)]
        self._bytes_left = self.limit = limit

    def decode(self, chunk: bytes) -> bytes:
        """Decode the next chunk."""
        for coding in self._codings:
            try:
                chunk = coding.decode(chunk, self._bytes_left + 1)
            except (zlib.error, brotli.error, ZstdError, EOFError) as error:
                raise ValueError(f"damaged content coding: {error}") from error
            if len(chunk) > self._bytes_left:
                break
        self._bytes_left -= len(chunk)
        if self._bytes_left < 0:
            raise UnacceptableBody(f"more than {self.limit:,} bytes")
        return chunk

    def finish(self) -> None:
        """Raise ValueError if the data is incomplete; to be called after the last chunk."""
        if not all(coding.is_complete() for coding in self._codings):
            raise ValueError("the compressed answer was cut off")


def _coding(name: str) -> _Coding:
    if name in ("gzip", "x-gzip"):
        return _Zlib(16 + zlib.MAX_WBITS)
    if name == "deflate":
        return _Deflate()
    if name == "br":
        return _Brotli()
    if name == "zstd":
        return _Zstd()
    raise UnacceptableBody(f"content coding {name!r} is not supported")


class _Zlib:
    def __init__(self, window_bits: int) -> None:
        self.window_bits, self.inflater, self.has_input = window_bits, zlib.decompressobj(window_bits), False

    def decode(self, data: bytes, limit: int) -> bytes:
        self.has_input = self.has_input or bool(data)
        out = b""
        while data and len(out) < limit:
            if self.inflater.eof:  # another member of a gzip file follows, or padding
                if not data.startswith(b"\x1f\x8b"):
                    return out
                self.inflater = zlib.decompressobj(self.window_bits)
            out += self.inflater.decompress(data, limit - len(out))
            data = self.inflater.unused_data or self.inflater.unconsumed_tail
        return out

    def is_complete(self) -> bool:
        return self.inflater.eof or not self.has_input


class _Deflate(_Zlib):
    """Coding `deflate`: the zlib format (RFC 9110 §8.4.1.2), or the raw deflate stream that some servers send."""

    def __init__(self) -> None:
        super().__init__(zlib.MAX_WBITS)

    def decode(self, data: bytes, limit: int) -> bytes:
        if not self.has_input and data and (data[0] & 0x0F) != 8:  # no zlib header
            self.window_bits = -zlib.MAX_WBITS
            self.inflater = zlib.decompressobj(self.window_bits)
        return super().decode(data, limit)


class _Brotli:
    def __init__(self) -> None:
        self.decompressor, self.has_input = brotli.Decompressor(), False

    def decode(self, data: bytes, limit: int) -> bytes:
        self.has_input = self.has_input or bool(data)
        out: bytes = self.decompressor.process(data, output_buffer_limit=limit)
        while len(out) < limit and not self.decompressor.can_accept_more_data():
            out += self.decompressor.process(b"", output_buffer_limit=limit - len(out))
        return out

    def is_complete(self) -> bool:
        return bool(self.decompressor.is_finished()) or not self.has_input


class _Zstd:
    def __init__(self) -> None:
        self.has_input = False
        self._begin_frame()

    def _begin_frame(self) -> None:
        self.decompressor = ZstdDecompressor(options={DecompressionParameter.window_log_max: ZSTD_MAX_WINDOW_LOG})

    def decode(self, data: bytes, limit: int) -> bytes:
        self.has_input = self.has_input or bool(data)
        out = b""
        while (data or not self.decompressor.needs_input) and len(out) < limit:
            if self.decompressor.eof:
                self._begin_frame()
            out += self.decompressor.decompress(data, limit - len(out))
            data = self.decompressor.unused_data if self.decompressor.eof else b""
            if self.decompressor.eof and not data:
                break
        return out

    def is_complete(self) -> bool:
        return self.decompressor.eof or not self.has_input
