"""The commands report, serve and site: results and the board in a browser."""

from __future__ import annotations

import contextlib
from pathlib import Path

import click

from rffbench.cli.folders import left_out
from rffbench.cli.options import FILE, TEXT
from rffbench.cli.output import echo, say


@click.command()
@click.argument("places", nargs=-1, required=True, type=TEXT, metavar="RESULTS...")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The file. [default: report.html in RESULTS]",
)
def report(places: tuple[str, ...], output: Path | None) -> int:
    """Write one HTML page that shows RESULTS in a browser.

    The page is self-contained: sortable and filtered tables, measured beside reported values, claims, interactive
    figures, failures, and the commands that repeat each experiment. With several RESULTS of one experiment, or
    FOLDER@REVISION, it also shows how scores moved.
    """
    from rffbench.report.page import write_page

    with left_out() as told:
        page = write_page(places, output)
    echo(f"wrote {page.path}: {page.experiments} experiment{'s' if page.experiments > 1 else ''}")
    for message in page.passed_over:
        say(f"passed over: {message}")
    return 1 if told or page.passed_over else 0


@click.command()
@click.argument("results", type=FILE)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port. [default: one that is free]")
def serve(results: Path, port: int) -> int:
    """Show the progress of a running experiment in a browser.

    Serves a page on 127.0.0.1 that updates by itself: progress and time left, the table so far, failures. Ctrl-C ends
    the server; the experiment continues.
    """
    from rffbench.report.page.server import address, make_server

    with make_server(results, port) as server:
        echo(f"{results} is at {address(server)}")
        say("Ctrl-C ends this")
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()
    return 0


@click.command()
@click.argument("folder", type=FILE)
@click.option("--results", multiple=True, type=FILE, metavar="RESULTS", help="Your own results, beside the board's.")
@click.option("--keep", is_flag=True, help="Also keep this version at FOLDER/versions, where it stays as it is.")
def site(folder: Path, results: tuple[Path, ...], keep: bool) -> int:
    """Write the board as a site into FOLDER.

    Open FOLDER/index.html, or put FOLDER on any server: the board to sort and filter, a page for each map, dataset and
    paper, and the rows as CSV. It shows the rows that ship with rffbench, and your own --results beside them.
    """
    from rffbench.report.site import write_site

    with left_out() as told:
        written = write_site(folder, results, keep=keep)
    echo(f"wrote {written.folder / 'index.html'}: {written.pages} pages")
    if written.kept:
        echo(f"kept {written.kept}")
    return 1 if told else 0
