"""The request for the next page of an answer: by the links around its records, else by counting on."""

import re
from dataclasses import replace
from urllib.parse import urlsplit

from upwell.answers.next_page import next_page
from upwell.answers.pager import NextPage
from upwell.page.tree import TagTree
from upwell.source.apply import Reading

__all__ = ["count_on", "next_page_of", "posts_elsewhere"]


def next_page_of(tree: TagTree, reading: Reading, query: str) -> NextPage | None:
    """What to send for the next page of an answer. The records' own links are left out at first: a record may be called "next"."""
    if reading.kind != "multi":
        return None
    record_links = {target for record in reading.records for target in record.links}
    around = {
        row: attributes
        for row, attributes in tree.attributes.items()
        if attributes.get("href") not in record_links or not attributes.get("href")
    }
    following = next_page(replace(tree, attributes=around), query)
    if following is None:  # the pager may have been read as a part of the last record
        following = next_page(tree, query)
        if following is not None and urlsplit(following.url).path != urlsplit(tree.url).path:
            return None
    return following


def posts_elsewhere(step: NextPage, tree: TagTree, interface_url: str) -> bool:
    """Whether a step would be posted to another address than that of the search or of the answer: then it is not sent."""
    paths = [urlsplit(url).path for url in (tree.url, interface_url)]
    return step.method == "POST" and urlsplit(step.url).path not in paths


def count_on(previous_url: str, url: str) -> NextPage | None:
    """The address after two that differ in one number only: many pagers stop at a tenth link although the source goes on.

    >>> count_on("http://h/s?q=a1&page=9", "http://h/s?q=a1&page=10").url
    'http://h/s?q=a1&page=11'
    """
    before, now = re.split(r"(\d+)", previous_url), re.split(r"(\d+)", url)
    different = [i for i, (a, b) in enumerate(zip(before, now, strict=False)) if a != b]
    if len(before) != len(now) or len(different) != 1:
        return None
    at = different[0]
    if not now[at].isdigit() or not before[at].isdigit() or int(now[at]) <= int(before[at]):
        return None
    following = 2 * int(now[at]) - int(before[at])
    return NextPage(url="".join([*now[:at], str(following), *now[at + 1 :]]))
