"""Chromium, for tests of pages as a reader has them."""

import shutil

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
NEEDS_CHROMIUM = pytest.mark.skipif(CHROMIUM is None, reason="needs a browser: Debian's package chromium")

# Texts that a reader cannot read whole: cut by the figure or, on paper, by the box that they are in; beyond the page;
# over another text. What can be scrolled to is whole on a screen.
_UNREADABLE = """() => {
  const paper = matchMedia("print").matches, found = [], boxes = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode, place = text.parentElement;
    if (!text.textContent.trim() || place.closest("script, style, noscript, option, .hint, .skip")) continue;
    if (!place.checkVisibility({ checkVisibilityCSS: true })) continue;
    const scroll = place.closest(".scroll, figure, .picture, pre")?.getBoundingClientRect();
    const figure = place.closest("svg")?.getBoundingClientRect();
    const range = document.createRange();
    range.selectNodeContents(text);
    for (const box of range.getClientRects()) {
      const inside = (other) => box.left >= other.left - 1 && box.right <= other.right + 1;
      const said = text.textContent.trim();
      if (figure && !inside(figure)) found.push(`cut by its figure: ${said}`);
      if (scroll && paper && !inside(scroll)) found.push(`cut on paper: ${said}`);
      if (!scroll && (box.left < -1 || box.right > innerWidth + 1)) found.push(`beyond the page: ${said}`);
      const isShown = !scroll || (inside(scroll) && box.top >= scroll.top && box.bottom <= scroll.bottom);
      if (isShown) boxes.push({ box, place, said });
    }
  }
  boxes.sort((one, other) => one.box.top - other.box.top);
  for (const [number, one] of boxes.entries())
    for (const other of boxes.slice(number + 1)) {
      if (other.box.top > one.box.bottom - 3) break;
      if (one.place.contains(other.place) || other.place.contains(one.place)) continue;
      const across = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left);
      if (across > 2 && other.box.bottom > one.box.top + 3) found.push(`over each other: ${one.said} | ${other.said}`);
    }
  return [...new Set(found)];
}"""


def unreadable(page):
    """The texts of a page that are cut, beyond it, or over another text, in words."""
    return page.evaluate(_UNREADABLE)
