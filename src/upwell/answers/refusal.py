"""Recognises a refusal that comes with status 200: a captcha, "too many requests", "access denied", a login wall."""

import re

from upwell.answers import phrases
from upwell.model import Response
from upwell.page.tree import TagTree

__all__ = ["refusal"]

MAX_BODY_BYTES = 40_000  # a refusal is a small page; a larger one is not searched
MAX_TEXT_BYTES = (
    1_500  # a refusal has little visible text beside; a normal page with a captcha in its contact form has more
)
MAX_PLAIN_BYTES = 300  # the same of a text without markup: it is nothing but text, and a record may speak of refusals
REFUSED_STATUS = frozenset((401, 402, 403, 407, 429, 451))
CHALLENGE_MARKUP = re.compile(rb"cf-challenge|cf-turnstile|challenge-platform", re.I)
ROBOT_CHECK = phrases.in_bytes(phrases.ROBOT_CHECK)
TOO_MANY_REQUESTS = phrases.in_bytes(phrases.TOO_MANY_REQUESTS)
DENIED_HEADING = re.compile(
    rb"<(?:title|h1|h2)[^>]*>\s*(?:error:? )?(?:403|forbidden|blocked|%s)\b" % phrases.ACCESS_DENIED.pattern.encode(),
    re.I,
)
LOGIN_WALL = phrases.in_bytes(phrases.LOGIN_WALL)
PASSWORD_FIELD = re.compile(rb"<input[^>]+type\s*=\s*[\"']?password", re.I)
NOT_VISIBLE = re.compile(rb"<(script|style|noscript)\b.*?</\1\s*>|<[^>]*>|\s+", re.I | re.S)


def refusal(response: Response, tree: TagTree | None = None) -> str:
    """Why an answer is a refusal, in a few words; "" where it is an answer.

    The fetcher knows only the status; the text of a page is looked at here, by the code that uses the answer. Where it has been read
    (`tree`), it is searched only if it says little.
    """
    body = response.body
    if response.blocked or response.status in REFUSED_STATUS:
        return response.blocked or f"status {response.status}"
    if len(body) > MAX_BODY_BYTES or (tree is not None and sum(map(len, tree.chunks)) > MAX_TEXT_BYTES):
        return ""
    reason = _reason(body)
    is_plain = response.headers.get("Content-Type", "").startswith("text/plain")
    longest = MAX_PLAIN_BYTES if is_plain else MAX_TEXT_BYTES
    return reason if reason and len(NOT_VISIBLE.sub(b" ", body)) <= longest else ""


def _reason(body: bytes) -> str:
    if CHALLENGE_MARKUP.search(body) or ROBOT_CHECK.search(body):
        return "captcha"
    if TOO_MANY_REQUESTS.search(body):
        return "too many requests"
    if DENIED_HEADING.search(body):
        return "access denied"
    return "login wall" if PASSWORD_FIELD.search(body) and LOGIN_WALL.search(body) else ""
