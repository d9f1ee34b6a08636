"""Arguments of links to records that say nothing about the record are found, so that a record has one address."""

from upwell.answers.argument_roles import not_identifying
from upwell.page.tree import TagTree, read


def answer(url: str, following: str = "") -> TagTree:
    return read(f'<p>Matches</p><a href="{following}">Next</a>' if following else "<p>Matches</p>", url=url)


def test_session_query_and_page_do_not_identify_a_record() -> None:
    """A value that all records of an answer share is no part of the address: another in other answers, the query, or the pager's."""
    answers = [
        (answer("http://x/s?q=oak", "/s?q=oak&start=10"), ["http://x/r?id=1&sid=a&hl=oak", "http://x/r?id=2&sid=a&hl=oak"], "oak"),
        (answer("http://x/s?q=elm"), ["http://x/r?id=1&sid=b&hl=elm", "http://x/r?id=3&sid=b&hl=elm"], "elm"),
    ]  # fmt: skip
    assert not_identifying(answers) == ("hl", "sid", "start")


def test_what_all_answers_share_stays() -> None:
    """A constant may choose what the page shows (`lang=en`), and an argument of the records themselves is no pager's."""
    answers = [
        (answer("http://x/s?q=oak", "/s?q=oak&id=2"), ["http://x/r?id=1&lang=en", "http://x/r?id=2&lang=en"], "oak"),
        (answer("http://x/s?q=elm"), ["http://x/r?id=3&lang=en"], "elm"),
    ]
    assert not_identifying(answers) == ()


def test_ranks_do_not_identify_a_record() -> None:
    """The place in the answer, which begins with the same number for each query, goes; numbers of records, which do not, stay."""
    answers = [
        (answer("http://x/s?q=oak"), [f"http://x/s?all=oak&page={1 + i}&page-len=1&id={i + 7}" for i in range(4)], "oak"),
        (answer("http://x/s?q=elm"), [f"http://x/s?all=elm&page={1 + i}&page-len=1&id={i + 5}" for i in range(3)], "elm"),
    ]  # fmt: skip
    assert not_identifying(answers) == ("all", "page")
