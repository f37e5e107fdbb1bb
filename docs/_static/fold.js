// Figures first: in the chapters, code that mostly draws is folded, and on a narrow window all code that is long.
"use strict";

(function () {
  const DRAWS = /\b(ax|axes|fig|figure|left|right|picture)\b[.\[]|Figure\(|mr\.viz\.show\(|^\s*(for|if) .*\bax\b/;
  const LONG = 12, SHORT = 6; // lines

  function lines(block) {
    return block.querySelector("pre").textContent.split("\n").filter((line) => line.trim());
  }

  function summary(all) {
    const drawing = all.filter((line) => DRAWS.test(line)).length;
    if (all.length > SHORT && drawing >= all.length / 3) return `Code for the figure (${all.length} lines)`;
    return window.innerWidth < 768 && all.length > LONG ? `Code (${all.length} lines)` : null;
  }

  for (const block of document.querySelectorAll("article div.highlight-Python")) {
    const said = document.querySelector(".sphx-glr-example-title") && summary(lines(block));
    if (!said) continue;
    const details = document.createElement("details"), title = document.createElement("summary");
    details.className = "code-fold";
    title.textContent = said;
    block.replaceWith(details);
    details.append(title, block);
  }
})();
