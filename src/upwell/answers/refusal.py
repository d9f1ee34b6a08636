"""Recognising an answer that is no answer: forbidden, a captcha, a login wall, "too many requests" at status 200."""

import re

from upwell.model import Response

__all__ = ["refusal"]

BODY = 40_000  # bytes; a refusal is a small page, and a large one is not searched
TEXT = 1_500  # characters of visible text: a refusal says little else, a normal page with a captcha in its contact form does
CAPTCHA = re.compile(
    rb"g-recaptcha|h-captcha|hcaptcha\.com|cf-challenge|cf-turnstile|challenge-platform|px-captcha|"
    rb"are you (?:a )?(?:human|robot)|not a robot|verify (?:that )?you are (?:a )?human|unusual traffic|type the characters you see|captcha",
    re.I,
)
TOO_MANY = re.compile(
    rb"too many requests|rate limit(?:ed)? exceeded|exceeded (?:the|your) (?:rate|request|query|download) limit|"
    rb"temporarily (?:blocked|banned)|(?:your )?ip(?: address)? (?:has been|is|was) (?:temporarily )?(?:blocked|banned)|slow down",
    re.I,
)
DENIED = re.compile(
    rb"<(?:title|h1|h2)[^>]*>\s*(?:error:? )?(?:403|access denied|forbidden|request blocked|blocked)\b", re.I
)
WALL = re.compile(
    rb"(?:please|must|need to|have to|required to|to continue,?)\s+(?:first\s+|be\s+)?(?:sign(?:ed)?|log(?:ged)?)[ -]?(?:in|on)|"
    rb"(?:members|subscribers) only|bitte (?:melden sie sich|einloggen)|veuillez vous (?:connecter|identifier)|inicie sesi|"
    rb"(?:login|sign-?in) required",
    re.I,
)
PASSWORD = re.compile(rb"<input[^>]+type\s*=\s*[\"']?password", re.I)
UNSEEN = re.compile(rb"<(script|style|noscript)\b.*?</\1\s*>|<[^>]*>|\s+", re.I | re.S)


def refusal(response: Response) -> str:
    """Why an answer is a refusal, in a few words; empty where it is an answer.

    It reads the page, so it is asked by who uses the answer, not by the fetcher, which knows the status only.
    """
    body = response.body
    if response.blocked or response.status in (401, 402, 403, 407, 429, 451):
        return response.blocked or f"status {response.status}"
    if len(body) > BODY:
        return ""
    signs = [
        (said, found)
        for said, found in (
            ("captcha", CAPTCHA.search(body)),
            ("too many requests", TOO_MANY.search(body)),
            ("access denied", DENIED.search(body)),
            ("login wall", WALL.search(body) if PASSWORD.search(body) else None),
        )
        if found
    ]
    if not signs or len(UNSEEN.sub(b" ", body)) > TEXT:
        return ""
    return signs[0][0]
