// Formula | NumPy | CUDA | C++: statements that set the same names light up together, by mouse, touch and keyboard.
// Tab reaches a column; up and down move in it; left and right go to a statement of the same name in the next column;
// Enter, Space or a click keeps the light on.
"use strict";

for (const box of document.querySelectorAll(".op-columns")) {
  const columns = [...box.querySelectorAll(".op-column")];
  const all = [...box.querySelectorAll(".op-statement")];
  const marked = [...box.querySelectorAll("[data-names]")]; // statements, and the lines on which they continue
  const namesOf = (statement) => statement.dataset.names.split(" ");
  let kept = null;

  function light(statement) {
    const names = new Set(statement ? namesOf(statement) : []);
    for (const other of marked) {
      other.classList.toggle("op-lit", namesOf(other).some((name) => names.has(name)));
    }
    for (const closed of box.querySelectorAll("details")) {
      closed.classList.toggle("op-inside", !closed.open && closed.querySelector(".op-lit") !== null);
    }
  }

  function keep(statement) {
    kept = kept === statement ? null : statement;
    for (const other of all) other.setAttribute("aria-pressed", String(other === kept));
    if (kept) for (const closed of box.querySelectorAll("details.op-inside")) closed.open = true;
    light(kept || statement);
  }

  // One stop of the Tab key a column: the statement that was visited last.
  function focus(statement) {
    const column = statement.closest(".op-column");
    for (const other of column.querySelectorAll(".op-statement")) other.tabIndex = other === statement ? 0 : -1;
    const closed = statement.closest("details");
    if (closed) closed.open = true;
    statement.focus();
  }

  function move(statement, key) {
    const column = statement.closest(".op-column");
    if (key === "ArrowDown" || key === "ArrowUp") {
      const here = [...column.querySelectorAll(".op-statement")];
      return here[here.indexOf(statement) + (key === "ArrowDown" ? 1 : -1)];
    }
    const shown = columns.filter((one) => !one.hidden);
    const step = key === "ArrowRight" ? 1 : -1;
    for (let k = shown.indexOf(column) + step; shown[k]; k += step) {
      const match = shown[k].querySelector(".op-statement.op-lit");
      if (match) return match;
    }
    return undefined;
  }

  for (const statement of all) {
    statement.addEventListener("mouseenter", () => light(statement));
    statement.addEventListener("mouseleave", () => light(kept));
    statement.addEventListener("focus", () => light(statement));
    statement.addEventListener("blur", () => light(kept));
    statement.addEventListener("click", () => { focus(statement); keep(statement); });
    statement.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        keep(statement);
      } else if (event.key === "Escape") {
        if (kept) keep(kept);
        light(null);
      } else if (event.key.startsWith("Arrow")) {
        const next = move(statement, event.key);
        if (next) focus(next);
      } else {
        return;
      }
      event.preventDefault();
    });
  }
  for (const column of columns) {
    const first = column.querySelector(".op-statement");
    if (first) first.tabIndex = 0;
  }

  // Formula and NumPy are shown first. CUDA and C++ wait to be asked for.
  const buttons = [...box.querySelectorAll(".op-choice button")];
  function show(button, yes) {
    button.setAttribute("aria-pressed", String(yes));
    columns.find((column) => column.dataset.column === button.dataset.column).hidden = !yes;
    box.style.setProperty("--columns", String(columns.filter((column) => !column.hidden).length));
  }
  for (const button of buttons) {
    button.addEventListener("click", () => show(button, button.getAttribute("aria-pressed") !== "true"));
  }
  buttons.forEach((button, k) => show(button, k < 2));
}
