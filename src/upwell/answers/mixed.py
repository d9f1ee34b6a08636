"""Whether answers come from one site: pages of one site share classes and short texts, pages of two sites hardly any."""

from collections import Counter
from collections.abc import Sequence
from urllib.parse import urlsplit

from upwell.page.tree import TagTree

__all__ = ["sites", "warning"]

# Two pages are of one site when they share this part of the smaller one's classes and short texts.
SHARED = 0.1  # swept on 105 sites: 0.1 parts none of them and misses 3 of 80 mixes; 0.2 parts 3, misses 1; 0.3 parts 5
SHORT = 40  # characters of a text that may be part of a frame
LEAST = 0.1  # share of the pages that another site must have at least: fewer are errors and odd pages
SAMPLE = 60  # pages that are compared


def sites(trees: Sequence[TagTree]) -> list[int]:
    """How many pages each site has, most first, from what pages look like and say."""
    step = max(1, len(trees) // SAMPLE)
    seen = [signature for tree in trees[::step][:SAMPLE] if (signature := _signature(tree))]
    of = list(range(len(seen)))
    for i, mine in enumerate(seen):
        for j in range(i):
            if of[i] != of[j] and len(mine & seen[j]) >= SHARED * min(len(mine), len(seen[j])):
                gone, stays = of[i], of[j]
                of = [stays if name == gone else name for name in of]
    return [n for _, n in Counter(of).most_common()]


def warning(trees: Sequence[TagTree]) -> str:
    """What to say where pages of different sites are mixed; "" where nothing speaks for it."""
    hosts = Counter(host for tree in trees if (host := urlsplit(tree.url).hostname))
    if len(hosts) > 1:
        named = ", ".join(f"{host} ({n})" for host, n in hosts.most_common(3))
        return f"these pages come from {len(hosts)} hosts: {named}; learn each source by itself"
    found = sites(trees)
    others = [n for n in found[1:] if n > 1 and n >= LEAST * sum(found)]
    if others:
        parts = ", ".join(map(str, [found[0], *others]))
        return f"these pages look like those of {len(others) + 1} sites ({parts} pages of a sample); learn each source by itself"
    return ""


def _signature(tree: TagTree) -> frozenset[str]:
    texts = (f"'{text}" for text in tree.chunks if len(text) <= SHORT and any(map(str.isalpha, text)))
    return frozenset([*filter(None, tree.classes), *texts])
