// The board's tables sort, and their first columns stay in view.

for (const table of document.querySelectorAll("table")) {
  makeSortable(table);
  keepInView(table);
}
document.documentElement.dataset.ready = "yes";
