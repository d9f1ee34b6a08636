"""The compiled parts (C), where they were built; plain Python does the same elsewhere, more slowly."""

__all__ = ["PARSER_VERSIONS", "compiled", "count"]

# The walk reads the parser's memory as these versions of selectolax lay it out. For another version: compare its lexbor.pxd
# with native/native.h, run tests/test_native.py, add it here.
PARSER_VERSIONS = ("1.0.2",)
# As native/module.c has it; it goes up with every change of the C code. A module with another number was left over from another
# version of Upwell: it is as good as none.
INTERFACE = 9

try:
    from upwell.native import _native as compiled

    if getattr(compiled, "INTERFACE", 1) != INTERFACE:  # the first modules had no number
        compiled = None  # type: ignore[assignment] # as below
except ImportError:
    compiled = None  # type: ignore[assignment] # mypy knows no module that may be missing


def count(page: bytes, byte: int) -> int:
    """How often a byte occurs in a page."""
    return compiled.count(page, byte) if compiled is not None else page.count(byte)
