"""Warns where saved answers come from several sites: pages of one site share classes and short texts, pages of two hardly any."""

from collections import Counter
from collections.abc import Sequence
from urllib.parse import urlsplit

from upwell.page.tree import TagTree

__all__ = ["count_sites", "mixed_sites_warning"]

# Two pages are of one site if they share this part of the classes and short texts of the smaller one.
# Swept on 105 sites: 0.1 divides none of them and misses 3 of 80 mixes; 0.2 divides 3, misses 1; 0.3 divides 5.
MIN_SHARED = 0.1
MAX_FRAME_CHARS = 40  # a longer text belongs to the content, not to the frame that all pages of a site have
MIN_SITE_SHARE = 0.1  # of the pages; a smaller group is errors and odd pages, not another site
MAX_COMPARED_PAGES = 60


def count_sites(trees: Sequence[TagTree]) -> list[int]:
    """The number of pages of each site, largest first, judged by what a sample of the pages share."""
    step = max(1, len(trees) // MAX_COMPARED_PAGES)
    signatures = [signature for tree in trees[::step][:MAX_COMPARED_PAGES] if (signature := _signature(tree))]
    groups = list(range(len(signatures)))  # the group of each page; pages that are alike join theirs
    for i, signature in enumerate(signatures):
        for j, earlier in enumerate(signatures[:i]):
            if groups[i] != groups[j] and len(signature & earlier) >= MIN_SHARED * min(len(signature), len(earlier)):
                joining, kept = groups[i], groups[j]
                groups = [kept if group == joining else group for group in groups]
    return [pages for _, pages in Counter(groups).most_common()]


def mixed_sites_warning(trees: Sequence[TagTree]) -> str:
    """The warning for pages of different sites, by their hosts or by what they share; "" where they seem to be of one site."""
    hosts = Counter(host for tree in trees if (host := urlsplit(tree.url).hostname))
    if len(hosts) > 1:
        named = ", ".join(f"{host} ({n})" for host, n in hosts.most_common(3))
        return f"these pages come from {len(hosts)} hosts: {named}; learn each source by itself"
    sizes = count_sites(trees)
    others = [pages for pages in sizes[1:] if pages > 1 and pages >= MIN_SITE_SHARE * sum(sizes)]
    if others:
        parts = ", ".join(map(str, [sizes[0], *others]))
        return f"these pages look like those of {len(others) + 1} sites ({parts} pages of a sample); learn each source by itself"
    return ""


def _signature(tree: TagTree) -> frozenset[str]:
    """The classes and short texts of a page; a quote tells a text from a class of the same name."""
    texts = (f"'{text}" for text in tree.chunks if len(text) <= MAX_FRAME_CHARS and any(map(str.isalpha, text)))
    return frozenset([*filter(None, tree.classes), *texts])
