"""The language of a page is determined from its text."""

import pytest

from upwell.page.language import language_of
from upwell.page.tree import read


@pytest.mark.parametrize(
    ("declared", "text", "language"),
    [
        ("", "Поиск по каталогу: что и как мы нашли, и что не было найдено", "ru"),
        ("en", "Пошук: що ми знайшли, і як це було, та про що є цей сайт", "uk"),
        ("en", "図書館の蔵書を検索できます", "ja"),
        ("", "图书馆馆藏检索系统", "zh"),
        ("zh", "图书馆 library of the city and the people", "zh"),
        ("", "도서관 자료 검색", "ko"),
        ("en", "البحث في فهرس المكتبة", "ar"),
        ("", "ค้นหาหนังสือในห้องสมุด", "th"),
        ("", "Αναζήτηση στον κατάλογο", "el"),
        ("", "पुस्तकालय में खोज", "hi"),
        ("", "Die Suche ist nicht so einfach, wie das für alle und mit der Zeit war", "de"),
        ("de", "Search", "de"),
        ("", "", "en"),
    ],
)
def test_a_page_is_in_the_language_of_its_text(declared: str, text: str, language: str) -> None:
    """Many sites declare no language, or that of the author of their template."""
    lang = f" lang={declared}" if declared else ""
    assert language_of(read(f"<html{lang}><p>{text}")) == language
