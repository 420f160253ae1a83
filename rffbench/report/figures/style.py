"""The look of every figure: colours, line styles, fonts, widths, ticks, and the text above and below the panels."""

from __future__ import annotations

import hashlib
import io
import re
import textwrap
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis, XAxis
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator, LogLocator, MaxNLocator, NullFormatter, NullLocator
from numpy.typing import ArrayLike, NDArray

from rffbench.errors import ConfigError, EnvironmentFault
from rffbench.io import files
from rffbench.io.text import printable
from rffbench.report.frame import as_written, size_label

# Okabe and Ito's colours, which colour-blind readers can distinguish, in an order in which neighbours also differ in
# lightness. In grey print, marker and line style distinguish the methods. Later lines are thinner and are drawn on top,
# so that coinciding lines are all visible. A hollow marker always means seconds that cannot be compared.
STYLES: list[dict[str, Any]] = [
    {"color": "#000000", "marker": "o", "linestyle": "-", "linewidth": 1.8},
    {"color": "#E69F00", "marker": "s", "linestyle": (0, (5, 1.6)), "linewidth": 1.8},
    {"color": "#0072B2", "marker": "^", "linestyle": (0, (5, 1.4, 1, 1.4)), "linewidth": 1.6},
    {"color": "#D55E00", "marker": "D", "linestyle": (0, (1, 1.1)), "linewidth": 1.5},
    {"color": "#56B4E9", "marker": "v", "linestyle": (0, (7, 1.4, 1, 1.4, 1, 1.4)), "linewidth": 1.3},
    {"color": "#009E73", "marker": "P", "linestyle": (0, (3, 2)), "linewidth": 1.2},
    {"color": "#CC79A7", "marker": "X", "linestyle": (0, (8, 2)), "linewidth": 1.1},
    {"color": "#7F7F7F", "marker": "*", "linestyle": "-", "linewidth": 1.0},
]

RC: dict[Any, Any] = {
    "font.size": 8, "axes.labelsize": 8, "axes.titlesize": 8, "xtick.labelsize": 7, "ytick.labelsize": 7,
    "legend.fontsize": 8, "axes.linewidth": 0.6, "lines.linewidth": 1.2, "lines.markersize": 3.9,
    "lines.markeredgewidth": 0.9, "grid.linewidth": 0.4, "grid.color": "#DDDDDD", "xtick.major.width": 0.6,
    "ytick.major.width": 0.6, "ytick.minor.width": 0.4, "axes.axisbelow": True, "axes.formatter.useoffset": False,
    "savefig.dpi": 200, "pdf.fonttype": 42, "svg.hashsalt": "rffbench", "text.usetex": False,
}  # fmt: skip

NOT_OF_FIGURES = {"backend", "backend_fallback", "interactive", "toolbar"}  # what a notebook or a window has chosen

# The files contain no date and no version of software: the same results give the same bytes.
SHOWN = "Shown"  # the entry of a PNG that has the fingerprint of its figure
METADATA: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    "svg": {"Date": None},
}

PLAIN = 1e-4, 1e5  # ticks in this range are plain numbers; if any tick is outside, all are powers of ten
_MULTIPLES = [(1.0, 2.0, 5.0), (1.0, 2.0, 3.0, 5.0, 7.0), tuple(float(each) for each in range(1, 10))]  # of a decade
MOST_SIZES = 4  # panels of a figure with one per size
_FEWEST_TICKS = 3  # on an axis of less than a decade
_TOUCHING = 0.05  # inches: two ticks' numbers that are closer count as overlapping
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Style:
    """The style of figures. ``widths``: the allowed widths in inches; empty allows any. ``rc``: changes of ``RC``.
    ``narrowest``: panels that would be narrower are wrapped into the next row (a row keeps at least two). ``note``: the
    size of small print in points. ``panels``: the metrics that get panels, instead of each figure's own choice.
    ``captioned``: title and notes stand in a text file beside the figure, for an article's caption, not in it."""

    widths: tuple[float, ...] = ()
    rc: Mapping[Any, Any] = field(default_factory=dict)
    narrowest: float = 0.0
    note: float = 6.2
    panels: tuple[str, ...] = ()
    captioned: bool = False


FIGURE_STYLES = {
    "screen": Style(),
    "paper": Style((3.17, 6.5), {"xtick.labelsize": 8, "ytick.labelsize": 8}, narrowest=2.0, note=8.0, captioned=True),
}
"""The styles by name. The widths of ``paper`` are one and both columns of LaTeX's ``article``, 229.5 and 469.75 pt."""

