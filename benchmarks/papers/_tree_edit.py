"""A tree-edit distance, to measure its cost (Thor §VIII-A)."""

from upwell.page.tree import TagTree

__all__ = ["tree_edit"]


def tree_edit(a: TagTree, b: TagTree) -> int:
    """Return the minimum number of nodes to relabel, or to insert and delete as whole subtrees, that turns a tag tree into another.

    Selkow (1977); Thor's reference, Nierman & Jagadish (2002), adds moves of subtrees at the same order of cost. From the last
    rows to the first, so that no recursion meets deep pages.
    """
    names = {name: i for i, name in enumerate(dict.fromkeys((*a.tags, *b.tags)))}
    tag_a, tag_b = ([names[tree.tags[t]] for t in tree.tag.tolist()] for tree in (a, b))
    size_a, size_b = a.nodes.tolist(), b.nodes.tolist()
    below_a, below_b = ([tree.children(i) for i in range(len(tree))] for tree in (a, b))
    levels_b: dict[int, list[int]] = {}
    for j, depth in enumerate(b.depth.tolist()):
        levels_b.setdefault(depth, []).append(j)
    known: dict[tuple[int, int], int] = {}
    for i in range(len(a) - 1, -1, -1):
        for j in reversed(levels_b.get(int(a.depth[i]), [])):  # only subtrees of one depth are ever compared
            before = [0]
            for y in below_b[j]:
                before.append(before[-1] + size_b[y])
            for x in below_a[i]:
                row = [before[0] + size_a[x]]
                for k, y in enumerate(below_b[j]):
                    row.append(min(before[k] + known[x, y], before[k + 1] + size_a[x], row[k] + size_b[y]))
                before = row
            known[i, j] = before[-1] + (tag_a[i] != tag_b[j])
    return known[0, 0]
