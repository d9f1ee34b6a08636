"""Detection of pages of different sites in one folder."""

from upwell.offline.extract import count_sites, mixed_sites_warning
from upwell.page.tree import TagTree, read


def page(site: str, number: int) -> TagTree:
    frame = "".join(f"<li class={site}-part>{site} part {i}" for i in range(8))
    return read(f"<ul>{frame}</ul><p>Home<p>{site} only here {number}")


def test_two_sites() -> None:
    """Each site is a group; a single unusual page is not a site."""
    one, other = [page("ash", i) for i in range(5)], [page("oak", i) for i in range(4)]
    assert count_sites([*one, *other]) == [5, 4]
    assert "2 sites (5, 4 pages" in mixed_sites_warning([*one, *other])
    assert mixed_sites_warning([*one, page("error", 0)]) == ""
    assert mixed_sites_warning([]) == ""


def test_hosts_are_named_if_urls_are_known() -> None:
    """Hosts of URLs take precedence over the structure of the pages."""
    trees = [read("<p>a", url=f"http://{host}/s") for host in ("a.example", "a.example", "b.example")]
    assert "a.example (2), b.example (1)" in mixed_sites_warning(trees)