SCREEN = FIGURE_STYLES["screen"]
_current: ContextVar[Style] = ContextVar("style", default=SCREEN)


def figure_style(name: str = "screen", columns: int | None = None, panels: Sequence[str] = ()) -> Style:
    """One of ``FIGURE_STYLES``. ``columns`` is the width of figures in the style ``paper``; ``panels`` are the metrics
    that get panels. ConfigError for an unknown style, and for ``columns`` of another style than ``paper``."""
    if name not in FIGURE_STYLES:
        raise ConfigError(f"unknown figure style {name!r}: choose from {', '.join(FIGURE_STYLES)}")
    style = replace(FIGURE_STYLES[name], panels=tuple(panels))
    if columns is None:
        return style
    if not style.widths:
        raise ConfigError(f"columns: the style {name!r} has none; the style 'paper' has")
    return replace(style, widths=(style.widths[columns - 1],))


@contextmanager
def drawn_in(style: Style) -> Iterator[None]:
    """A context in which figures are drawn in ``style``, whatever a matplotlibrc says."""
    token = _current.set(style)
    try:
        with mpl.rc_context():
            with warnings.catch_warnings(action="ignore", category=mpl.MatplotlibDeprecationWarning):
                mpl.rcParams.update({k: value for k, value in mpl.rcParamsDefault.items() if k not in NOT_OF_FIGURES})
            mpl.rcParams.update({**RC, **_current.get().rc})
            yield
    finally:
        _current.reset(token)


def style_of(index: int) -> dict[str, Any]:
    """Colour, marker and line of the method with this number; different for the first 64 methods."""
    again, first = divmod(index, len(STYLES))
    shape = STYLES[(first + 3 * again) % len(STYLES)]
    return {**STYLES[first], "marker": shape["marker"], "linestyle": shape["linestyle"]}


def chosen(usual: Iterable[str], possible: Iterable[str]) -> list[str]:
    """The metrics that get panels in a figure: the style's own, as far as they are possible, else the usual ones."""
    asked = _current.get().panels
    return [name for name in asked if name in possible] if asked else list(usual)


def note_size() -> float:
    """The size of small print in panels and legends, in points."""
    return _current.get().note


# ---- Figures and panels ------------------------------------------------------------------------------------


def fitting(width: float) -> float:
    """The style's width for a figure that wants ``width``: the least that is not much narrower, else the widest."""
    widths = _current.get().widths
    return next((each for each in widths if width <= 1.45 * each), widths[-1]) if widths else width


