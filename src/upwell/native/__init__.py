"""Native code (C): `compiled` is the module, or None if it was not built; then pure Python computes the same, more slowly.

`native.h` documents every function. `sources_digest` identifies the C files: a module that was built from other files is not used.
"""

from hashlib import sha256
from pathlib import Path

__all__ = ["PARSER_VERSIONS", "compiled", "sources_digest"]

# Versions of selectolax whose memory layout the native walk knows. For another version compare the structures in its lexbor.pxd with walk.c,
# run tests/test_native.py, and add it here.
PARSER_VERSIONS = ("1.0.2",)


def sources_digest(folder: Path) -> str:
    """Return a digest of the C files in a folder; "" if there are none."""
    files = sorted(file for file in folder.iterdir() if file.suffix in (".c", ".h"))
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16] if files else ""


try:
    from upwell.native import _native as compiled

    if sources_digest(Path(__file__).parent) not in ("", getattr(compiled, "SOURCES", None)):
        compiled = None  # type: ignore[assignment] # left over from before a change of the C files: build it again
except ImportError:
    compiled = None  # type: ignore[assignment] # mypy does not expect a module to be missing
