"""Fit judgements, print their cards, and write their files: `python -m benchmarks.fit [NAME…] [--dry]`."""

import importlib
import json
import pkgutil
import sys

import benchmarks.fit
from benchmarks.corpora import require
from benchmarks.fit.fitting import save

SHARED = {"__main__", "content_pages", "fitting"}


def names() -> list[str]:
    """Return the names of all judgements that can be fitted."""
    return sorted(info.name for info in pkgutil.iter_modules(benchmarks.fit.__path__) if info.name not in SHARED)


def main(arguments: list[str]) -> int:
    dry, wanted = "--dry" in arguments, [name for name in arguments if not name.startswith("-")]
    if unknown := set(wanted) - set(names()):
        print(f"no judgement is called {', '.join(sorted(unknown))}; there are: {', '.join(names())}", file=sys.stderr)
        return 2
    require()
    for name in wanted or names():
        fitted = importlib.import_module(f"benchmarks.fit.{name}").fit()
        print(json.dumps({"name": fitted.name, **fitted.card}, ensure_ascii=False), flush=True)
        if not dry:
            path = save(fitted)
            print(f"written: judge/weights/{path.name}, {path.stat().st_size / 1024:.0f} KB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
