"""What somebody needs who does not use a mouse, reads enlarged, or has the page read out: checks of an open page."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import axe_playwright_python
from playwright.sync_api import Page

GRAVE = frozenset({"serious", "critical"})
MOST_TABS = 150
# 1,400 x 900 at 200 %.
ENLARGED = {"width": 700, "height": 450}


@cache
def _axe() -> str:
    return (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")


def grave_problems(page: Page) -> list[str]:
    """What axe-core finds serious or critical on the page: rule, place and reason."""
    page.evaluate(_axe())
    found: dict[str, Any] = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{violation['id']}: {node['html'][:200]} {_reasons(node)}"
        for violation in found["violations"]
        if violation["impact"] in GRAVE
        for node in violation["nodes"]
    ]


def _reasons(node: dict[str, Any]) -> list[str]:
    return [each["message"] for kind in ("any", "all", "none") for each in node[kind]]


def walk_by_keyboard(page: Page) -> list[str]:
    """Press Tab until the focus leaves the page or comes round; returns what had it, in order.

    Raises AssertionError where the focus is somewhere that nobody sees, or does not get on. In the editor Tab indents,
    so Escape comes before it there, as the page says.
    """
    page.evaluate("document.activeElement?.blur()")
    seen: list[str] = []
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        now: dict[str, Any] = page.evaluate(_FOCUS)
        if now["isNowhere"] or now["number"] < len(set(seen)):
            return seen
        assert now["isVisible"], f"the focus is on something hidden: {now['what']}"
        assert now["what"] not in seen[-1:], f"the focus stays on {now['what']}"
        seen.append(now["what"])
        if now["isEditor"]:
            page.keyboard.press("Escape")
    raise AssertionError(f"{MOST_TABS} times Tab do not lead through the page: {seen}")


# Numbers what gets the focus, so that a second visit is told from a first one.
_FOCUS = """() => {
  let e = document.activeElement;
  while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement;
  if (!e || e === document.body || e === document.documentElement) return {isNowhere: true};
  window.__visited ??= new Map();
  if (!window.__visited.has(e)) window.__visited.set(e, window.__visited.size);
  const number = window.__visited.get(e);
  const name = e.getAttribute("aria-label") || e.title || e.textContent.trim() || e.id;
  const isBig = e.getBoundingClientRect().width > 0 || e.closest("label, [data-testid]") !== null;
  return {number, what: `${number} ${e.tagName.toLowerCase()} ${name.slice(0, 40)}`, isNowhere: false,
          isVisible: isBig && e.checkVisibility({visibilityProperty: true}), isEditor: !!e.closest(".cm-editor")};
}"""


def fits_when_enlarged(page: Page) -> None:
    """Enlarge to 200 % and wait until nothing reaches beyond the page's right edge without being scrollable itself."""
    page.set_viewport_size(ENLARGED)  # type: ignore[arg-type]
    page.wait_for_function(_FITS, timeout=20_000, polling=250)


_FITS = """() => {
  const main = document.querySelector('[data-testid="stMain"]'), width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width || main.scrollWidth > main.clientWidth) return false;
  const scrolls = (e) => getComputedStyle(e).overflowX !== "visible";
  const isShown = (e) => e.checkVisibility({opacityProperty: true, visibilityProperty: true});
  return ![...main.querySelectorAll("*")].some((e) => {
    if (e.getBoundingClientRect().right <= width + 1 || !isShown(e)) return false;
    for (let around = e.parentElement; around !== main; around = around.parentElement) {
      if (scrolls(around)) return false;
    }
    return true;
  });
}"""
