"""Facets change with the query as records do: they are told apart by their counts of matches."""

import pytest

from upwell.page.tree import read
from upwell.records.cuts import candidate_cuts, exclude_facet_cuts
from upwell.records.leaves import split_leaves


@pytest.mark.parametrize(("number", "are_records"), [("({year})", True), ("({count})", False)])
def test_a_year_in_brackets_is_no_count(number: str, are_records: bool) -> None:
    """Links of records may add the rank of the record to the query, as links of facets add a value."""
    items = "".join(
        f"<li><a href='/s?q=love&page={n}&id={n}'>Writer {n} {number.format(year=1990 + n, count=3 * n)}</a></li>"
        for n in range(1, 9)
    )
    leaves = split_leaves(read(f"<main><h1>Results</h1><ul>{items}</ul></main>", url="http://h/s?q=love"))
    cuts = [cut for cut in candidate_cuts(leaves) if len(cut) == 8]

    assert cuts
    assert bool(exclude_facet_cuts(leaves, cuts)) is are_records
