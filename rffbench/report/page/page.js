// Tables that sort and filter, figures that can be chosen, links that open what they lead to.

const root = document.documentElement;
const data = await unpacked(document.getElementById("data").textContent);

// Deflated JSON in base64, as rffbench/report/page/render.py packs it.
async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
}

// ---- Light and dark ------------------------------------------------------------------------------------------

const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);
const themeButton = document.getElementById("theme");

function showTheme() {
  themeButton.textContent = isDark() ? "Light" : "Dark";
  root.dataset.drawn = isDark() ? "dark" : "light"; // figures keep their colours on paper, and are inverted there
  for (const figures of drawn.values()) figures.draw();
}

themeButton.hidden = false;
themeButton.addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  showTheme();
});
prefersDark.addEventListener("change", showTheme);

// ---- Tables --------------------------------------------------------------------------------------------------

function makeFilterable(sheet, table) {
  const filters = sheet.querySelector(".filters");
  let rows = [...table.tBodies[0].rows];
  if (rows.length < 2) return;
  const protocol = filters.querySelector(".protocol");
  const search = filters.querySelector("input");
  const choices = [...filters.querySelectorAll("select[data-column]")];
  const told = filters.querySelector("output");
  const filter = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = [...row.cells].map(textOf).join(" ").toLowerCase();
      const wanted =
        words.every((word) => text.includes(word)) &&
        choices.every((each) => !each.value || textOf(row.cells[each.dataset.column]) === each.value);
      row.hidden = !wanted;
      shown += wanted;
    }
    told.textContent = `${shown} of ${rows.length} rows`;
  };
  filters.addEventListener("input", (event) => event.target !== protocol && filter());
  filters.hidden = false;
  told.textContent = `${rows.length} rows`;
  if (protocol) {
    const experiment = sheet.closest(".experiment");
    const first = rows;
    const { others } = data.sections[experiment.id];
    protocol.addEventListener("input", () => choose(experiment, protocol.value));
    experiment.addEventListener("protocol", ({ detail }) => {
      protocol.value = detail;
      rows = others[detail] ? others[detail].map(rowOf) : first;
      table.tBodies[0].replaceChildren(...rows);
      for (const each of table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
      filter();
    });
  }
}

// Of a sweep with many protocols, the table and the figures show the one that is chosen.
const choose = (experiment, protocol) =>
  experiment.dispatchEvent(new CustomEvent("protocol", { detail: Number(protocol) }));

// A row as the page's template writes one.
function rowOf([anchor, cells]) {
  const row = element("tr", { id: anchor });
  for (const [place, [text, value, hint, classes]] of cells.entries()) {
    const cell = element("td", { className: classes });
    if (value) cell.dataset.value = value;
    cell.append(place ? text : element("a", { href: `#${anchor}`, textContent: text || "–" }));
    if (place && hint) cell.append(element("span", { className: "hint", textContent: hint }));
    row.append(cell);
  }
  return row;
}

const textOf = (cell) => (cell.firstChild ? cell.firstChild.textContent : "");

for (const sheet of document.querySelectorAll(".sheet")) {
  const table = sheet.querySelector("table");
  makeSortable(table);
  makeFilterable(sheet, table);
  keepInView(table);
}

// ---- Figures -------------------------------------------------------------------------------------------------

const drawn = new Map(); // the figures of every experiment that was opened

function colors() {
  const style = getComputedStyle(document.body);
  const probe = element("span");
  document.body.append(probe);
  const color = (name) => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  };
  const found = { text: color("--text"), quiet: color("--quiet"), line: color("--line"), page: color("--page"), font: style.fontFamily };
  probe.remove();
  return found;
}

