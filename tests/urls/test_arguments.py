"""URLs are split into arguments, and equivalent URLs have one canonical form."""

from random import Random
from urllib.parse import urlencode

from hypothesis import given
from hypothesis import strategies as st

from upwell.urls.arguments import canonical, numbers_in_url, split_url

PAIRS = st.lists(
    st.tuples(st.text("abcxyz", min_size=1, max_size=3), st.text("ab ü&;=+%", min_size=1, max_size=4)), max_size=5
)


@given(PAIRS, st.randoms())
def test_order_and_separator_do_not_matter(pairs: list[tuple[str, str]], random: Random) -> None:
    """Arguments in any order, separated by & or ;, have one canonical form; another value gives another form."""
    shuffled = list(pairs)
    random.shuffle(shuffled)
    form = canonical(split_url(f"http://x/s?{urlencode(pairs)}"))
    assert form == canonical(split_url(f"http://x/s?{urlencode(shuffled).replace('&', ';')}"))
    if pairs and pairs[0][1].strip():
        changed = [(pairs[0][0], pairs[0][1] + "z"), *pairs[1:]]
        assert canonical(split_url(f"http://x/s?{urlencode(changed)}")) != form


def test_arguments_are_read_from_every_part_of_a_url() -> None:
    """Query string, matrix parameters, path segments, fragments; repeated and in several encodings."""
    assert split_url("http://x/a;v=1/b?q=1#!/q=gps&p=2").arguments == (("v", "1"), ("q", "1"), ("q", "gps"), ("p", "2"))
    assert split_url("http://x/search/gps/page/2", "gps").arguments == (("/search", "gps"), ("/page", "2"))
    assert split_url("http://x/s?tag=a&tag=b").arguments == (("tag", "a"), ("tag", "b"))
    assert split_url("http://x/s?q=caf%E9").arguments == split_url("http://x/s?q=caf%C3%A9").arguments
    assert split_url("http://[broken/").arguments == ()
    assert canonical(split_url("http://www.x/s/?a=1")) == canonical(split_url("https://x:443/s?a=1&b="))


def test_numbers_are_named_by_their_position() -> None:
    """The page number has the same name on every page of a list."""
    assert numbers_in_url("http://x/p/3").keys() == numbers_in_url("http://x/p/14").keys()
    assert numbers_in_url("http://x/s?start=20&id=1459036800000") == {"start": 20}
