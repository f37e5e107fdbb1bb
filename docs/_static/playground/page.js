// Controls around the pictures. <div class="playground" data-controls="..." data-pictures="..."> becomes a playground.
"use strict";

(function () {
  const { compute, norm, curve, heat, landscape, draws } = window.playground;
  const CONTROLS = {
    cell: { label: "Cell", choices: [["rnn", "RNN"], ["lstm", "LSTM"], ["gru", "GRU"]], value: "rnn" },
    nonlinearity: {
      label: "Nonlinearity of the RNN", choices: [["tanh", "tanh"], ["relu", "relu"], ["identity", "none"]],
      value: "tanh", for: ["rnn"],
    },
    radius: { label: "Spectral radius of R", range: [0.1, 2, 0.05], value: 1, digits: 2 },
    forget: { label: "Forget bias (GRU: bias of z)", range: [-3, 5, 0.25], value: 1, digits: 2, for: ["lstm", "gru"] },
    T: { label: "Time steps T", range: [2, 60, 1], value: 30, digits: 0 },
    weight: { label: "Weight of the landscape", range: [0, draws[0].y.length - 1, 1], value: 0, digits: 0 },
    draw: { label: "Random matrices", range: [0, draws.length - 1, 1], value: 0, digits: 0 },
  };
  const TITLES = {
    curve: "The gradient’s way back: its norm at each step",
    heat: "The gradient of each unit at each step",
    landscape: "The loss along one weight, and its slope here",
  };

  function control(id, key) {
    const { label, choices, range, value } = CONTROLS[key];
    if (choices) {
      const radios = choices.map(([name, shown]) =>
        `<label><input type="radio" name="${id}-${key}" value="${name}"${name === value ? " checked" : ""}> ${shown}</label>`);
      return `<fieldset data-key="${key}"><legend>${label}</legend>${radios.join("")}</fieldset>`;
    }
    const [min, max, step] = range;
    return `<div class="pg-slider" data-key="${key}"><label for="${id}-${key}">${label}</label>` +
      `<input type="range" id="${id}-${key}" min="${min}" max="${max}" step="${step}" value="${value}">` +
      `<output for="${id}-${key}"></output></div>`;
  }

  function start(box, number) {
    const id = `playground-${number}`;
    const controls = box.dataset.controls.split(" "), pictures = box.dataset.pictures.split(" ");
    box.innerHTML = `<div class="pg-controls">${controls.map((key) => control(id, key)).join("")}</div>` +
      `<p class="pg-said" role="status"></p><div class="pg-pictures">` +
      pictures.map((p) => `<figure data-picture="${p}"><figcaption>${TITLES[p]}</figcaption><div></div></figure>`).join("") +
      "</div>";

    function settings() {
      const chosen = Object.fromEntries(Object.entries(CONTROLS).map(([key, { value }]) => [key, value]));
      for (const key of controls) {
        const part = box.querySelector(`[data-key="${key}"]`);
        const value = part.querySelector("input:checked, input[type=range]").value;
        chosen[key] = CONTROLS[key].choices ? value : Number(value);
      }
      return chosen;
    }

    function draw() {
      const chosen = settings();
      for (const key of controls) {
        const part = box.querySelector(`[data-key="${key}"]`), { digits, for: cells } = CONTROLS[key];
        const output = part.querySelector("output");
        if (output) output.textContent = chosen[key].toFixed(digits);
        for (const input of part.querySelectorAll("input")) input.disabled = Boolean(cells) && !cells.includes(chosen.cell);
      }
      const result = compute(chosen, draws, pictures.includes("landscape") ? undefined : [0]);
      const curves = [{ name: "of the state h", values: result.dh.map(norm) }];
      if (chosen.cell === "lstm") curves.push({ name: "of the cell state c", values: result.dc.map(norm) });
      const last = curves.length - 1, values = curves[last].values, T = values.length;
      const part = values[0] / values[T - 1];
      const verdict = part < 1e-3 ? "it vanishes" : part > 1e3 ? "it explodes" : "it arrives";
      box.querySelector(".pg-said").textContent =
        `Of the gradient ${curves[last].name} at step ${T}, a part of ${part.toExponential(1)} reaches step 1: ${verdict}.`;
      const shown = {
        curve: (width) => curve(width, curves),
        heat: (width) => heat(width, chosen.cell === "lstm" ? result.dc : result.dh),
        landscape: (width) => landscape(width, result),
      };
      for (const figure of box.querySelectorAll("figure")) {
        const place = figure.querySelector("div");
        place.innerHTML = shown[figure.dataset.picture](Math.max(240, Math.floor(figure.clientWidth)));
      }
    }

    let waiting = false;
    function soon() { // once a frame, however fast a slider moves
      if (!waiting) requestAnimationFrame(() => { waiting = false; draw(); });
      waiting = true;
    }
    box.addEventListener("input", soon);
    new ResizeObserver(soon).observe(box);
    draw();
  }

  document.querySelectorAll(".playground").forEach(start);
})();
