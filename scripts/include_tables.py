"""Put the tables under results/ into the pages that show them: python scripts/include_tables.py [--check]

Between ``<!-- results/<name>/table.md -->`` and ``<!-- end -->`` a page holds that file, and nothing typed by hand.
With --check nothing is written; exit status 1 says that a page is out of date.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ["README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))]
BLOCK = re.compile(r"(<!-- (results/\S+\.md) -->\n).*?(<!-- end -->)", re.DOTALL)


def included(page: str) -> str:
    """The page's text with every block replaced by its file."""
    text = (ROOT / page).read_text()
    return BLOCK.sub(lambda m: f"{m[1]}{(ROOT / m[2]).read_text().strip()}\n{m[3]}", text)


def main() -> int:
    stale = [page for page in PAGES if included(page) != (ROOT / page).read_text()]
    for page in stale:
        if "--check" not in sys.argv[1:]:
            (ROOT / page).write_text(included(page))
        print(f"{page}: {'out of date' if '--check' in sys.argv[1:] else 'written'}")
    return int(bool(stale) and "--check" in sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
