"""Whatever a page is made of, reading it ends with a value."""

from hypothesis import given
from hypothesis import strategies as st

from upwell.answers import kind as empty
from upwell.answers.argument_roles import learn_roles
from upwell.answers.facets import urls_to_fetch
from upwell.answers.next_page import next_link_url, next_page, request_of
from upwell.answers.totals import read_totals
from upwell.page.tree import read

PIECES = st.one_of(
    st.sampled_from(
        [
            "<a href='http://[bad'>next</a>", "<a href='?q=a&page=2' rel=next>", "<img src='http://[x' alt=Next>", "</a>", "<a href>›</a>",
            "<a href=//>2</a>", "<a href='http://h:x/?p=2'>2</a>", "<form action='http://[y'>", "<button name=p value=2>Next</button>",
            "<input type=submit name=b value=2 disabled>", "<input type=image alt='>' name=>", "<select name=s><option>1", "</form>",
            "<a href=\"javascript:__doPostBack('a','b')\">Next</a>", "<div data-next-url='http://[z' class=load-more>", "<link rel=next href='http://[w'>",
            "<p>1 - 10 of 9999999999999999999999 results", "<p>١ - ٢ of ٣", "<p>0 results", "<h1>Error</h1>", "<base href='http://[v'>", "²", "1.2.3,4",
        ]
    ),
    st.text(max_size=12),
)  # fmt: skip


@given(
    st.lists(PIECES, max_size=12),
    st.text(max_size=6),
    st.sampled_from(["", "http://h/s?q=a", "http://h/a;b=1/c?d=%E4&&=;"]),
)
def test_any_page(pieces: list[str], query: str, url: str) -> None:
    """Broken addresses, half forms, strange numbers."""
    tree = read("".join(pieces), url=url)
    next_link_url(tree, query)
    step = next_page(tree, query)
    if step is not None:
        request_of(step, query)
    read_totals(tree)
    roles = learn_roles([tree, tree], [query, query])
    urls_to_fetch([tree, tree], roles, [query, query])
    empty.judge(empty.learn_empty([(tree, query)] * 3, [(tree, query)]), tree, query)
