// Folded sections of a page of evidence: a link to one opens it, and paper has all of them.
const unfold = () => {
  const name = decodeURIComponent(location.hash.slice(1));
  for (let place = name && document.getElementById(name); place; place = place.parentElement)
    place.querySelector(":scope > details")?.setAttribute("open", "");
};
addEventListener("hashchange", unfold);
addEventListener("DOMContentLoaded", unfold);
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((each) => (each.open = true)));
