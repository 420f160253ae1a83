// What the scripts of both pages begin with.

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

