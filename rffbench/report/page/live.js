// Asks how the experiments stand, and shows what has changed.

const seconds = Number(document.body.dataset.seconds);
const connection = document.getElementById("connection");
const main = document.getElementById("experiments");
const shown = new Map(); // of every experiment its parts, and what they last showed

function tell(place, text) {
  if (place.textContent !== text) place.textContent = text;
}

function duration(seconds) {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return seconds < 172800 ? `${(seconds / 3600).toFixed(1)} h` : `${Math.round(seconds / 86400)} days`;
}

function table(name, header, rows, stub) {
  const cells = (row, kind) => row.map((text) => element(kind, { textContent: text }));
  const head = cells(header, "th");
  for (const each of head) each.scope = "col";
  const made = element("table", {}, element("thead", {}, element("tr", {}, ...head)),
                       element("tbody", {}, ...rows.map((row) => element("tr", {}, ...cells(row, "td")))));
  const box = element("div", { className: "scroll", tabIndex: 0 }, made);
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", name);
  made.dataset.stub = stub;
  keepInView(made);
  return box;
}

function partsOf(name) {
  if (!shown.has(name)) {
    const parts = { title: element("h2"), progress: element("progress"), told: element("p"), result: element("div"),
                    failures: element("div"), last: {} };
    parts.progress.setAttribute("aria-label", `progress of ${name}`);
    main.append(element("section", { className: "experiment" }, parts.title, parts.progress, parts.told, parts.result, parts.failures));
    shown.set(name, parts);
  }
  return shown.get(name);
}

function progressText(about) {
  const done = about.ok + about.failed + about.unavailable;
  const parts = [`${done}${about.total === null ? "" : ` of ${about.total}`} trials`, `${about.ok} ok`];
  const left = (seconds) => (seconds === null ? [] : [`about ${duration(seconds)} left`]);
  if (about.failed) parts.push(`${about.failed} failed`);
  if (about.unavailable) parts.push(`${about.unavailable} without data`);
  parts.push(about.running ? `running: ${about.running}` : "nothing is running");
  if (about.part) {
    const { only, done, total, seconds_left } = about.part;
    parts.push([`of this run (${only}) ${done} of ${total} trials`, ...left(seconds_left)].join(", "));
    parts.push(...left(about.seconds_left).map((text) => `${text} for the whole config`));
  } else parts.push(...left(about.seconds_left));
  if (about.last) parts.push(`last trial ${duration((Date.now() - Date.parse(about.last)) / 1000)} ago`);
  return parts.join("; ");
}

function show(about) {
  const parts = partsOf(about.name);
  tell(parts.title, about.title);
  if (about.total !== null) {
    parts.progress.max = about.total || 1;
    parts.progress.value = about.ok + about.failed + about.unavailable;
  }
  tell(parts.told, progressText(about));
  const result = JSON.stringify([about.table, about.problem]);
  if (result !== parts.last.result) {
    parts.last.result = result;
    const notes = about.table ? about.table.notes : [about.problem];
    parts.result.replaceChildren(
      ...(about.table && about.table.sentence ? [element("p", { className: "said", textContent: about.table.sentence })] : []),
      ...(about.table ? [element("h3", { textContent: "Table" }), table(`${about.name}: table`, about.table.header, about.table.rows, about.table.stub)] : []),
      ...notes.map((note) => element("p", { className: "note", textContent: note })),
    );
  }
  const failures = JSON.stringify(about.failures);
  if (failures !== parts.last.failures) {
    parts.last.failures = failures;
    const lines = table(`${about.name}: failures`, ["trials", "status", "message", "where"], about.failures, 1);
    parts.failures.replaceChildren(...(about.failures.length ? [element("h3", { textContent: "Failures" }), lines] : []));
  }
}

async function ask() {
  try {
    const answer = await fetch("/state.json", { cache: "no-store" });
    const state = await answer.json();
    tell(connection, state.problem || "Updates by itself.");
    for (const about of state.experiments) show(about);
  } catch {
    tell(connection, "No answer: rffbench serve has ended. What is shown is the last that it said.");
  }
  setTimeout(ask, 1000 * seconds);
}

ask();
