"""The steps of a release: python scripts/release.py VERSION

In a clean checkout it writes the version into the package and CITATION.cff, dates the changelog's [Unreleased] part,
runs all checks (.ci/run), builds the sdist and the wheel into dist/, and commits and tags. Pushing the commit and the
tag, and uploading dist/, are left to you: the commands are printed. Where a check fails, `git checkout .` undoes the
edits.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSION = re.compile(r"\d+\.\d+\.\d+((a|b|rc)\d+)?")
UNRELEASED = "## [Unreleased]\n"


def main() -> int:
    if len(sys.argv) != 2 or not VERSION.fullmatch(sys.argv[1]):
        raise SystemExit(__doc__)
    version, today = sys.argv[1], datetime.now(UTC).date().isoformat()
    if said("git", "status", "--porcelain"):
        raise SystemExit("the checkout has changes: commit them first")
    if said("git", "tag", "--list", f"v{version}"):
        raise SystemExit(f"there is a tag v{version} already")
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in EDITS}
    for name, text in {name: EDITS[name](text, version, today) for name, text in texts.items()}.items():
        (ROOT / name).write_text(text, encoding="utf-8")
    subprocess.run([".ci/run"], cwd=ROOT, check=True)
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    subprocess.run([sys.executable, "-m", "build"], cwd=ROOT, check=True)
    subprocess.run(["git", "commit", "--quiet", "--all", "--message", f"Release {version}"], cwd=ROOT, check=True)
    subprocess.run(
        ["git", "tag", "--annotate", f"v{version}", "--message", f"rffbench {version}"], cwd=ROOT, check=True
    )
    print(f"left to do: git push --follow-tags; python -m twine upload {' '.join(map(str, built()))}")
    return 0


def said(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def built() -> list[Path]:
    return [path.relative_to(ROOT) for path in sorted((ROOT / "dist").iterdir())]


def of_package(text: str, version: str, today: str) -> str:
    return once(r'(?m)^__version__ = ".*"$', f'__version__ = "{version}"', text)


def of_citation(text: str, version: str, today: str) -> str:
    text = re.sub(r"(?m)^date-released:.*\n", "", text)
    return once(r"(?m)^version: .*$", f"version: {version}\ndate-released: {today}", text)


def of_changelog(text: str, version: str, today: str) -> str:
    """What was unreleased is this version's; nothing is unreleased."""
    changes = text.partition(UNRELEASED)[2].partition("\n## [")[0]
    if not changes.strip():
        raise SystemExit("CHANGELOG.md says nothing under [Unreleased]")
    return text.replace(UNRELEASED, f"{UNRELEASED}\n## [{version}] - {today}\n", 1)


def once(pattern: str, replacement: str, text: str) -> str:
    changed, count = re.subn(pattern, replacement, text)
    if count != 1:
        raise SystemExit(f"{pattern} is there {count} times, not once")
    return changed


EDITS = {"rffbench/__init__.py": of_package, "CITATION.cff": of_citation, "CHANGELOG.md": of_changelog}


if __name__ == "__main__":
    sys.exit(main())
