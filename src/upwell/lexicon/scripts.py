"""Scripts and the languages written in them: character ranges, and which scripts are written without spaces."""

from upwell.lazy import late_pattern

__all__ = ["CJK_RUN", "PATTERNS", "SCRIPTS", "SCRIPT_OF", "is_latin", "is_unspaced"]

# Han, kana and hangul: written without spaces, or with spaces that do not part words (Wisdom §3.1; our departure: bigrams).
CJK = "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
CJK_RUN = late_pattern(f"[{CJK}]+")
UNSPACED = CJK + "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # and Thai, Lao, Burmese, Khmer
UNSPACED_RUN = late_pattern(f"[{UNSPACED}]+")
# For each script: its characters, the weight of a character relative to a Latin letter, and its languages, most readers first.
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
# Further languages of these scripts, for which there is no stop-word list.
OTHERS = {
    "Cyrillic": ("be", "sr", "mk", "kk", "ky", "tg", "mn"), "Devanagari": ("mr", "ne", "sa"), "Bengali": ("as",),
    "Hebrew": ("yi",), "Arabic": ("ps", "sd", "ug"), "Han": ("ja", "yue"), "Kana": (),
}  # fmt: skip
SCRIPT_OF = {
    language: script for script, (_, _, known) in SCRIPTS.items() for language in (*known, *OTHERS.get(script, ()))
}


def is_latin(language: str) -> bool:
    """Return True if a language is written in Latin letters, as far as is known here."""
    return SCRIPT_OF.get(language, "Latin") == "Latin"


def is_unspaced(word: str) -> bool:
    """Return True if a word contains characters of a script without spaces."""
    return not word.isascii() and UNSPACED_RUN.search(word) is not None
