// Tables that sort, filter and turn pages, by DataTables, which assets/tables.js has as text: a page from disk may not
// import a file, but may import this.
(async () => {
  const root = document.documentElement;
  const url = URL.createObjectURL(new Blob([window.tableLibrary], { type: "text/javascript" }));
  const { jQuery } = await import(url);
  URL.revokeObjectURL(url);

  // ---- Light and dark ----
  const button = document.getElementById("theme");
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches);
  const show = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    root.classList.toggle("dark", isDark());
  };
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    show();
  });
  prefersDark.addEventListener("change", show);
  show();

  // ---- Tables that are in the page ----
  for (const table of document.querySelectorAll("table.plain")) {
    const many = table.tBodies[0].rows.length > 12;
    jQuery(table).DataTable({ paging: false, info: false, searching: many, order: [], autoWidth: false,
                              layout: { topStart: many ? "search" : null, topEnd: null, bottomStart: null, bottomEnd: null } });
  }

  // ---- The table of all cells ----
  const cells = document.getElementById("cells");
  if (cells) await showCells(cells, jQuery);
  root.dataset.ready = "yes";
})();

// Deflated JSON in base64, as rffbench/report/page/render.py packs it.
async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
}

async function showCells(place, jQuery) {
  const { columns, rows } = await unpacked(document.getElementById("cells-data").textContent);
  const folders = { map: "maps", dataset: "datasets" };
  const linked = (folder) => (cell, type) => {
    if (type !== "display") return cell[0];
    const link = document.createElement("a");
    link.href = `${folder}/${cell[1]}.html`;
    link.textContent = cell[0];
    return link.outerHTML;
  };
  const shown = (cell, type) => {
    if (type === "display") return cell === null ? "–" : jQuery.fn.dataTable.util.escapeHtml(String(cell));
    return cell === null ? "" : cell;
  };
  const table = jQuery(place).DataTable({
    data: rows, deferRender: true, pageLength: 25, order: [], autoWidth: false,
    columns: columns.map((title) => ({ title, render: folders[title] ? linked(folders[title]) : shown })),
    layout: { topStart: "search", topEnd: "pageLength", bottomStart: "info", bottomEnd: "paging" },
  });
  const form = document.getElementById("filters");
  const value = (row, name) => {
    const cell = row[columns.indexOf(name)];
    return Array.isArray(cell) ? cell[0] : cell;
  };
  const wanted = (row) => {
    for (const each of form.querySelectorAll("[data-column]"))
      if (each.value && String(value(row, each.dataset.column)) !== each.value) return false;
    for (const each of form.querySelectorAll("[data-from], [data-to]")) {
      const cell = value(row, each.dataset.from || each.dataset.to);
      if (each.value === "") continue;
      if (cell === null || (each.dataset.from ? cell < Number(each.value) : cell > Number(each.value))) return false;
    }
    return true;
  };
  table.search.fixed("filters", (text, data, number) => wanted(rows[number]));
  form.hidden = false;
  form.querySelector("[data-column=board]").selectedIndex = 1; // the largest board; "all" has the others
  table.draw();
  form.addEventListener("input", () => table.draw());
  form.addEventListener("reset", () => setTimeout(() => table.draw()));
  form.addEventListener("submit", (event) => event.preventDefault());
}
