"""Completion in a shell: the names to offer for a word that was begun, and the protocols of bash, zsh and fish."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    add_completion_class,
    split_arg_string,
)

from rffbench.errors import RffbenchError

SHELLS = ("bash", "zsh", "fish")

# ---- Names -------------------------------------------------------------------------------------------------


def complete_config(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    from rffbench.io.resources import shipped_configs

    return _named(shipped_configs(), begun)


def complete_dataset(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    from rffbench.data.cards import card_names

    return _named(card_names(), begun)


def complete_method(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    from rffbench.features import describe

    return _named((row["name"] for row in describe()), begun)


def complete_kernel(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    from rffbench.kernels import NAMED

    return _named(NAMED.names(), begun)


def complete_metric(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    from rffbench.report.table import ALIASES, COLUMNS
    from rffbench.trials.metrics import METRICS

    return _named([*ALIASES, COLUMNS, *METRICS], begun)


def complete_executor(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    from rffbench.execution import executor_names

    return _named(executor_names(), begun)


def complete_only(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """A key, then the config's values for it; several values are separated by commas."""
    key, equals, values = begun.partition("=")
    keys = {"dataset": "datasets", "method": "methods", "n_features": "", "trial": ""}
    if not equals:
        return [CompletionItem(f"{each}=") for each in keys if each.startswith(key)]
    from rffbench.config.loading import load_experiment

    try:
        # Behind an option without its value yet, click has not read the arguments before it.
        experiment = load_experiment(context.params.get("config") or "".join(context.args[:1]))
    except (RffbenchError, OSError):  # there is no config yet, or none that can be read
        return []
    before, comma, last = values.rpartition(",")
    known = getattr(experiment, keys[key]) if keys.get(key) else []
    return [CompletionItem(f"{key}={before}{comma}{each}") for each in known if each.startswith(last)]


def _named(names: Iterable[str], begun: str) -> list[CompletionItem]:
    """The names that begin with the word; the shell's own files if there are none."""
    return [CompletionItem(name) for name in sorted(names) if name.startswith(begun)] or [
        CompletionItem(begun, type="file")
    ]


# ---- Shells ------------------------------------------------------------------------------------------------

_UNQUOTED, _BACKSLASH = re.compile(r"([^\w@%+=:,./~-])"), r"\\\1"  # what bash would not take for a part of a word


@add_completion_class
class _Bash(BashComplete):
    """bash splits ``dataset=eeg`` and ``dask://HOST`` into several words. So the whole line is read instead of its
    words, and the answer is the part of a value behind the last character that separates words."""

    source_template = """\
%(complete_func)s() {
    local line type value
    while IFS= read -r line; do
        IFS=, read -r type value <<< "$line"
        if [[ $type == plain ]]; then
            COMPREPLY+=("$value")
            [[ $value == *= ]] && compopt -o nospace
        else
            COMPREPLY=()
            compopt -o default
        fi
    done < <(env COMP_LINE="$COMP_LINE" COMP_POINT="$COMP_POINT" COMP_WORDBREAKS="$COMP_WORDBREAKS" \\
        %(complete_var)s=bash_complete "$1")
    return 0
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""

    def get_completion_args(self) -> tuple[list[str], str]:
        line = os.environ["COMP_LINE"][: int(os.environ["COMP_POINT"])]
        words = split_arg_string(line)
        self._begun = "" if line[-1:].isspace() and split_arg_string(f"{line}x")[-1] == "x" else words.pop()
        self._quoted = line.endswith(self._begun) and line.removesuffix(self._begun)[-1:] in ("'", '"')
        return words[1:], self._begun

    def format_completion(self, item: CompletionItem) -> str:
        value, parts = item.value, set("=:") & set(os.environ["COMP_WORDBREAKS"])
        behind = 1 + max((self._begun.rfind(each) for each in parts), default=-1)
        for start in range(0 if self._quoted else behind):  # the part before = may be the option's name
            if value.startswith(before := self._begun[start:behind]):
                value = value.removeprefix(before)
                break
        return f"{item.type},{value if self._quoted else _UNQUOTED.sub(_BACKSLASH, value)}"


class _WholeWords(ShellComplete):
    """zsh and fish ask for a whole word, but for ``--only=dataset=eeg`` click answers only the part after the
    option."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem]:
        option, equals, _ = incomplete.partition("=")
        before = f"{option}=" if equals and option.startswith("-") else ""
        items = super().get_completions(args, incomplete)
        return [
            CompletionItem(before + item.value, item.type, item.help) if item.type == "plain" else item
            for item in items
        ]


@add_completion_class
class _Zsh(_WholeWords, ZshComplete):
    """With no space behind ``dataset=``."""

    source_template = ZshComplete.source_template.replace(
        "compadd -U",
        "local -a end; [[ $completions[1] == *= ]] && end=(-S '')\n        compadd \"${end[@]}\" -U",
    )


@add_completion_class
class _Fish(_WholeWords, FishComplete):
    """A value may hold commas, as several datasets do."""

    source_template = FishComplete.source_template.replace('string split ","', 'string split --max 1 ","')
