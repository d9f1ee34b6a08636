"""Build the native module (src/upwell/native); everything else is in pyproject.toml.

The module contains a digest of its sources, by which `upwell.native` recognises a module that was built from other sources. Without a
compiler or Python.h the installation continues without the module: pure Python computes the same, more slowly. If the variable
UPWELL_REQUIRE_NATIVE is set, as for the wheels that are published, that is an error.

To build it in place: `python setup.py build_ext --inplace`.
"""

import os
from hashlib import sha256
from pathlib import Path

from setuptools import Extension, setup

FOLDER = Path("src/upwell/native")
FILES = sorted([*FOLDER.glob("*.c"), *FOLDER.glob("*.h")])
DIGEST = sha256(b"".join(file.read_bytes() for file in FILES)).hexdigest()[:16]  # as `upwell.native.sources_digest`

setup(
    ext_modules=[
        Extension(
            "upwell.native._native",
            sources=[str(file) for file in FILES if file.suffix == ".c"],
            depends=[str(file) for file in FILES if file.suffix == ".h"],
            define_macros=[("SOURCES", f'"{DIGEST}"')],
            extra_compile_args=["/O2", "/std:c11"] if os.name == "nt" else ["-O3", "-std=c11", "-fvisibility=hidden"],
            optional=not os.environ.get("UPWELL_REQUIRE_NATIVE"),
        )
    ]
)
