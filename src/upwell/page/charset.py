"""Decode pages in the order of the HTML standard: byte-order mark, HTTP header, meta declaration, detection."""

import codecs
import importlib
import importlib.util
import string
from functools import lru_cache
from urllib.parse import quote

import chardetng_py
from w3lib.encoding import html_body_declared_encoding, http_content_type_encoding, read_bom, to_unicode

from upwell.native import compiled

__all__ = ["decode", "encode_query", "is_unicode", "to_utf8"]

# A body is binary if control characters that occur in no text ("binary data byte", WHATWG MIME sniffing §3; NUL is not
# counted because broken text pages contain it) make up more than one in this many of its first bytes.
BINARY_ONE_IN = 50
BINARY_BYTES = bytes(b for b in range(0x20) if b not in b"\x00\t\n\x0c\r\x1b")
HEAD_BYTES = 4096  # bytes searched for a charset declaration and for binary data
MAX_CACHED_HEAD_BYTES = 1024  # longest head, up to the declaration, whose charset is cached


def decode(body: bytes, content_type: str = "") -> tuple[str, str, tuple[str, ...]]:
    """Return the text of a page, the name of its charset, and problems with the bytes."""
    html, charset, problems = to_utf8(body, content_type)
    return html.decode("utf-8"), charset, problems


def to_utf8(body: bytes, content_type: str = "") -> tuple[bytes, str, tuple[str, ...]]:
    """Return a page as UTF-8, the encoding that the parser reads, the name of its charset, and problems with the bytes.

    Follows HTML standard §13.2.3.2, except where the declaration is wrong: valid UTF-8 with non-ASCII bytes is UTF-8
    whatever is declared, and invalid UTF-8 that is declared as UTF-8 is detected.
    """
    if is_binary(body):
        return b"", "binary", ("binary data, not a page",)
    bom, mark = read_bom(body)
    if bom and mark:
        return _encode_utf8(to_unicode(body[len(mark) :], bom)), bom, ()
    declared = http_content_type_encoding(content_type) or _declared_charset(body)
    if declared and codecs.lookup(declared).name.startswith(("utf-16", "utf-32")):
        declared = (
            "utf-8"  # the prescan found an ASCII declaration, so the page cannot be UTF-16 (HTML standard, "prescan")
        )
    if body.isascii():
        return body, declared or "ascii", ()
    if _is_utf8(body):
        # A short text in a multi-byte charset may be valid UTF-8 by accident; a whole Chinese or Japanese page is not.
        mismatch = declared is not None and declared != "utf-8"
        return body, "utf-8", (f"declared as {declared}, read as utf-8",) if mismatch else ()
    if declared and declared != "utf-8":
        return _to_utf8_from(body, declared), declared, ()
    if declared:
        damaged = to_unicode(body, "utf-8")
        broken = damaged.count("\ufffd")
        if broken * 200 < len(damaged) and broken * 4 < _extra_utf8_bytes(damaged):
            # a few damaged bytes in a page that otherwise is UTF-8
            return _encode_utf8(damaged), "utf-8", ("some bytes are not utf-8",)
    guess = chardetng_py.detect(body, allow_utf8=False)
    return _to_utf8_from(body, guess), guess, (f"declared as utf-8, read as {guess}",) if declared else ()


def _declared_charset(body: bytes) -> str | None:
    """Return the charset that a page declares; pages of one source mostly share the bytes up to the declaration."""
    head = body[:HEAD_BYTES].lower()
    word = head.find(b"charset")
    if word < 0:
        return None if b"<?xml" not in head else html_body_declared_encoding(body)
    end = head.find(b">", word) + 1
    return (
        _cached_declared_charset(body[:end]) if 0 < end <= MAX_CACHED_HEAD_BYTES else None
    ) or html_body_declared_encoding(body)


@lru_cache(maxsize=256)
def _cached_declared_charset(head: bytes) -> str | None:
    return html_body_declared_encoding(head)


def is_unicode(charset: str) -> bool:
    """Return True if forms and links of a page with this charset (as named by `decode`) are sent as UTF-8."""
    return charset in ("str", "binary", "ascii") or charset.startswith("utf")


def encode_query(query: str, charset: str) -> str:
    """Encode the query string of a link as a browser does: non-ASCII characters in the charset of the page (URL standard §4.4)."""
    return quote(query.encode(charset, "xmlcharrefreplace"), safe=string.punctuation)


def is_binary(body: bytes) -> bool:
    """Return True if the first bytes are not text in any charset of the web (images, archives, PDF …)."""
    head = body[:HEAD_BYTES]
    if head.startswith((b"%PDF-", b"PK\x03\x04", b"\x1f\x8b", b"\x89PNG", b"GIF8", b"\xff\xd8\xff")):
        return True
    return (len(head) - len(head.translate(None, BINARY_BYTES))) * BINARY_ONE_IN > len(head)


def _is_utf8(body: bytes) -> bool:
    if compiled is not None:
        return compiled.is_utf8(body)
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _to_utf8_from(body: bytes, charset: str) -> bytes:
    """Convert bytes of a charset to UTF-8; undecodable bytes are replaced."""
    if compiled is not None and (table := _utf8_table(charset)) is not None:
        return compiled.to_utf8(body, table)
    return _encode_utf8(to_unicode(body, charset))


@lru_cache(maxsize=100)
def _utf8_table(charset: str) -> bytes | None:
    """Return length and UTF-8 bytes of each non-ASCII byte of a single-byte charset; None for other charsets."""
    name = codecs.lookup(charset).name.replace("-", "_")
    if importlib.util.find_spec(f"encodings.{name}") is None:
        return None
    characters = getattr(importlib.import_module(f"encodings.{name}"), "decoding_table", "")
    if len(characters) != 256 or characters[:128] != bytes(range(128)).decode("ascii"):
        return None
    encoded = [character.encode("utf-8", "replace") for character in bytes(range(128, 256)).decode(charset, "replace")]
    return b"".join(bytes([len(utf8)]) + utf8.ljust(3, b"\0") for utf8 in encoded)


def _encode_utf8(text: str) -> bytes:
    return text.encode("utf-8", "replace")  # the parser rejects lone surrogates


def _extra_utf8_bytes(text: str) -> int:
    return len(text.encode("utf-8")) - len(text)
