"""Determine the language of a page: the declared one, unless the text is in a script that the language is not written in."""

from collections import Counter

from upwell.lexicon.scripts import PATTERNS, SCRIPT_OF, SCRIPTS
from upwell.page.tokens import stop_words_of, tokens
from upwell.page.tree import TagTree

__all__ = ["language_of"]

SAMPLE_CHARS = 20_000  # characters of a page that are examined
MIN_STOP_WORDS = 5  # stop words of a language needed to assign it to a page without a declaration; not swept
KANA_SHARE = 0.1  # share of kana among kana and Han characters above which a text is Japanese; not swept


def language_of(tree: TagTree) -> str:
    """Return the language of a page as a primary subtag; English if there is no evidence.

    The declaration is not always right: a template's `lang="en"` often remains on pages in another language.
    """
    text = "\n".join(tree.chunks)[:SAMPLE_CHARS]
    if text.isascii() and tree.language:
        return tree.language
    sizes = {script: SCRIPTS[script][1] * sum(map(len, PATTERNS[script].findall(text))) for script in SCRIPTS}
    if sizes["Kana"] > KANA_SHARE * (sizes["Kana"] + sizes["Han"]):
        sizes["Kana"] += sizes.pop("Han")
    script = max(sizes, key=lambda name: sizes[name])
    if tree.language and (
        script == "Latin" or SCRIPT_OF.get(tree.language, "Latin") == script or tree.language == "ja"
    ):
        return tree.language
    counts = Counter(tokens(text))
    languages = SCRIPTS[script][2]
    stop_word_counts = {language: sum(counts[word] for word in stop_words_of(language)) for language in languages}
    likeliest = max(languages, key=lambda language: stop_word_counts[language])
    return likeliest if stop_word_counts[likeliest] >= MIN_STOP_WORDS else languages[0]
