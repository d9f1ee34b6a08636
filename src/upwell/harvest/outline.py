"""An answer as plain texts with the records marked: what the report shows of how an answer was read."""

from upwell.page.tree import TagTree
from upwell.source.apply import Reading

__all__ = ["outline"]

MAX_TEXTS = 150
MAX_TEXT_LENGTH = 200


def outline(tree: TagTree, reading: Reading) -> list[tuple[str, str]]:
    """The first texts of an answer, each with the path of the record that holds it, or ""."""
    records = {}
    for record in reading.records:
        row = tree.row_at(record.path)
        if row is not None:
            records[row] = (int(tree.end[row]), record.path)
    texts, current = [], (0, "")
    for text, row in zip(tree.chunks, tree.chunk_row.tolist(), strict=True):
        for above in (row, *tree.ancestors(row)):
            if above in records:
                current = records[above]
                break
        texts.append((text[:MAX_TEXT_LENGTH], current[1] if row < current[0] else ""))
    return texts[:MAX_TEXTS]
