"""The commands of docs/ci.md do what the page says, in the page's order."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest
import yaml

PAGE = (Path(__file__).parents[1] / "docs" / "ci.md").read_text(encoding="utf-8")


def blocks(kind):
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.M | re.S)


def in_pipelines():
    """The commands of the GitHub and of the GitLab example."""
    _, github, gitlab = map(yaml.safe_load, blocks("yaml"))
    steps = [step["run"] for step in github["jobs"]["benchmark"]["steps"] if "run" in step]
    return steps, gitlab["benchmark"]["script"]


def test_both_pipelines_run_the_same_gate():
    github, gitlab = in_pipelines()
    assert sorted(github) == sorted(gitlab)
    assert gitlab.index(next(step for step in gitlab if " diff " in step)) < len(gitlab) - 1  # its file is always there


@pytest.mark.slow
def test_the_commands_of_the_page_run(rffbench, tmp_path):
    (tmp_path / "mine.yaml").write_text(blocks("yaml")[0])
    baseline, revisions, shards = (
        [line.partition("#")[0].strip() for line in block.splitlines()] for block in blocks("sh")
    )

    def git(*arguments):
        who = ("-c", "user.name=n", "-c", "user.email=e@x", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    def do(line):
        program, *arguments = shlex.split(line)
        if program == "echo":
            subprocess.run(line, shell=True, cwd=tmp_path, check=True)
        elif program == "rffbench":
            done = rffbench(*arguments)
            assert done.returncode == 0, (line, done.stdout, done.stderr)

    git("init", "--quiet")
    for line in baseline:
        do(line)
        git("add", "--all")
        git("commit", "--quiet", "--allow-empty", "--message", line)
    assert "no reference" not in rffbench("compare", "results/mine").stderr
    for line in [*in_pipelines()[0], *shards, revisions[0]]:
        do(line)
    assert (tmp_path / "diff.xml").exists()
    assert "is one run" in rffbench(*shlex.split(revisions[1])[1:]).stderr  # so far

    reference = tmp_path / "mine_reference.csv"
    reference.write_text(re.sub(r"(accuracy,)[\d.]+", r"\g<1>10", reference.read_text()))
    assert rffbench("compare", "ci/mine").returncode == 1
