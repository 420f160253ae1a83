"""The command line: parse, call, print. The only place that prints or exits.

Exit status: 0 done; 1 the run finished, but trials failed or some data was unavailable, or a comparison is
out of tolerance; 2 the command or the config is wrong; 3 nothing could be measured; 130 interrupted, and the
same command carries on; 70 a defect in rffbench itself.

Each group of commands has a file. Nothing heavy is imported before a command needs it.
"""

from __future__ import annotations

import gc
import os
import sys
from typing import NoReturn

import click

from rffbench import __version__
from rffbench.cli import board, browser, comparison, configs, datasets, fit, parts, running, tables
from rffbench.cli.output import message_of, say
from rffbench.cli.streams import (
    INTERRUPTED,
    adapt_standard_streams,
    leave_at_once,
    replace_closed_streams,
    stop_at_second_interrupt,
)
from rffbench.errors import ConfigError, EnvironmentFault, RffbenchError

DEFECT = 70
COLLECTED_AFTER = 100_000  # new objects: looking for cycles among a long log's is a tenth of the time to read it


def main() -> NoReturn:
    """Entry point of ``rffbench``: run the command, turn errors into messages and exit statuses."""
    gc.set_threshold(COLLECTED_AFTER)
    os.environ["MPLBACKEND"] = "agg"  # figures are written to files; what Jupyter sets may not be installed here
    replace_closed_streams()
    adapt_standard_streams()
    stop_at_second_interrupt()
    try:
        status = cli.main(standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        status = error.exit_code
    except (KeyboardInterrupt, click.Abort):
        say("interrupted; the same command carries on from here")
        status = INTERRUPTED
    except RffbenchError as error:
        say(f"error: {error}")
        status = error.exit_status
    except OSError as error:
        say(f"error: {message_of(error)}")
        status = ConfigError.exit_status
    except MemoryError as error:
        why = f" ({error})" if str(error) else ""
        say(f"error: there is no memory left for this command{why}; end other programs, and run the same command again")
        status = EnvironmentFault.exit_status
    except Exception as error:
        if os.environ.get("RFFBENCH_DEBUG"):
            raise
        say(f"error: {type(error).__name__}: {error}\nThis is a defect; RFFBENCH_DEBUG=1 shows where it is.")
        status = DEFECT
    try:
        sys.stdout.flush()
    except OSError:  # Python would try again on its way out, and complain
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if status == INTERRUPTED:
        leave_at_once(status)
    sys.exit(status)


class Grouped(click.Group):
    """A group whose help lists the commands by what they are for."""

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        widest = max(map(len, self.commands))
        for heading, commands in GROUPS.items():
            limit = formatter.width - widest - 6
            with formatter.section(heading):
                formatter.write_dl([(f"{each.name:<{widest}}", each.get_short_help_str(limit)) for each in commands])


@click.group(cls=Grouped, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="%(version)s")
def cli() -> None:
    """Benchmark random-feature methods for kernel approximation.

    CONFIG is a YAML file, or the name of a config that ships with the package. RESULTS is the folder of one
    experiment's results, or a folder of such folders.
    """


GROUPS = {
    "Begin": (configs.configs, running.run, parts.methods, datasets.datasets),
    "Your data": (fit.fit, fit.predict),
    "Your work": (board.board, parts.new, parts.check_method, parts.check_kernel, configs.validate),
    "Results": (tables.table, tables.plot, browser.report, browser.serve, browser.site, comparison.diff,
                comparison.history, comparison.merge),
    "Papers": (comparison.compare, comparison.record),
    "Maintenance": (comparison.migrate, configs.environment, configs.schema, configs.completion),
}  # fmt: skip
for _command in (command for commands in GROUPS.values() for command in commands):
    cli.add_command(_command)
