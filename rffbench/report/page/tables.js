// What the scripts of all pages begin with.

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

// The columns that name a row stay where they are while the others are scrolled past them: as many as leave these a third
// of the room.
function keepInView(table) {
  const names = [...table.tHead.rows[0].cells].slice(0, Number(table.dataset.stub));
  const observer = new ResizeObserver(() => {
    const widths = names.map((name) => name.getBoundingClientRect().width);
    const room = (2 / 3) * table.parentElement.clientWidth;
    let left = 0;
    for (const [place, width] of widths.entries()) {
      table.style.setProperty(`--left-${place + 1}`, !place || left + width <= room ? `${left}px` : "auto");
      left += width;
    }
  });
  for (const each of [...names, table.parentElement]) observer.observe(each);
}

// ---- Sorting by a click on a heading --------------------------------------------------------------------------

const natural = new Intl.Collator(undefined, { numeric: true });

function sortRows(table, column, descending) {
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row, place) => {
    const cell = row.cells[column];
    const text = cell.firstChild ? cell.firstChild.textContent : "";
    return { row, place, text, value: cell.dataset.value === undefined ? NaN : Number(cell.dataset.value) };
  });
  const empty = (each) => Number.isNaN(each.value) && (each.text === "" || each.text === "–");
  rows.sort((a, b) => {
    if (empty(a) !== empty(b)) return empty(a) ? 1 : -1; // what was not measured comes last, either way
    const bothNumbers = !Number.isNaN(a.value) && !Number.isNaN(b.value);
    const order = bothNumbers ? a.value - b.value : natural.compare(a.text, b.text);
    return (descending ? -order : order) || a.place - b.place;
  });
  body.append(...rows.map((each) => each.row));
}

function makeSortable(table) {
  for (const header of table.tHead.rows[0].cells) {
    const button = element("button", { type: "button" }, ...header.childNodes);
    header.append(button);
    button.addEventListener("click", () => {
      const descending = header.getAttribute("aria-sort") === "ascending";
      for (const each of table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
      header.setAttribute("aria-sort", descending ? "descending" : "ascending");
      sortRows(table, header.cellIndex, descending);
    });
  }
}
