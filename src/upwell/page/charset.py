"""Bytes to text in the order of the HTML standard: byte-order mark, HTTP header, meta declaration, guess."""

import codecs
import importlib.util
import string
from functools import lru_cache
from urllib.parse import quote, quote_plus

import chardetng_py
from w3lib.encoding import html_body_declared_encoding, http_content_type_encoding, read_bom, to_unicode

from upwell.page.compiled import compiled

__all__ = ["decode", "encoded_query", "is_unicode", "spellings", "to_utf8"]

# In which addresses carry queries where not in UTF-8: the charsets of pages in languages that Latin letters do not suffice for.
LEGACY_CHARSETS = (
    "gb18030", "big5", "cp932", "euc-jp", "cp949", "cp1251", "koi8-r", "iso-8859-5", "cp1253", "cp1254", "cp1255", "cp1256",
    "cp874", "cp1252", "cp1250",
)  # fmt: skip

# A page is called binary when its first bytes hold a control character that no text has (WHATWG MIME sniffing §3,
# "binary data byte"; NUL is left out because broken text pages carry it) more often than once in this many bytes.
BINARY_ONE_IN = 50
BINARY_BYTES = bytes(b for b in range(0x20) if b not in b"\x00\t\n\x0c\r\x1b")
HEAD = 4096
MAX_KNOWN_HEAD = 1024  # bytes of a beginning that is remembered


def decode(body: bytes, content_type: str = "") -> tuple[str, str, tuple[str, ...]]:
    """The page's text, the name of the charset that was used, and what was odd about it."""
    html, charset, problems = to_utf8(body, content_type)
    return html.decode("utf-8"), charset, problems


def to_utf8(body: bytes, content_type: str = "") -> tuple[bytes, str, tuple[str, ...]]:
    """The same with the text in UTF-8, as the parser reads it: most pages are that already.

    HTML standard §13.2.3.2; departs from it where the declaration is a lie: a page that is declared as something else but
    is valid UTF-8 with non-ASCII bytes is UTF-8, and a page that is declared as UTF-8 but is not, is guessed.
    """
    if is_binary(body):
        return b"", "binary", ("binary data, not a page",)
    bom, mark = read_bom(body)
    if bom and mark:
        return _encoded(to_unicode(body[len(mark) :], bom)), bom, ()
    said = http_content_type_encoding(content_type) or _declared(body)
    if said and codecs.lookup(said).name.startswith(("utf-16", "utf-32")):
        said = "utf-8"  # the prescan read ASCII, so the page cannot be UTF-16 (HTML standard, "prescan")
    if body.isascii():
        return body, said or "ascii", ()
    if _is_utf8(body):
        # A multi-byte charset may look like UTF-8 by accident; nobody's Chinese or Japanese does for a whole page.
        lie = said is not None and said != "utf-8"
        return body, "utf-8", (f"declared as {said}, read as utf-8",) if lie else ()
    if said and said != "utf-8":
        return _recoded(body, said), said, ()
    if said:
        damaged = to_unicode(body, "utf-8")
        broken = damaged.count("\ufffd")
        if broken * 200 < len(damaged) and broken * 4 < _beyond_ascii(damaged):
            # a few broken bytes in a page that is UTF-8 otherwise
            return _encoded(damaged), "utf-8", ("some bytes are not utf-8",)
    guess = chardetng_py.detect(body, allow_utf8=False)
    return _recoded(body, guess), guess, (f"declared as utf-8, read as {guess}",) if said else ()


def _declared(body: bytes) -> str | None:
    """The charset that a page declares in its head; pages of a source mostly begin alike, up to there."""
    head = body[:HEAD].lower()
    word = head.find(b"charset")
    if word < 0:
        return None if b"<?xml" not in head else html_body_declared_encoding(body)
    end = head.find(b">", word) + 1
    return (_declared_in(body[:end]) if 0 < end <= MAX_KNOWN_HEAD else None) or html_body_declared_encoding(body)


@lru_cache(maxsize=256)
def _declared_in(head: bytes) -> str | None:
    return html_body_declared_encoding(head)


def is_unicode(charset: str) -> bool:
    """Whether a page's charset, as `decode` names it, is one whose forms and links are sent as UTF-8."""
    return charset in ("str", "binary", "ascii") or charset.startswith("utf")


def encoded_query(query: str, charset: str) -> str:
    """The query string of a link as a browser sends it: what is not ASCII in the charset of the page (URL standard §4.4)."""
    return quote(query.encode(charset, "xmlcharrefreplace"), safe=string.punctuation)


@lru_cache(maxsize=1000)
def spellings(text: str) -> frozenset[str]:
    """How a text is written in addresses, in lower case: as it is, and percent-encoded in the charsets that can write it."""
    found = {text.lower()}
    for charset in ("utf-8", *(LEGACY_CHARSETS if not text.isascii() else ())):
        try:
            coded = text.encode(charset)
        except UnicodeEncodeError:
            continue
        found |= {quote(coded).lower(), quote_plus(coded).lower()}
    return frozenset(found)


def is_binary(body: bytes) -> bool:
    """Whether the first bytes are no text in any charset of the web (images, archives, PDF …)."""
    head = body[:HEAD]
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


def _recoded(body: bytes, charset: str) -> bytes:
    """Bytes of a charset as UTF-8; what cannot be read is replaced."""
    if compiled is not None and (table := _table(charset)) is not None:
        return compiled.recoded(body, table)
    return _encoded(to_unicode(body, charset))


@lru_cache(maxsize=100)
def _table(charset: str) -> bytes | None:
    """For each byte beyond ASCII of a charset of single bytes, how long it is in UTF-8, and these bytes; None for other charsets."""
    name = codecs.lookup(charset).name.replace("-", "_")
    if importlib.util.find_spec(f"encodings.{name}") is None:
        return None
    characters = getattr(importlib.import_module(f"encodings.{name}"), "decoding_table", "")
    if len(characters) != 256 or characters[:128] != bytes(range(128)).decode("ascii"):
        return None
    coded = [character.encode("utf-8", "replace") for character in bytes(range(128, 256)).decode(charset, "replace")]
    return b"".join(bytes([len(one)]) + one.ljust(3, b"\0") for one in coded)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")  # a lone surrogate cannot be parsed


def _beyond_ascii(text: str) -> int:
    return len(text.encode("utf-8")) - len(text)
