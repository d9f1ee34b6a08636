"""Pages of different sites in one folder are noticed."""

from upwell.answers import mixed
from upwell.page.tree import TagTree, read


def page(site: str, number: int) -> TagTree:
    frame = "".join(f"<li class={site}-part>{site} part {i}" for i in range(8))
    return read(f"<ul>{frame}</ul><p>Home<p>{site} only here {number}")


def test_two_sites() -> None:
    """Each site is a group; a page or two that look like no other are not a site."""
    one, other = [page("ash", i) for i in range(5)], [page("oak", i) for i in range(4)]
    assert mixed.sites([*one, *other]) == [5, 4]
    assert "2 sites (5, 4 pages" in mixed.warning([*one, *other])
    assert mixed.warning([*one, page("error", 0)]) == ""
    assert mixed.warning([]) == ""


def test_hosts_are_said_where_they_are_known() -> None:
    """Addresses say it best."""
    trees = [read("<p>a", url=f"http://{host}/s") for host in ("a.example", "a.example", "b.example")]
    assert "a.example (2), b.example (1)" in mixed.warning(trees)
