"""Naive tree walk: the reference for the columns of a page (also used by the quality gate)."""

from collections.abc import Iterator
from dataclasses import dataclass

from selectolax.lexbor import LexborHTMLParser, LexborNode

from upwell.page.path_signatures import UNSEEN
from upwell.page.tree import TagTree
from upwell.page.visibility import StyleRules, style_rules


@dataclass
class Node:
    """One element with all values that the columns contain for it."""

    name: str
    depth: int
    parent: int
    size: int
    fanout: int
    path: str
    words: list[str]
    attributes: dict[str, str | None]


def walk(html: str) -> list[Node]:
    """Return all elements of a page in document order, each computed independently; texts hidden by style sheets are left out, unless that
    is most of the text.
    """
    bare = _walk(html, None)
    sheets = LexborHTMLParser(html.encode("utf-8", "replace")).css("style")
    rules = style_rules((sheet.text(deep=True), sheet.attributes.get("media")) for sheet in sheets)
    styled = _walk(html, rules) if rules else bare
    shown, all_of_it = (sum(map(len, nodes[0].words)) for nodes in (styled, bare))
    return styled if 2 * shown >= all_of_it else bare


def _walk(html: str, rules: StyleRules | None) -> list[Node]:
    root = LexborHTMLParser(html.encode("utf-8", "replace")).root
    assert root is not None
    nodes: list[Node] = []
    stack = [(root, 0, -1, "", False)]
    while stack:
        node, depth, parent, above, hidden = stack.pop()
        kids = [kid for kid in children(node) if kid.is_element_node and kid.tag]
        hidden = hidden or is_hidden(node, rules)
        same = 1
        before = node.prev
        while before is not None:
            same += before.is_element_node and before.tag == node.tag
            before = before.prev
        name = node.tag or ""
        path = f"{above}/{name}[{same if parent >= 0 else 1}]"
        mine = Node(name, depth, parent, 0, len(kids), path, [], dict(node.attributes))
        row = len(nodes)
        nodes.append(mine)
        stack.extend((kid, depth + 1, row, path, hidden) for kid in reversed(kids))
        mine.words = [] if hidden else visible_words(node, rules)
    for row in range(len(nodes) - 1, -1, -1):
        nodes[row].size += 1
        if row:
            nodes[nodes[row].parent].size += nodes[row].size
    return nodes


def children(node: LexborNode) -> Iterator[LexborNode]:
    child = node.first_child
    while child is not None:
        yield child
        child = child.next


def is_hidden(node: LexborNode, rules: StyleRules | None = None) -> bool:
    found = node.attributes
    if rules and "display" not in (found.get("style") or "") and rules.hide(node.tag or "", found):
        return True
    style = (found.get("style") or "").replace(" ", "").lower()
    return (
        node.tag in UNSEEN
        or "hidden" in found
        or "display:none" in style
        or "visibility:hidden" in style
        or (node.tag == "dialog" and "open" not in found)
    )


def visible_words(node: LexborNode, rules: StyleRules | None = None) -> list[str]:
    """Return the words of a visible element, in document order."""
    words: list[str] = []
    stack = [node]
    while stack:
        here = stack.pop()
        if here.is_text_node:
            words.extend((here.text_content or "").split())
        elif here is node or not is_hidden(here, rules):
            stack.extend(reversed(list(children(here))))
    return words


def differences(tree: TagTree, html: str) -> list[str]:
    """Return the differences between the columns and the naive walk; empty if there are none."""
    nodes = walk(html)
    wrong: list[str] = []
    if len(nodes) != len(tree):
        return [f"{len(tree)} rows, {len(nodes)} elements"]
    for row, node in enumerate(nodes):
        first, last = int(tree.text_at[row]), int(tree.text_end[row])
        claims = {
            "name": (tree.name(row), node.name),
            "depth": (int(tree.depth[row]), node.depth),
            "parent": (int(tree.parent[row]), node.parent),
            "size": (int(tree.nodes[row]), node.size),
            "fanout": (int(tree.fanout[row]), node.fanout),
            "path": (tree.path(row), node.path),
            "words": ([w for chunk in tree.chunks[first:last] for w in chunk.split()], node.words),
            "attributes": (dict(tree.attributes.get(row, {})), node.attributes),
        }
        wrong.extend(f"row {row} {what}: {a!r} is not {b!r}" for what, (a, b) in claims.items() if a != b)
    return wrong