function config({ text, quiet, line, page, font }) {
  const axis = { labelColor: text, titleColor: text, gridColor: line, domainColor: quiet, tickColor: quiet,
                 labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal", labelOverlap: true, gridOpacity: 0.6 };
  return { aria: false, background: page, font, axis, view: { stroke: null }, line: { color: quiet }, rule: { color: quiet } };
}

const ANY = "any"; // the size of a method that has none
const scale = (log) => (log ? { type: "log", nice: false, padding: 10 } : { type: "linear", zero: false });
const number = (value) => (value === 0 ? "0" : Number(value.toPrecision(4)).toString());
const fileName = (...parts) => parts.filter(Boolean).join("-").replace(/[^\w.-]+/g, "_").replace(/^\.+/, "");

function save(name, type, text) {
  const link = element("a", { download: name, href: URL.createObjectURL(new Blob([text], { type })) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function csvCell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value; // what a spreadsheet would take for a formula
  return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

class Figures {
  constructor(place, about) {
    this.about = about;
    this.hidden = new Set();
    this.name = place.dataset.section;
    place.hidden = false;
    const controls = element("div", { className: "controls" });
    place.append(controls);
    this.dataset = this.choice(controls, "dataset", about.datasets.map((each) => each.written));
    this.protocol = this.choice(controls, "protocol", about.protocols);
    this.bands = this.check(controls, "± one standard deviation", true);
    place.append(this.methods());
    this.charts = [this.curves(place)];
    if (about.costs.length && about.datasets.some((each) => about.metrics[each.score])) this.charts.push(this.plane(place));
    this.dataset.addEventListener("input", () => this.chooseMetric());
    if (about.others.length) this.follow(place.closest(".experiment"));
    place.addEventListener("input", () => this.draw());
    this.chooseMetric();
    this.draw();
  }

  // The protocol is that of the table, and the other way about.
  follow(experiment) {
    this.protocol.value = experiment.querySelector(".protocol").value;
    this.protocol.addEventListener("input", () => choose(experiment, this.protocol.value));
    experiment.addEventListener("protocol", ({ detail }) => {
      this.protocol.value = detail;
      this.draw();
    });
  }

  choice(place, name, values, labels = values) {
    const select = element("select", {}, ...values.map((value, i) => element("option", { value: String(i), textContent: labels[i] })));
    place.append(element("label", { hidden: values.length < 2 }, `${name} `, select));
    return select;
  }

  check(place, name, checked) {
    const box = element("input", { type: "checkbox", checked });
    place.append(element("label", {}, box, ` ${name}`));
    return box;
  }

  methods() {
    const legend = element("fieldset", { className: "methods" }, element("legend", { textContent: "methods" }));
    for (const [place, method] of this.about.methods.entries()) {
      const box = element("input", { type: "checkbox", checked: true });
      box.addEventListener("input", () => (box.checked ? this.hidden.delete(place) : this.hidden.add(place)));
      legend.append(element("label", {}, box, swatch(method), method.written));
    }
    return legend;
  }

  chart(place, kind, title) {
    const controls = element("div", { className: "controls" });
    const heading = element("h4");
    const box = element("div", { className: "chart" });
    box.setAttribute("role", "img");
    const chart = { kind, title, controls, heading, box };
    const csv = element("button", { type: "button", textContent: "CSV" });
    const svg = element("button", { type: "button", textContent: "SVG" });
    csv.setAttribute("aria-label", `Download the numbers of this figure as CSV`);
    svg.setAttribute("aria-label", `Download this figure as SVG`);
    csv.addEventListener("click", () => save(fileName(this.name, chart.name) + ".csv", "text/csv", this.csv(chart)));
    svg.addEventListener("click", async () =>
      save(fileName(this.name, chart.name) + ".svg", "image/svg+xml", await chart.view.toSVG()));
    chart.buttons = [csv, svg];
    place.append(element("div", { className: "figure" }, heading, controls, box));
    return chart;
  }

  curves(place) {
    const chart = this.chart(place, "curves");
    const names = Object.keys(this.about.metrics);
    chart.metrics = names;
    chart.metric = this.choice(chart.controls, "metric", names, names.map((each) => this.about.metrics[each].label));
    chart.logX = this.check(chart.controls, "logarithmic s", true);
    chart.logY = this.check(chart.controls, "logarithmic metric", false);
    chart.metric.addEventListener("input", () => (chart.logY.checked = this.about.metrics[names[chart.metric.value]].log));
    chart.controls.append(...chart.buttons);
    return chart;
  }

  plane(place) {
    const chart = this.chart(place, "plane");
    const names = this.about.costs;
    chart.metrics = names;
    chart.metric = this.choice(chart.controls, "cost", names, names.map((each) => this.about.metrics[each].label));
    chart.logX = this.check(chart.controls, "logarithmic cost", true);
    chart.logY = this.check(chart.controls, "logarithmic score", false);
    chart.controls.append(...chart.buttons);
    const trained = names.indexOf("train_s");
    if (trained > 0) chart.metric.value = trained;
    return chart;
  }

  // The dataset's own score, where it has one.
  chooseMetric() {
    const { score } = this.about.datasets[this.dataset.value];
    const [curves] = this.charts;
    if (!curves.metrics.includes(score)) return;
    curves.metric.value = curves.metrics.indexOf(score);
    for (const chart of this.charts) chart.logY.checked = this.about.metrics[score].log;
  }

  // What a chart shows now: a row a cell.
  rows(chart) {
    const { about } = this;
    const dataset = Number(this.dataset.value);
    const chosen = chart.metrics[chart.metric.value];
    const shown = chart.kind === "plane" ? about.datasets[dataset].score : chosen;
    const rows = [];
    const wanted = about.cells.filter(
      ([protocol, of, place]) => protocol === Number(this.protocol.value) && of === dataset && !this.hidden.has(place));
    const levels = chart.kind === "curves" ? about.datasets[dataset].levels : [];
    const sizes = wanted.filter(([, , place, , , , measured]) => measured[shown] && !levels.includes(place)).map((cell) => cell[3]);
    for (const [, , place, n, size, contended, measured, fronts] of wanted) {
      const at = chart.kind === "plane" ? measured[chosen] : [n, null, 0];
      if (!measured[shown] || !at) continue;
      const [mean, std, trials] = measured[shown];
      if ((chart.logX.checked && !(at[0] > 0)) || (chart.logY.checked && !(mean > 0))) continue;
      const method = about.methods[place];
      const low = chart.logY.checked ? Math.max(mean - (std || 0), 0.1 * mean) : mean - (std || 0);
      const disturbed = contended && (about.metrics[shown].time || (chart.kind === "plane" && about.metrics[chosen].time));
      const color = method.color === "#000000" ? this.colors.text : method.color;
      const across = levels.includes(place) && sizes.length > 0;
      for (const x of across ? [Math.min(...sizes), Math.max(...sizes)] : [at[0]]) rows.push({
        x, mean, std, low, high: mean + (std || 0), n: trials, size: across ? ANY : size, n_features: n, method: method.name, written: method.written, color,
        fill: disturbed ? this.colors.page : color, shape: method.shape, dash: across ? [6, 4] : method.dash, front: fronts.includes(chosen),
        at: across ? ANY : number(x), value: std === null ? number(mean) : `${number(mean)} ± ${number(std)}`,
        note: disturbed ? "other work used the processors" : "",
      });
    }
    return rows;
  }

  csv(chart) {
    const columns = { protocol: () => this.about.protocols[this.protocol.value] || "", dataset: () => chart.dataset, s: (row) => row.size,
                      n_features: (row) => row.n_features, method: (row) => row.method, [chart.xName]: (row) => row.x,
                      [chart.yName]: (row) => row.mean, std: (row) => row.std, trials: (row) => row.n };
    const all = this.rows(chart);
    const rows = all.filter((row, i) => row.size !== ANY || all[i - 1]?.method !== row.method); // a line has two ends
    const lines = [Object.keys(columns), ...rows.map((row) => Object.values(columns).map((each) => each(row)))];
    return lines.map((line) => line.map(csvCell).join(",")).join("\n") + "\n";
  }

  draw() {
    this.colors = colors();
    for (const chart of this.charts) this.drawChart(chart);
  }

  async drawChart(chart) {
    const { about } = this;
    const dataset = about.datasets[this.dataset.value];
    const chosen = about.metrics[chart.metrics[chart.metric.value]];
    const score = chart.kind === "plane" ? about.metrics[dataset.score] : chosen;
    const rows = this.rows(chart);
    chart.dataset = dataset.name;
    chart.xName = chart.kind === "plane" ? chosen.label : about.counts;
    chart.yName = score ? score.label : "";
    chart.name = [dataset.written, chart.yName, chart.kind === "plane" ? chosen.label : ""].join(" ");
    const sized = chart.kind === "curves" ? rows.filter((row) => row.size !== ANY) : [];
    const alone = sized.every((row) => row.x === sized[0].x) && sized[0]; // of a single size the methods are the axis
    const spread = this.bands.checked ? `; ${chart.kind === "plane" || alone ? "bars" : "bands"}: ± one standard deviation over trials` : "";
    const hollow = rows.some((row) => row.note) ? "; hollow: other work used the processors" : "";
    const kernels = chart.kind === "curves" && chosen.error && dataset.kernels ? `; ${dataset.kernels}` : "";
    chart.heading.textContent =
      chart.kind === "plane"
        ? `${dataset.written}: ${chart.yName} against ${chosen.label}; the line joins the Pareto front${spread}${hollow}`
        : `${dataset.written}: ${chart.yName} ${alone ? `of every method, at ${about.counts} = ${alone.size}` : `against ${about.counts}`}${spread}${hollow}${kernels}`;
    chart.box.setAttribute("aria-label", `${chart.heading.textContent}. ${rows.length} points; their numbers are in the table and in the CSV.`);
    const spec = structuredClone(data.charts[chart.kind]);
    spec.datasets = { rows };
    spec.layer = spec.layer.filter((layer) => this.bands.checked || !layer.encoding.y2);
    if (alone) for (const layer of spec.layer) {
      if (layer.encoding.y2) layer.mark = { type: "rule" }; // a band of one size is a bar
      layer.encoding.x = { field: "written", type: "nominal", sort: null, axis: { labelAngle: -30, labelLimit: 150, labelOverlap: false } };
    }
    const counts = [...new Set(rows.map((row) => row.x))].sort((a, b) => a - b);
    for (const { encoding } of spec.layer) {
      encoding.y.title = chart.yName;
      encoding.y.scale = scale(chart.logY.checked);
      if (alone) {
        encoding.x.title = "";
        continue;
      }
      encoding.x.title = chart.xName;
      encoding.x.scale = { ...scale(chart.logX.checked), nice: false, padding: 12 };
      if (chart.kind === "curves") Object.assign(encoding.x.axis, { values: counts, format: "~f" });
    }
    const latest = (chart.draws = (chart.draws || 0) + 1);
    for (const button of chart.buttons) button.disabled = !rows.length;
    if (!rows.length) {
      chart.box.replaceChildren(element("p", { className: "note", textContent: "Nothing to show of what is chosen." }));
      return;
    }
    const options = { actions: false, ast: true, renderer: "svg", defaultStyle: false, config: config(this.colors),
                      tooltip: { disableDefaultStyle: true } };
    const result = await vegaEmbed(chart.box, spec, options);
    const svg = chart.box.querySelector("svg"); // the box says what it is
    svg.removeAttribute("role");
    svg.setAttribute("aria-hidden", "true");
    if (latest !== chart.draws) result.finalize();
    else {
      if (chart.finalize) chart.finalize();
      Object.assign(chart, { view: result.view, finalize: result.finalize });
    }
  }
}

function swatch(method) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  const line = document.createElementNS(space, "line");
  const attributes = { x1: 0, x2: 28, y1: 6, y2: 6, "stroke-width": 3,
                       stroke: method.color === "#000000" ? "currentColor" : method.color, "stroke-dasharray": method.dash.join(" ") };
  for (const [name, value] of Object.entries(attributes)) line.setAttribute(name, value);
  svg.setAttribute("class", "swatch");
  svg.setAttribute("viewBox", "0 0 28 12");
  svg.setAttribute("aria-hidden", "true");
  svg.append(line);
  return svg;
}

function open(experiment) {
  const place = experiment.querySelector(".figures");
  if (!drawn.has(place) && data.sections[place.dataset.section].cells.length) {
    drawn.set(place, new Figures(place, data.sections[place.dataset.section]));
  }
}

for (const experiment of document.querySelectorAll(".experiment")) {
  experiment.addEventListener("toggle", () => experiment.open && open(experiment));
  if (experiment.open) open(experiment);
}

// ---- Links and print -----------------------------------------------------------------------------------------

function follow() {
  const anchor = location.hash.slice(1); // it is as it stands in the address
  const [where, experiment, protocol] = anchor.split(":");
  const { others = [] } = data.sections[`${where}:${experiment}`] || {};
  if (!document.getElementById(anchor) && others.length) {
    const chosen = others.findIndex((lines) => lines?.some(([id]) => id.split(":")[2] === protocol));
    choose(document.getElementById(`${where}:${experiment}`), Math.max(chosen, 0));
  }
  const target = document.getElementById(anchor);
  if (!target) return;
  for (let each = target; each; each = each.parentElement) if (each.tagName === "DETAILS") each.open = true;
  target.scrollIntoView({ block: target.tagName === "TR" ? "center" : "start" });
}

addEventListener("hashchange", follow);
addEventListener("beforeprint", () => {
  for (const each of document.querySelectorAll("details")) each.open = true;
  for (const experiment of document.querySelectorAll(".experiment")) open(experiment); // its event comes too late
});
showTheme();
follow();
root.dataset.ready = "yes"; // all of the above works now
