"""Take the screenshots of the documentation: harvest two bundled sites, serve the harvests, and show the pages in Chromium.

python -m scripts.take_pictures [FOLDER]       default: docs/pictures; look at the pictures before you commit them
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.web.serving import serving, signed_in

from upwell.demo import SMALL_SITE, Switches, serve

__all__ = ["main"]

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
SIZE = {"width": 1100, "height": 760}  # pixels; a page of the documentation shows about 800
REQUESTS = 120  # of the site that is not harvested completely


def main(folder: Path = PICTURES) -> None:
    """Write home.png, harvest.png and records.png."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        for switches, budget in ((SMALL_SITE, 700), (Switches(), REQUESTS)):
            with serve(switches) as site:
                subprocess.run(
                    [
                        sys.executable,
                        "-m",
                        "upwell",
                        "harvest",
                        site.url,
                        "-o",
                        scratch,
                        "--rate",
                        "0",
                        "--budget",
                        str(budget),
                    ],
                    check=True,
                )
        with serving(Path(scratch)) as pages, signed_in(pages) as page:
            page.set_viewport_size(SIZE)  # type: ignore[arg-type] # a TypedDict of playwright
            page.wait_for_load_state("networkidle")
            page.screenshot(path=folder / "home.png")
            addresses = page.eval_on_selector_all(
                "a[href^='/harvests/']", "links => links.map(link => link.getAttribute('href'))"
            )
            base = "/".join(str(addresses[-1]).split("/")[:3])
            for name, path in (("harvest", base), ("records", f"{base}/records")):
                page.goto(f"{pages.url.rstrip('/')}{path}")
                page.wait_for_load_state("networkidle")
                page.screenshot(path=folder / f"{name}.png")
    print(f"home.png, harvest.png and records.png in {folder}")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
