"""Pages of different sites in one folder are noticed."""

from upwell.offline.extract import count_sites, mixed_sites_warning
from upwell.page.tree import TagTree, read


def page(site: str, number: int) -> TagTree:
    frame = "".join(f"<li class={site}-part>{site} part {i}" for i in range(8))
    return read(f"<ul>{frame}</ul><p>Home<p>{site} only here {number}")


def test_two_sites_are_two_groups() -> None:
    """A single page that is unlike all others is not a site."""
    one, other = [page("ash", i) for i in range(5)], [page("oak", i) for i in range(4)]
    assert count_sites([*one, *other]) == [5, 4]
    assert "2 sites (5, 4 pages" in mixed_sites_warning([*one, *other])
    assert mixed_sites_warning([*one, page("error", 0)]) == ""
    assert mixed_sites_warning([]) == ""


def test_hosts_of_known_urls_determine_the_groups() -> None:
    """Rather than the appearance of the pages."""
    trees = [read("<p>a", url=f"http://{host}/s") for host in ("a.example", "a.example", "b.example")]
    assert "a.example (2), b.example (1)" in mixed_sites_warning(trees)
