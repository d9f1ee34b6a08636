"""The word lists are valid: languages as keys, and entries that are regular expressions or words."""

import re
import tomllib
from importlib import resources

import pytest

from upwell.lexicon.vocabulary import alternatives

FILES = sorted(path.name for path in resources.files("upwell.lexicon").iterdir() if path.name.endswith(".toml"))


@pytest.mark.parametrize("name", FILES)
def test_entries_match_a_text_and_not_the_empty_text(name: str) -> None:
    """An empty alternative would match every page."""
    entries = tomllib.loads(resources.files("upwell.lexicon").joinpath(name).read_text(encoding="utf-8"))
    assert all(re.fullmatch("[a-z]{2}|symbol", language) for language in entries)
    for words in entries.values():
        assert words
        assert all(re.fullmatch(word, "") is None for word in words)
    assert re.fullmatch(alternatives(name.removesuffix(".toml")), "") is None
