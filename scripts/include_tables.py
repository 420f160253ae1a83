"""Put tables into the pages that show them: python scripts/include_tables.py [--check]

Between ``<!-- results/<name>/table.md -->`` and ``<!-- end -->`` a page holds that file, and nothing typed by hand. So
it is with ``<!-- maps -->``, ``<!-- solvers -->``, ``<!-- kernels -->``, ``<!-- config-keys [PART] -->``,
``<!-- commands -->`` and ``<!-- estimators -->``: tables of what these say of themselves (`scripts/schema_tables.py`).
With --check nothing is written; exit status 1 says that a page is out of date.
"""

import re
import sys
from pathlib import Path

from rffbench.config import catalogue
from rffbench.features import FEATURES, served
from rffbench.kernels import KERNELS, NAMED
from rffbench.plugins.parts import LETTERS, letters_of
from rffbench.solvers import BUILT_IN

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from scripts import schema_tables  # noqa: E402

FOLDERS = ("docs", "docs/board")
PAGES = ["README.md", *(f"{folder}/{path.name}" for folder in FOLDERS for path in sorted((ROOT / folder).glob("*.md")))]
NAMES = r"results/\S+\.md|maps|solvers|kernels|commands|estimators|config-keys(?: \w+)?"
BLOCK = re.compile(rf"(<!-- ({NAMES}) -->\n).*?(<!-- end -->)", re.DOTALL)
SECTION = re.compile(r"^## (.+)\n\n`([\w-]+)`", re.MULTILINE)  # a map's: its title, then its name in configs


def included(page: str) -> str:
    """The page's text with every block replaced by its file, or by its table."""
    text = (ROOT / page).read_text()
    tables = {
        "maps": lambda: maps_table(text), "solvers": solvers_table, "kernels": kernel_table,
        "commands": schema_tables.commands, "estimators": lambda: schema_tables.estimators(text),
    }  # fmt: skip

    def content(name: str) -> str:
        if name.startswith("config-keys"):
            return schema_tables.config_keys(name.partition(" ")[2])
        return tables[name]() if name in tables else (ROOT / name).read_text()

    return BLOCK.sub(lambda m: f"{m[1]}{content(m[2]).strip()}\n{m[3]}", text)


def maps_table(text: str) -> str:
    """The feature maps in rows, each linked to its section in the page ``text``."""
    titles = {name: title for title, name in SECTION.findall(text)}
    rows, letters = [], set()
    for row in catalogue.maps():
        if row["name"] not in FEATURES:
            continue
        title = titles.get(row["name"])
        anchor = re.sub(r"[^\w -]", "", title or "").lower().replace(" ", "-")
        unbiased = {True: "yes", False: "no"}.get(row["unbiased"], row["unbiased"])
        cells = [
            f"[{title}](#{anchor})" if title else row["name"], f"`{row['name']}`", ", ".join(row["kernels"]), unbiased,
            row["fits_on"], row["row_cost"], row["fit_cost"] if row["fit_cost"] != "0" else "",
        ]  # fmt: skip
        rows.append(f"| {' | '.join(cells)} |")
        serves = served(row["name"])
        letters |= set().union(*map(letters_of, (serves.row_cost, serves.fit_sums, serves.fit_cost)))
    head = ["| map | in a config | kernels | unbiased | fits on | cost of a row | cost of the fit |",
            "|---|---|---|:-:|---|---|---|"]  # fmt: skip
    said = ", ".join(f"{letter}: {LETTERS[letter]}" for letter in LETTERS if letter in letters)
    return "\n".join([*head, *rows, "", f"In the costs, {said}."])


def solvers_table() -> str:
    """The solvers in rows."""
    rows = [
        f"| `{row['name']}` | {row['uses']} | {' and '.join(row['tasks'])} | "
        f"{row['needs'] or ('' if row['uses'] in ('features', 'inputs') else 'any')} | "
        f"{'yes' if row['iterative'] else 'no'} |"
        for row in catalogue.learners() if row["name"] in BUILT_IN
    ]  # fmt: skip
    return "\n".join(["| solver | learns on | tasks | kernel needed | iterative |", "|---|---|---|---|:-:|", *rows])


def kernel_table() -> str:
    """A row for each kernel: what its class says."""
    lines = ["| kernel | k(x, x′) | γ | parameters | traits | compiled |", "|---|---|---|---|---|:-:|"]
    for name, kernel in KERNELS.items():
        factor, power = "2" if kernel.sigma_factor == 2 else "", "²" if kernel.power == 2 else ""
        gamma = f"1/({factor}σ{power})" if factor else f"1/σ{power}"
        own = [f"`{key}: {value}`" for key, value in NAMED.defaults(name).items() if key != "lengths"]
        also = "".join(f", `{alias}`" for alias in kernel.aliases)
        cells = [
            f"`{name}`{also}", kernel.formula, gamma if kernel.has_bandwidth else "–", ", ".join(own) or "–",
            ", ".join(kernel.traits()) or "–", "yes" if kernel().compiled_form(1) else "no",
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> int:
    stale = [page for page in PAGES if included(page) != (ROOT / page).read_text()]
    for page in stale:
        if "--check" not in sys.argv[1:]:
            (ROOT / page).write_text(included(page))
        print(f"{page}: {'out of date' if '--check' in sys.argv[1:] else 'written'}")
    return int(bool(stale) and "--check" in sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
