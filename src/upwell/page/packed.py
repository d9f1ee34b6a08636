"""Compressed data as the bytes that it holds: files that a site sends compressed, and texts in base64 inside of scripts."""

import base64
import binascii
import re
import zlib

__all__ = ["unpacked", "unpacked_text"]

MAX_BYTES = 52_428_800  # decompressed: what the sitemap protocol allows
GZIP_BEGINNING = b"\x1f\x8b"
ANY_HEADER, NO_HEADER = 47, -15  # windows of zlib: gzip's or zlib's header, or none
BASE64 = re.compile(r"(?:data:[\w/+.;=-]*,)?([A-Za-z0-9+/_-]{100,}={0,2})")


def unpacked(body: bytes) -> bytes:
    """What a gzip file holds; other bytes as they are, and none where the file is broken.

    >>> import gzip
    >>> unpacked(gzip.compress(b"Lima")), unpacked(b"Lima")
    (b'Lima', b'Lima')
    """
    return _inflated(body, ANY_HEADER) if body.startswith(GZIP_BEGINNING) else body


def unpacked_text(text: str) -> str:
    """What a text in base64 holds compressed; "" where it holds nothing of the kind.

    >>> unpacked_text(base64.b64encode(zlib.compress(bytes(range(32, 127)) * 2)).decode())[:6], unpacked_text("Lima")
    (' !"#$%', '')
    """
    found = BASE64.fullmatch(text)
    if found is None:
        return ""
    try:
        data = base64.b64decode(found[1].rstrip("=") + "==", altchars=b"-_" if set("-_") & set(found[1]) else None)
    except binascii.Error:
        return ""
    return (_inflated(data, ANY_HEADER) or _inflated(data, NO_HEADER)).decode("utf-8", "replace")


def _inflated(data: bytes, window: int) -> bytes:
    try:
        return zlib.decompressobj(window).decompress(data, MAX_BYTES)
    except zlib.error:
        return b""
