"""Arguments of record links that do not identify the record are recognised, so that a record has one URL."""

from upwell.answers.argument_roles import non_identifying_arguments
from upwell.page.tree import TagTree, read


def answer(url: str, following: str = "") -> TagTree:
    return read(f'<p>Matches</p><a href="{following}">Next</a>' if following else "<p>Matches</p>", url=url)


def test_session_query_and_page_do_not_identify_a_record() -> None:
    """A value that all records of an answer share does not identify them if it differs between answers, is the query, or is the page."""
    answers = [
        (answer("http://x/s?q=oak", "/s?q=oak&start=10"), ["http://x/r?id=1&sid=a&hl=oak", "http://x/r?id=2&sid=a&hl=oak"], "oak"),
        (answer("http://x/s?q=elm"), ["http://x/r?id=1&sid=b&hl=elm", "http://x/r?id=3&sid=b&hl=elm"], "elm"),
    ]  # fmt: skip
    assert non_identifying_arguments(answers) == ("hl", "sid", "start")


def test_constants_and_arguments_of_records_are_kept() -> None:
    """A constant may select the content (`lang=en`), and an argument that records have is not only that of the pager."""
    answers = [
        (answer("http://x/s?q=oak", "/s?q=oak&id=2"), ["http://x/r?id=1&lang=en", "http://x/r?id=2&lang=en"], "oak"),
        (answer("http://x/s?q=elm"), ["http://x/r?id=3&lang=en"], "elm"),
    ]
    assert non_identifying_arguments(answers) == ()


def test_ranks_do_not_identify_a_record() -> None:
    """Ranks begin with the same number on every answer; identifiers do not."""
    answers = [
        (answer("http://x/s?q=oak"), [f"http://x/s?all=oak&page={1 + i}&page-len=1&id={i + 7}" for i in range(4)], "oak"),
        (answer("http://x/s?q=elm"), [f"http://x/s?all=elm&page={1 + i}&page-len=1&id={i + 5}" for i in range(3)], "elm"),
    ]  # fmt: skip
    assert non_identifying_arguments(answers) == ("all", "page")
