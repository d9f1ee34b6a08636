"""Which links may be followed: those that lead to pages, and never those that act."""

import re
from urllib.parse import urlsplit

__all__ = ["acts", "is_page"]

# Words of links that change something, as they stand in paths, arguments and texts.
ACTION_WORDS = re.compile(
    r"log.?(?:in|out|off)\b|sign.?(?:in|out|off|up)\b|register\b|delete|remove|destroy|\bedit(?!ion|orial)|\bcreate|\bupload|"
    r"unsubscribe|subscribe|add.?to|/add\b|\bcart\b|basket|checkout|\bbuy\b|\border\b|purchase|\bvote|\bpost.?comment|reply|"
    r"\breport.?(?:abuse|spam)|reset|forgot|password|revert|rollback|\bundo|\bpurge|\bblock.?user|\bban\b|\bshare\b|wishlist|"
    r"favou?rite|watch(?:list)?\b|confirm|activate|approve|abmeld|löschen|bearbeiten|warenkorb|déconnexion|supprimer|modifier|"
    r"panier|cerrar|eliminar|borrar|editar|carrito|выйти|удалить|корзин|退出|删除|购物车|注销|ログアウト|削除",
    re.I,
)
MAX_TEXT_CHARS = 60  # of a link's text that are looked at: a longer one is a title
FILE_ENDING = re.compile(
    r"\.(?:csv|tsv|jsonl?|xml|rss|rdf|atom|ics|bib|ris|nt|ttl|txt|pdf|docx?|xlsx?|pptx?|epub|zip|gz|tgz|tar|exe|deb|whl|"
    r"png|jpe?g|gif|svg|webp|ico|css|js|mp[34]|ogg|avi|mov)$",
    re.I,
)


def acts(url: str, text: str = "") -> bool:
    """Whether following a link may do something: log out, delete, edit, buy.

    >>> acts("http://x/trip/add?city=1"), acts("http://x/catalog?id=7&do=edit"), acts("http://x/addresses?edition=2")
    (True, True, False)
    """
    parts = urlsplit(url)
    address = f"{parts.path} {parts.query}".replace("_", " ")
    return bool(ACTION_WORDS.search(address) or ACTION_WORDS.search(text[:MAX_TEXT_CHARS]))


def is_page(url: str) -> bool:
    """Whether an address may lead to a page: not to a file, and not to the same data in a format for machines.

    >>> is_page("http://x/list.php?format=csv"), is_page("http://x/list.CSV?q=1"), is_page("http://x/logo.png")
    (True, False, False)
    """
    return not FILE_ENDING.search(urlsplit(url).path)
