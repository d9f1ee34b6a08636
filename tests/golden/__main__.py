"""Show differences from the accepted records: `python -m tests.golden [LAYOUT …] [--accept] [--record]`."""

import argparse
import sys

from tests.golden.record import record
from tests.golden.replay import ACCEPT, GOLDEN, accept, differences, read_again, score
from upwell.demo.switches import LAYOUTS


def main() -> int:
    """Return exit code 1 if there are differences that were not accepted."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument(
        "layouts", nargs="*", metavar="LAYOUT", help=f"one of {', '.join(LAYOUTS)}; all if none is named"
    )
    parser.add_argument("--accept", action="store_true", help="write what is read today as what shall be read")
    parser.add_argument("--record", action="store_true", help="first save the answers of the demo site anew")
    options = parser.parse_args()
    if unknown := set(options.layouts).difference(LAYOUTS):
        parser.error(f"no layout {', '.join(sorted(unknown))}; there are {', '.join(LAYOUTS)}")
    is_different = False
    for layout in options.layouts or LAYOUTS:
        folder = GOLDEN / layout
        if options.record:
            record(layout, folder)
        documents = read_again(folder)
        diffs = list(differences(folder, documents))
        is_different = is_different or bool(diffs)
        print(*diffs, sep="\n\n", end="\n\n" if diffs else "")
        if options.accept:
            accept(folder, documents)
        result = score(folder, documents["output.json"])
        print(
            f"{layout}: {len(diffs)} parts differ; {result.records} records, {result.cities} cities, "
            f"precision {result.precision:.3f}, recall {result.recall:.3f}"
        )
    if is_different and not options.accept:
        print(f"read the differences; if they are right: {ACCEPT}", file=sys.stderr)
    return int(is_different and not options.accept)


if __name__ == "__main__":
    sys.exit(main())
