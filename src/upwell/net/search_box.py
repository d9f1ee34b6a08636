"""Where a person would type a query: the search box of a page, and what opens one that is not shown yet.

Nothing else is pressed: a button or icon that speaks of searching, whose label does not act, or the keys that open a search by custom.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.async_api import ElementHandle, Page

__all__ = ["FORM_OF_BOX", "clear_box", "find_box", "focus_box", "is_in_page", "open_box"]

MAX_PRESSED = 3  # openers that are tried
SHORTCUTS = ("/", "Control+k")  # that open a search by custom
CLICK_MILLISECONDS = 2000  # to wait for a box or a button to be clickable
SEARCH_WORDS = "/search|find|such|recherch|cherch|busca|cerca|ricerca|pesquis|zoek|szuk|hled|magnif|loupe|lupe|поиск|найти|検索|검색|搜索|搜尋|查询/i"
# Elements of the page and of what its components hide.
DEEP = """const deep = (root, what) => [...root.querySelectorAll(what),
    ...[...root.querySelectorAll('*')].filter(part => part.shadowRoot).flatMap(part => deep(part.shadowRoot, what))];"""
# The visible box that a person would type a query into; never an e-mail field, and none in a form with a password or a text area.
FIND_BOX = f"""() => {{
  {DEEP}
  const searchWords = {SEARCH_WORDS};
  let best = null, bestScore = 0;
  for (const box of deep(document, 'input:not([type]), input[type=text], input[type=search], [role=searchbox], [role=combobox]')) {{
    const area = box.getBoundingClientRect();
    if (box.disabled || box.readOnly || !area.width || !area.height || (box.form && box.form.querySelector('[type=password], textarea'))) continue;
    if (!box.matches('input') && !box.isContentEditable) continue;
    const words = [box.name, box.id, box.placeholder, box.title, box.getAttribute('aria-label'), box.className, box.form && box.form.className,
      box.form && box.form.getAttribute('action'), box.form && box.form.innerText].join(' ').replace(/research(?!e)/gi, '');
    const score = (box.type === 'search' || box.getAttribute('role') === 'searchbox' ? 3 : 0) + (searchWords.test(words) ? 3 : 0)
      + (/^(q|s|query|term|keywords?)$/i.test(box.name) ? 2 : 0) - (/mail|newsletter|subscri|donat/i.test(words) ? 9 : 0);
    if (score > bestScore) {{ best = box; bestScore = score; }}
  }}
  return best;
}}"""
# What may open a search box, the likeliest first: it speaks of searching, leads to no other page and sends no form.
FIND_OPENERS = f"""() => {{
  {DEEP}
  const searchWords = {SEARCH_WORDS}, found = [], seen = new Set();
  for (let part of deep(document, 'button, [role=button], summary, label, a, [onclick], [class*=search i], [id*=search i], span, div, li')) {{
    const isPlain = part.matches('span, div, li') && !part.matches('[role=button], [onclick], [class*=search i], [id*=search i]');
    if (isPlain && (part.children.length > 1 || part.innerText.length > 20 || !searchWords.test(part.innerText))) continue;
    if (part.parentElement && !part.getBoundingClientRect().width) part = part.parentElement;  // an icon without its font
    if (seen.has(part)) continue;
    seen.add(part);
    const area = part.getBoundingClientRect(), link = part.closest('a[href]');
    if (part.disabled || !area.width || !area.height || part.innerText.length > 60 || part.matches('form, input, body, html')) continue;
    if (link && !/^(#|javascript:)/i.test(link.getAttribute('href'))) continue;
    const control = part.closest('button, input');
    if (control && control.form && control.type !== 'button') continue;
    const own = [part.getAttribute('aria-label'), part.title, part.innerText].join(' ');
    const marks = [part.id, part.className, ...[...part.querySelectorAll('svg, use, i, img, span')].map(inner =>
      [inner.getAttribute('class'), inner.getAttribute('href'), inner.getAttribute('alt'), inner.getAttribute('aria-label')].join(' '))].join(' ');
    const isPressed = part.matches('button, [role=button], summary, label, a, [onclick]');
    const score = (searchWords.test(own) ? 2 : 0) + (searchWords.test(marks) ? 1 : 0) + (isPressed ? 1 : 0) - (/reset|clear|close/i.test(own + marks) ? 2 : 0);
    if (score > (isPressed ? 1 : 0)) found.push([score, part]);
  }}
  return found.sort((a, b) => b[0] - a[0]).slice(0, {MAX_PRESSED}).map(pair => pair[1]);
}}"""
LABEL = "part => [part.innerText, part.title, part.getAttribute('aria-label'), part.value].filter(Boolean).join(' ')"
FORM_OF_BOX = "box => box.form ? Array.from(document.forms).indexOf(box.form) : -1"


async def find_box(page: "Page") -> "ElementHandle | None":
    """The search box that the page shows."""
    return (await page.evaluate_handle(FIND_BOX)).as_element()


async def open_box(
    page: "Page", may_press: Callable[[str], bool], settle: Callable[[], Awaitable[None]]
) -> "ElementHandle | None":
    """The search box, after what opens it was pressed where it is not shown yet."""
    from playwright.async_api import Error

    if (box := await find_box(page)) is not None:
        return box
    openers = await page.evaluate_handle(FIND_OPENERS)
    for handle in (await openers.get_properties()).values():
        opener = handle.as_element()
        if opener is None:
            continue
        try:
            if not may_press(str(await opener.evaluate(LABEL))):
                continue
            await _click(opener)
        except Error:  # it went away with what was pressed before
            continue
        await settle()
        if (box := await find_box(page)) is not None:
            return box
    for keys in SHORTCUTS:
        await page.keyboard.press(keys)
        await settle()
        if (box := await find_box(page)) is not None:
            return box
    return None


async def focus_box(box: "ElementHandle") -> None:
    """Puts the cursor into a box, whatever lies over it."""
    await _click(box)
    await box.focus()


async def _click(part: "ElementHandle") -> None:
    from playwright.async_api import Error

    try:
        await part.click(timeout=CLICK_MILLISECONDS)
    except Error:
        await part.evaluate("part => part.click && part.click()")


async def clear_box(box: "ElementHandle") -> None:
    """Takes out what was typed, as a person does."""
    if not await box.evaluate("box => box.value || box.textContent"):
        return
    await box.focus()
    await box.press("Control+a")
    await box.press("Delete")


async def is_in_page(element: "ElementHandle") -> bool:
    """Whether an element is still part of the page."""
    return bool(await element.evaluate("element => element.isConnected"))
