"""Pages of broken URLs, incomplete forms and odd numbers, for property tests."""

from hypothesis import strategies as st

from upwell.page.tree import TagTree, read

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
URLS = st.sampled_from(["", "http://h/s?q=a", "http://h/a;b=1/c?d=%E4&&=;"])
QUERIES = st.text(max_size=6)


@st.composite
def malformed_pages(draw: st.DrawFn) -> TagTree:
    """Draw a page."""
    return read("".join(draw(st.lists(PIECES, max_size=12))), url=draw(URLS))