def panels(
    count: int, width: float, height: float, *, most: int = 12, least: float = 0.0, above: float = 0.0,
    under: float = 0.0,
) -> tuple[Figure, list[Axes]]:  # fmt: skip
    """A figure with ``count`` panels of about this width and height (in inches), and the panels.

    A row has at most ``most`` panels. If the style makes panels narrower, they also get lower. The figure is at least
    ``least`` wide, and ``above`` higher than its panels. With ``under``, each panel has another of that height below
    it; these are the second half of the list.
    """
    columns = min(count, most)
    total = fitting(max(width * columns, least))
    narrowest = _current.get().narrowest
    if narrowest:
        columns = min(columns, max(int(total / narrowest), 2))
    rows = -(-count // columns)
    columns = -(-count // rows)
    smaller = min(1.0, max(total / columns / width, 0.75)) if narrowest else 1.0
    heights = [smaller * each for each in (height, under) if each]
    figure = Figure(figsize=(total, sum(heights) * rows + above), layout="constrained")
    grid = figure.subplots(rows * len(heights), columns, squeeze=False, height_ratios=heights * rows)
    axes: list[Axes] = []
    for kind in range(len(heights)):
        alike = list(grid[kind :: len(heights)].ravel())
        axes += alike[:count]
        for unused in alike[count:]:
            unused.remove()
    return figure, axes


def room(panel: Axes) -> float:
    """The width of a panel with its tick labels, in inches."""
    place, figure = panel.get_subplotspec(), panel.get_figure(root=True)
    return (figure.get_figwidth() if figure else 0.0) / (place.get_gridspec().ncols if place else 1)


def is_narrow(panel: Axes) -> bool:
    """Whether a panel is so narrow that a legend in it needs short labels."""
    return room(panel) < _current.get().narrowest


def legend_inside(panel: Axes, handles: Sequence[Any], labels: Sequence[str]) -> None:
    """A legend within a panel, in small print."""
    tight: dict[str, Any] = {"handlelength": 1.2, "handletextpad": 0.4, "labelspacing": 0.2} if is_narrow(panel) else {}
    panel.legend(handles, labels, fontsize=note_size(), frameon=False, **tight)


def thinned(sizes: pd.DataFrame, most: int = MOST_SIZES) -> pd.DataFrame:
    """At most ``most`` of the sizes, evenly spaced, for figures with a panel per size."""
    return sizes.iloc[np.unique(np.linspace(0, len(sizes) - 1, most).round().astype(int))]


def headline(figure: Figure, title: str, *notes: str) -> None:
    """Write a title above all panels, and notes below it, wrapped to the width. The figure gets higher for many
    lines. In a style that is captioned they become the figure's label, which `saved` writes beside it."""
    if _current.get().captioned:
        figure.set_label(". ".join(filter(None, (title, *(note[:1].upper() + note[1:] for note in notes)))) + ".")
        return
    size = mpl.rcParams["font.size"]
    letters = int(figure.get_figwidth() * 72 / (0.56 * size))
    lines = [line for text in (title, "; ".join(filter(None, notes))) for line in textwrap.wrap(text, letters)]
    figure.suptitle("\n".join(lines), fontsize=size)
    if len(lines) > _LINES:  # the room of so few is the legend's
        figure.set_figheight(figure.get_figheight() + _LINE * len(lines))


def spread(trials: pd.Series, what: Literal["bars", "bands", "bars and bands"] = "bars") -> str:
    """A note that says what points and their bars or bands are; ``trials`` are the numbers of trials of all points."""
    counts = trials[trials > 0]
    if counts.empty or counts.max() == 1:
        return "single trials"
    few, many = int(counts.min()), int(counts.max())
    over = f"{many} trials" if few == many else f"{few} to {many} trials"
    return f"means over {over}, {what}: ± one standard deviation"


def aside(x: ArrayLike, index: int, count: int) -> NDArray[np.float64]:
    """The positions of the points of one of ``count`` methods on a logarithmic axis: each method is shifted a little,
    so that methods that agree do not hide each other."""
    return np.asarray(x, float) * 1.11 ** (index / max(count - 1, 1) - 0.5)


def bars(mean: ArrayLike, std: ArrayLike) -> NDArray[np.float64]:
    """Error bars of ± one standard deviation for a logarithmic axis, of shape (2, n). A bar that would reach zero ends
    a decade below the mean."""
    above = np.nan_to_num(np.asarray(std, float))
    return np.stack([np.minimum(above, 0.9 * np.asarray(mean, float)), above])


def hollow(panel: Axes, x: ArrayLike, y: ArrayLike, style: Mapping[str, Any]) -> None:
    """Mark points whose seconds cannot be compared: some were taken while other work used the processors."""
    panel.plot(x, y, linestyle="", marker=style["marker"], color=style["color"], markerfacecolor="white", zorder=3)


HOLLOW = "hollow: other work used the processors, not comparable"


def coinciding(curves: Mapping[str, pd.Series], logarithmic: bool) -> list[str]:
    """The groups of curves (each y by x) that coincide: ``RFF = QMC`` if they are equal, ``RFF ≈ QMC`` if they differ
    less than a reader can see."""
    if not curves:
        return []
    scaled = {name: np.log(curve) if logarithmic else curve for name, curve in curves.items()}
    every = pd.concat(list(scaled.values()))
    span = float(every.max() - every.min())
    groups: list[list[str]] = []
    for name, curve in scaled.items():
        for group in groups:
            if curve.index.equals(scaled[group[0]].index) and _apart(curve, scaled[group[0]]) <= _SEEN * span:
                group.append(name)
                break
        else:
            groups.append([name])
    said = []
    for group in groups:
        if len(group) > 1:
            equal = max(_apart(curves[name], curves[group[0]]) for name in group) <= _EQUAL * float(every.abs().max())
            said.append((" = " if equal else " ≈ ").join(group))
    return said


_SEEN, _EQUAL = 0.012, 1e-9  # shares of an axis: the width of a line, and the effect of rounding


def _apart(curve: pd.Series, other: pd.Series) -> float:
    return float((curve - other).abs().max())


def size_axis(panel: Axes, sizes: pd.DataFrame) -> None:
    """Set one tick per size, labelled if there is room."""
    counts = sizes["n_features"].to_numpy(int)
    place = np.log(counts / counts[0]) / max(np.log(counts[-1] / counts[0]), 1e-9)
    labels: list[str] = []
    last = -np.inf
    for count, multiple, here in zip(counts, sizes["multiple"], place, strict=True):
        roomy = here - last > 0.11  # the width of "128d" with some space, as a share of the panel
        labels.append(size_label(count, multiple) if roomy else "")
        last = here if roomy else last
    panel.set_xticks(counts, labels)
    if len(counts) == 1:  # room for the shifted methods (`aside`)
        panel.set_xlim(counts[0] / 1.2, counts[0] * 1.2)
    panel.xaxis.set_minor_locator(NullLocator())


def legend_label(label: str) -> str:
    """A method's label, as people write it, for Matplotlib's legends. They leave out labels that begin with an
    underscore; a space of zero width before it prevents that."""
    label = as_written(label)
    return f"\u200b{label}" if label.startswith("_") else label


def handles_of(panels: Iterable[Axes]) -> dict[str, Any]:
    """The legend's handles of some panels, by label."""
    return {label: each for panel in panels for each, label in zip(*panel.get_legend_handles_labels(), strict=True)}


def legend_below(figure: Figure, handles: Mapping[str, Any]) -> None:
    """Draw a legend of the handles, by label, under the panels, in as many columns as fit.

    Labels wider than the figure are wrapped. The figure gets higher for a long legend.
    """
    width, narrow = figure.get_figwidth(), bool(_current.get().narrowest)
    longest = int(0.9 * (width - _HANDLE) / _LETTER)  # some names have wide letters
    labels = [textwrap.fill(label, longest) if len(label) > longest else label for label in handles]
    widest = _HANDLE + _LETTER * max(len(line) for label in labels for line in label.split("\n"))
    columns = max(1, min(len(handles), int(width / widest)))
    rows = -(-len(handles) // columns)
    columns = -(-len(handles) // rows)  # the same number of rows, but evenly filled
    lines = rows + sum(label.count("\n") for label in labels)
    figure.set_figheight(figure.get_figheight() + _LINE * max(0, lines - (_FEW_LINES if narrow else _LINES)))
    figure.legend(without_bars(handles.values()), labels, loc="outside lower center", ncols=columns, frameon=False,
                  handlelength=3.2, columnspacing=1.6)  # fmt: skip


_HANDLE, _LETTER, _LINE = 0.75, 0.063, 0.18  # inches of a legend's handle, a letter and a line
_LINES = 4  # lines of a legend, or of a headline above a short legend, for which a figure's height has room
_FEW_LINES = 2  # the same in a style with narrow panels


def without_bars(handles: Iterable[Any]) -> list[Any]:
    """The handles without error bars, which make markers look alike in a legend."""
    return [handle[0] if isinstance(handle, ErrorbarContainer) else handle for handle in handles]


def log_axis(axis: Axis) -> None:
    """Make an axis logarithmic. Over a few decades, ticks are at 1, 2 and 5 of each; over less than one decade, at more
    of its whole multiples, or at equal steps if these are too few or all in one half of the axis."""
    (axis.axes.set_xscale if isinstance(axis, XAxis) else axis.axes.set_yscale)("log")
    low, high = axis.get_view_interval()
    if high > 10 * low:
        axis.set_major_locator(LogLocator(subs=_MULTIPLES[0] if high < 1000 * low else (1.0,)))
    else:
        locators = (LogLocator(subs=subs) for subs in _MULTIPLES)
        enough = (each for each in locators if _spread_out(each.tick_values(low, high), low, high))
        axis.set_major_locator(next(enough, MaxNLocator(5)))
    axis.set_minor_formatter(NullFormatter())


def small_print(panel: Axes, lines: Sequence[str], where: Literal["top", "bottom"]) -> None:
    """Write lines into a panel, wrapped to its width, and extend its logarithmic y axis so that they hide no curve."""
    letters = max(int((room(panel) - _TICK_LABELS) * 72 / (0.58 * note_size())), 12)
    lines = [part for line in lines for part in textwrap.wrap(line, letters, subsequent_indent="   ")]
    panel.text(0.03, 0.03 if where == "bottom" else 0.97, "\n".join(lines), transform=panel.transAxes, va=where,
               fontsize=note_size(), bbox={"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 1})  # fmt: skip
    low, high = panel.get_ylim()
    share = min(0.06 * len(lines) + 0.03, 0.7)  # of the extended axis
    factor = (high / low) ** (share / (1 - share))
    panel.set_ylim(low / (factor if where == "bottom" else 1), high * (factor if where == "top" else 1))


_TICK_LABELS = 0.65  # inches of the tick labels beside a panel, and the room around it


def tidy_panel(panel: Axes) -> None:
    """Draw a grid, and remove the box around the panel."""
    panel.grid(True)
    panel.spines[["top", "right"]].set_visible(False)


# ---- Ticks -------------------------------------------------------------------------------------------------


def _break_titles(figure: Figure) -> None:
    """Wrap titles that are wider than their panel, in a style with narrow panels."""
    if not _current.get().narrowest:
        return
    for panel in figure.axes:
        letters = int(room(panel) * 72 / (0.66 * float(panel.title.get_fontsize())))
        panel.set_title(textwrap.fill(panel.get_title(), letters))


def settle_ticks(figure: Figure) -> None:
    """Fix the ticks of every axis. A logarithmic axis has only plain numbers or only powers of ten, and at least two
    ticks. If numbers would overlap, some are left out. Titles that are too long get a second line."""
    _break_titles(figure)
    _lay_out(figure)
    every = [axis for panel in figure.axes for axis in (panel.xaxis, panel.yaxis) if axis.get_visible()]
    for axis in every:
        low, high = sorted(axis.get_view_interval())
        fixed = isinstance(axis.get_major_locator(), FixedLocator)
        if axis.get_scale() == "log" and not fixed:
            ticks = _within(axis.get_majorticklocs(), low, high)
            if len(ticks) < 2:
                ticks = _within(MaxNLocator(4).tick_values(low, high), low, high)
            axis.set_ticks(ticks, notation(ticks))
    _lay_out(figure)
    for axis in every:
        _thin_out(axis, _TOUCHING * figure.dpi)


def _lay_out(figure: Figure) -> None:
    """Place the panels, which takes half of the time of a drawing."""
    if (engine := figure.get_layout_engine()) is not None:
        engine.execute(figure)


def notation(ticks: Sequence[float]) -> list[str]:
    """The labels of one axis's ticks: all plain (with equal decimals for equal steps), or all with powers of ten."""
    if all(PLAIN[0] <= tick < PLAIN[1] for tick in ticks):
        plain = [f"{tick:g}" for tick in ticks]
        if len(ticks) < 3 or not np.allclose(np.diff(ticks, 2), 0, atol=1e-6 * ticks[0]):
            return plain
        decimals = max(len(number.partition(".")[2]) for number in plain)
        return [f"{tick:.{decimals}f}" for tick in ticks]
    return [_power(tick) for tick in ticks]


def _power(value: float) -> str:
    mantissa, _, exponent = f"{value:.6e}".partition("e")
    power = f"10{str(int(exponent)).translate(_SUPERSCRIPT)}"
    return power if float(mantissa) == 1 else f"{float(mantissa):g}·{power}"


def _spread_out(ticks: ArrayLike, low: float, high: float) -> bool:
    """Whether enough ticks are on the axis, and neither half of it is without one."""
    shown = _within(ticks, low, high)
    gaps = np.diff(np.log([low, *shown, high]))
    return len(shown) >= _FEWEST_TICKS and bool(gaps.max() <= gaps.sum() / 2)


def _within(ticks: ArrayLike, low: float, high: float) -> list[float]:
    return [float(tick) for tick in np.asarray(ticks, float) if low * (1 - 1e-9) <= tick <= high * (1 + 1e-9)]


def _thin_out(axis: Axis, gap: float) -> None:
    """Hide every other label, or more, until none touches the next; slanted labels are kept."""
    labels = [tick.label1 for tick in axis.get_major_ticks()]
    labels = [label for label in labels if label.get_visible() and label.get_text() and not label.get_rotation()]
    boxes = [label.get_window_extent().padded(gap / 2) for label in labels]
    for step in range(1, len(labels)):
        if not any(one.overlaps(other) for one, other in pairwise(boxes[::step])):
            break
    else:
        return
    for number, label in enumerate(labels):
        label.set_visible(number % step == 0)


# ---- Files -------------------------------------------------------------------------------------------------


def saved(figure: Figure, folder: Path, stem: str, formats: Sequence[str] = ("png",)) -> list[Path]:
    """Write the figure into a results folder as ``figures/<stem>.<format>``, and its caption, if it has one, as
    ``figures/<stem>.txt``. Returns the paths.

    A PNG with the same numbers and words is kept, so that git sees no change if another version of Matplotlib moves a
    pixel. Remove the PNG to draw it again.
    """
    stem = re.sub(r"[^\w.-]+", "_", stem)
    paths = [folder / "figures" / f"{stem}.{name}" for name in formats]
    paths[0].parent.mkdir(exist_ok=True)
    shown = fingerprint(figure)
    new = [path for path in paths if path.suffix != ".png" or _fingerprint_in(path) != shown]
    for path, drawn in zip(new, rendered(figure, *(path.suffix[1:] for path in new), shown=shown), strict=True):
        files.replace(path, drawn)
    if caption := str(figure.get_label()):
        paths.append(paths[0].with_suffix(".txt"))
        files.replace(paths[-1], f"{printable(caption)}\n")
    return paths


def fingerprint(figure: Figure) -> str:
    """SHA-256 of the figure's content: its size, its words, and the numbers and styles of its lines, bars and areas."""
    parts: list[object] = [figure.get_size_inches().round(3).tolist()]
    words = [*figure.texts, *(text for legend in figure.legends for text in legend.get_texts())]
    for axes in figure.axes:
        legend = axes.get_legend()
        words += [axes.title, axes.xaxis.label, axes.yaxis.label, *axes.texts, *(legend.get_texts() if legend else ())]
        parts += [
            axes.get_xscale(),
            axes.get_yscale(),
            *filter(None, (axes.get_title("left"), axes.get_title("right"))),
        ]
        parts += [(line.get_color(), line.get_linestyle(), line.get_marker(), _digits(line.get_xydata()))
                  for line in axes.lines]  # fmt: skip
        for collection in axes.collections:
            parts += [_digits(path.vertices) for path in collection.get_paths()]
            parts.append(_digits(collection.get_offsets()))
        parts += [_digits(patch.get_path().vertices) for patch in axes.patches]
    parts += [word.get_text() for word in words]
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _digits(numbers: ArrayLike) -> list[str]:
    return [f"{each:.5g}" for each in np.ma.filled(np.asanyarray(numbers, dtype=float), np.nan).ravel()]


def _fingerprint_in(path: Path) -> str | None:
    """The fingerprint that a PNG contains; None without a file or a fingerprint."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as image:
            return image.info.get(SHOWN)
    except (OSError, UnidentifiedImageError):
        return None


def rendered(figure: Figure, *formats: str, shown: str = "") -> Iterator[bytes]:
    """The bytes of the figure's file in each format.

    Dollar signs are literal, because a wrong formula could not be drawn. A letter that the font lacks is drawn as a
    box. A PNG contains ``shown``, its fingerprint.
    """
    if not formats:
        return
    _take_literally(figure)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph \d+ .*missing from ", UserWarning)
        settle_ticks(figure)
        figure.set_layout_engine("none")  # what is placed stays where it is, in every format
        for name in formats:
            drawn = io.BytesIO()
            metadata = METADATA[name] | ({SHOWN: shown} if shown and name == "png" else {})
            try:
                figure.savefig(drawn, format=name, metadata=metadata)
            except (OSError, RuntimeError, ImportError, ValueError) as error:  # a font or a library is missing
                raise EnvironmentFault(
                    f"no figure can be drawn by matplotlib here ({type(error).__name__}: {error}); tables are written "
                    "without it. `rffbench plot` draws the figures later"
                ) from error
            yield drawn.getvalue()


def _take_literally(figure: Figure) -> None:
    """Make control characters printable, and switch off formulas in all texts except tick labels."""
    for text in figure.findobj(Text):
        if (written := printable(text.get_text())) != text.get_text():
            text.set_text(written)
    texts = [text for text in figure.findobj(Text) if "$" in text.get_text()]
    axes = [axis for panel in figure.axes for axis in (panel.xaxis, panel.yaxis)] if texts else []
    numbers = [tick.label1 for axis in axes for tick in (*axis.majorTicks, *axis.minorTicks)]
    for text in texts:
        if text not in numbers:
            text.set_parse_math(False)
