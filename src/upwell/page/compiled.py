"""The compiled parts of this room (page/c), where they were built; plain Python does the same elsewhere, more slowly."""

__all__ = ["PARSER_VERSIONS", "compiled", "count"]

# The walk reads the parser's memory as these versions of selectolax lay it out. For another version: compare its lexbor.pxd
# with page/c/compiled.h, run tests/page/test_compiled.py, add it here.
PARSER_VERSIONS = ("1.0.2",)

try:
    from upwell.page import _compiled as compiled
except ImportError:
    compiled = None  # type: ignore[assignment] # mypy knows no module that may be missing


def count(page: bytes, byte: int) -> int:
    """How often a byte occurs in a page."""
    return compiled.count(page, byte) if compiled is not None else page.count(byte)
