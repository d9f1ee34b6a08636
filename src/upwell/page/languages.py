"""The language of a page: what it says of itself, unless its text is written in a script that this language is not written in."""

from collections import Counter

from upwell.lazy import late_pattern
from upwell.page.terms import stop_words_of, tokens
from upwell.page.tree import TagTree

__all__ = ["is_latin", "language_of"]

SAMPLE_CHARS = 20_000  # of a page that are looked at
MIN_STOP_WORDS = 5  # that a page without a declaration has of the language that it is taken to be in; not swept
KANA_SHARE = 0.1  # of kana and Han in a text that is Japanese; not swept
# The characters of each script, how much one says beside a letter, and its languages, the one with the most readers first.
SCRIPTS = {
    "Latin": ("a-zA-Z\u00c0-\u024f\u1e00-\u1eff", 1, (
        "en", "es", "de", "fr", "pt", "it", "pl", "nl", "tr", "vi", "id", "sv", "cs", "ro", "hu", "fi", "da", "nb", "sk", "ca",
    )),
    "Cyrillic": ("\u0400-\u052f", 1, ("ru", "uk", "bg")),
    "Greek": ("\u0370-\u03ff\u1f00-\u1fff", 1, ("el",)),
    "Hebrew": ("\u0590-\u05ff", 1, ("he",)),
    "Arabic": ("\u0600-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufeff", 1, ("ar", "fa", "ur")),
    "Devanagari": ("\u0900-\u097f", 1, ("hi",)),
    "Bengali": ("\u0980-\u09ff", 1, ("bn",)),
    "Tamil": ("\u0b80-\u0bff", 1, ("ta",)),
    "Thai": ("\u0e00-\u0e7f", 1, ("th",)),
    "Lao": ("\u0e80-\u0eff", 1, ("lo",)),
    "Burmese": ("\u1000-\u109f", 1, ("my",)),
    "Khmer": ("\u1780-\u17ff", 1, ("km",)),
    "Georgian": ("\u10a0-\u10ff", 1, ("ka",)),
    "Armenian": ("\u0530-\u058f", 1, ("hy",)),
    "Hangul": ("\uac00-\ud7af", 2, ("ko",)),
    "Kana": ("\u3040-\u30ff", 2, ("ja",)),
    "Han": ("\u3400-\u4dbf\u4e00-\u9fff", 3, ("zh",)),
}  # fmt: skip
PATTERNS = {script: late_pattern(f"[{characters}]+") for script, (characters, _, _) in SCRIPTS.items()}
# Languages of the table's scripts that are told by no stop words.
OTHERS = {
    "Cyrillic": ("be", "sr", "mk", "kk", "ky", "tg", "mn"), "Devanagari": ("mr", "ne", "sa"), "Bengali": ("as",),
    "Hebrew": ("yi",), "Arabic": ("ps", "sd", "ug"), "Han": ("ja", "yue"), "Kana": (),
}  # fmt: skip
SCRIPT_OF = {
    language: script for script, (_, _, known) in SCRIPTS.items() for language in (*known, *OTHERS.get(script, ()))
}


def language_of(tree: TagTree) -> str:
    """The language of a page, as a primary subtag; English where nothing tells.

    A template's `lang="en"` is often left on pages in another language.
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
    said = {one: sum(counts[word] for word in stop_words_of(one)) for one in languages}
    likeliest = max(languages, key=lambda one: said[one])
    return likeliest if said[likeliest] >= MIN_STOP_WORDS else languages[0]


def is_latin(language: str) -> bool:
    """Whether a language is written in Latin letters, as far as is known here."""
    return SCRIPT_OF.get(language, "Latin") == "Latin"
