"""Informative blocks of a large site, learned and read page by page: `python -m benchmarks.speed.blocks [PAGES]`.

The pages are synthetic: a frame with menus, a list of other pages and a footer around the posts of the newsgroup corpus, each with its
own number, so that no two pages are equal. CPU per tenth must not grow, nor memory after the first tenths.
"""

import gzip
import html
import json
import resource
import sys
import time
from collections.abc import Iterator

from benchmarks.corpora import CORPORA, require
from upwell.content import main_content as blocks
from upwell.page.tree import read

PAGES = 100_000


def pages(count: int) -> Iterator[str]:
    """Yield the pages of the synthetic site."""
    (path,) = sorted((CORPORA / "texts").glob("*news*"))
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        posts = [json.loads(line)["text"][:1500] for line in lines]
    menu = "".join(f'<li><a href="/s{i}">Section {i}</a></li>' for i in range(30))
    for i in range(count):
        text = "".join(f"<p>{html.escape(p)} {i}</p>" for p in posts[i % len(posts)].split("\n\n") if p.strip())
        others = "".join(f'<li><a href="/a/{j}">Article number {j} of the archive</a></li>' for j in range(i, i + 10))
        yield (
            f"<title>Post {i} - Archive</title><ul class=menu>{menu}</ul><div class=main><h1>Post {i}</h1>{text}</div>"
            f"<ul class=more>{others}</ul><div class=foot>All of this is kept for the archive and its readers.</div>"
        )


def main(count: int) -> int:
    require()
    site = blocks.LearnedSite()
    step = max(1, count // 10)
    spent, memory = [], []
    start = time.process_time()
    for i, page in enumerate(pages(count), 1):
        tree = read(page)
        site.add(tree)
        blocks.find_blocks(tree, site)
        if i % step == 0:
            spent.append(time.process_time() - start)
            memory.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
            known = f"{len(site.lines.totals):,} lines and {len(site.styles):,} styles known"
            print(
                f"{i:>8,} pages: {1000 * spent[-1] / step:.2f} ms CPU a page, {memory[-1]} MB at most, {known}",
                flush=True,
            )
            start = time.process_time()
    linear, bounded = max(spent[5:]) <= 1.5 * min(spent[:5]), memory[-1] <= 1.1 * memory[4]
    print(f"linear: {linear}; memory bounded: {bounded}")
    return 0 if linear and bounded else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else PAGES))
