// What is wider than its place. A table becomes a list: one block a row, each value under the name of its column.
// A formula becomes smaller. A drawing whose text would be too small to read keeps its width, and its box scrolls.
"use strict";

const tables = [...document.querySelectorAll(".bd-article table")];
for (const table of tables.filter((one) => one.tHead && one.tBodies.length)) {
  const names = [...table.tHead.rows[0].cells].map((cell) => cell.textContent.trim());
  for (const row of table.tBodies[0].rows) {
    [...row.cells].forEach((cell, k) => {
      if (k && names[k]) cell.dataset.column = names[k];
      cell.classList.toggle("blank", cell.textContent.trim() === "");
    });
  }
}

for (const image of document.querySelectorAll("img.sideways")) {
  const box = document.createElement("div");
  const what = image.parentElement.matches("a.image-reference, a.reference") ? image.parentElement : image;
  box.className = "sideways-box";
  for (const theme of ["only-light", "only-dark"]) if (image.classList.contains(theme)) box.classList.add(theme);
  box.tabIndex = 0; // a keyboard can scroll it
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", "A wide drawing, which scrolls sideways");
  what.replaceWith(box);
  box.append(what);
}

function fit() {
  for (const table of tables) table.classList.remove("stacked");
  const wide = tables.filter((table) => table.getBoundingClientRect().width > table.parentElement.clientWidth + 1);
  for (const table of wide) table.classList.add("stacked");
  for (const place of document.querySelectorAll(".bd-article div.math")) {
    place.style.fontSize = "";
    const formula = place.querySelector("mjx-math");
    if (!formula) continue;
    const room = formula.parentElement.clientWidth; // the number of the equation has the rest of the place
    const width = formula.getBoundingClientRect().width;
    if (width > room + 1) place.style.fontSize = `${Math.floor((98 * room) / width)}%`;
  }
}

fit();
window.addEventListener("resize", fit);
window.addEventListener("load", () => {
  Promise.all([document.fonts.ready, window.MathJax?.startup?.promise]).then(fit);
});
