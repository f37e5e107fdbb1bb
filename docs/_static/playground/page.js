// Controls around the pictures. <div class="playground" data-controls="..." data-pictures="..."> becomes a playground.
// data-settings='{"draw": 2}' are its values at the start. data-cells="rnn lstm" compares cells instead of choosing one.
"use strict";

(function () {
  const { compute, norm, mean, curve, heat, landscape, gates, power, draws, formulas } = window.playground;
  const CONTROLS = {
    cell: { label: "Cell", choices: [["rnn", "RNN"], ["lstm", "LSTM"], ["gru", "GRU"]], value: "rnn" },
    nonlinearity: {
      label: "Nonlinearity of the RNN", choices: [["tanh", "tanh"], ["relu", "relu"], ["identity", "none"]],
      value: "tanh", for: ["rnn"],
    },
    radius: { label: "Spectral radius ρ of R", range: [0.1, 2, 0.05], value: 1, digits: 2 },
    forget: { label: "Forget bias b (GRU: bias of u)", compared: "Forget bias b of the LSTM", range: [-3, 5, 0.25], value: 1, digits: 2, for: ["lstm", "gru"] },
    T: { label: "Time steps T", range: [2, 60, 1], value: 30, digits: 0 },
    weight: { label: "Weight of the landscape", range: [0, draws[0].y.length - 1, 1], value: 0, digits: 0 },
    n: { label: "Lag n", range: [1, 20, 1], value: 5, digits: 0 },
    K: { label: "Steps K of a window", range: [1, 60, 1], value: 10, digits: 0 },
    rate: { label: "Learning rate times curvature, ηk", range: [0.1, 2.4, 0.05], value: 1.8, digits: 2 },
    draw: { label: "Random matrices", range: [0, draws.length - 1, 1], value: 0, digits: 0 },
  };
  const TITLES = {
    curve: "The gradient’s way back: its norm at each step",
    heat: "The gradient of each unit at each step",
    gates: "How open the gates are: the mean over the units",
    landscape: "The loss along one weight, and its slope here",
    cut: "The mean gradient of r: training ends where it is 0",
    descent: "The distance from the lowest point after n steps",
  };
  const GATES = { rnn: {}, lstm: { f: "forget f", i: "input i", o: "output o" }, gru: { z: "update u", r: "reset r" } };
  const NAMES = { rnn: "RNN", lstm: "LSTM", gru: "GRU" };

  // ---- what is said about the numbers

  // A part of something in words: 34 %, 0.0002 %, one part in 10⁹
  function share(part) {
    if (part === 0) return "nothing";
    return part < 1e-6 ? `one part in ${power(Math.round(-Math.log10(part)))}` : `${rounded(100 * part)} %`;
  }

  function rounded(value) { // two digits that count
    if (value >= 1e6) return `about ${power(Math.round(Math.log10(value)))}`;
    return Number(value.toPrecision(2)).toLocaleString("en", { maximumFractionDigits: 6 });
  }

  const kept = ({ cell, dh, dc }) => {
    const values = (cell === "lstm" ? dc : dh).map(norm);
    return values[0] / values[values.length - 1];
  };

  function alone(one) {
    const T = one.dh.length, part = kept(one), whose = one.cell === "lstm" ? "the cell state’s gradient norm" : "the gradient norm";
    if (part > 100) return `From step ${T} to step 1 ${whose} grows ${rounded(part)} times: the gradient explodes.`;
    const amount = part < 0.01 ? `Only ${share(part)}` : share(part);
    return `${amount} of ${whose} at step ${T} reaches step 1: the gradient ${part < 0.01 ? "vanishes" : "arrives"}.`;
  }

  function compared([rnn, lstm], { forget }) {
    const T = rnn.dh.length, ratio = kept(lstm) / kept(rnn);
    const relation = ratio >= 2 ? `${rounded(ratio)} times as much as the RNN` : ratio <= 0.5 ? "less than the RNN" : "about as much as the RNN";
    const open = mean(lstm.steps.map((s) => mean(s.f)));
    return `The plain RNN passes ${share(kept(rnn))} of the gradient norm from step ${T} back to step 1. ` +
      `With the forget bias ${forget}, the LSTM’s forget gates are ${Math.round(100 * open)} % open, and its cell state passes ` +
      `${share(kept(lstm))}: ${relation}.`;
  }

  // ---- controls

  function control(id, key, value, cells) {
    const { choices, range, compared, label: usual } = CONTROLS[key], label = (cells && compared) || usual;
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
    const cells = box.dataset.cells ? box.dataset.cells.split(" ") : null;
    const defaults = Object.fromEntries(Object.entries(CONTROLS).map(([key, { value }]) => [key, value]));
    const first = { ...defaults, ...JSON.parse(box.dataset.settings || "{}") };
    box.innerHTML = `<div class="pg-controls">${controls.map((key) => control(id, key, first[key], cells)).join("")}</div>` +
      `<p class="pg-said" role="status"></p><div class="pg-pictures">` +
      pictures.map((p) => `<figure data-picture="${p}"><figcaption>${TITLES[p]}</figcaption><div></div></figure>`).join("") +
      "</div>";

    function settings() {
      const chosen = { ...first };
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
        const part = box.querySelector(`[data-key="${key}"]`), { digits, for: only } = CONTROLS[key];
        const output = part.querySelector("output");
        if (output) output.textContent = chosen[key].toFixed(digits);
        const idle = Boolean(only) && !(cells || [chosen.cell]).some((cell) => only.includes(cell));
        for (const input of part.querySelectorAll("input")) input.disabled = idle;
      }
      if (formulas[pictures[0]]) {
        const figure = box.querySelector("figure"), { said, picture } = formulas[pictures[0]](chosen);
        box.querySelector(".pg-said").textContent = said;
        figure.querySelector("div").innerHTML = picture(Math.max(240, Math.floor(figure.clientWidth)));
        return;
      }
      const offsets = pictures.includes("landscape") ? undefined : [0];
      const results = (cells || [chosen.cell]).map((cell) => ({ cell, ...compute({ ...chosen, cell }, draws, offsets) }));
      const result = results[results.length - 1];
      const curves = results.flatMap(({ cell, dh, dc }) => {
        const of = cells ? `${NAMES[cell]}: ` : "of ";
        const h = { name: `${of}the state h`, values: dh.map(norm) }, c = { name: `${of}the cell state c`, values: dc.map(norm) };
        return cell !== "lstm" ? [h] : cells ? [c] : [h, c];
      });
      box.querySelector(".pg-said").textContent = cells ? compared(results, chosen) : alone(result);
      const shown = {
        curve: (width) => curve(width, curves),
        heat: (width) => heat(width, result.cell === "lstm" ? result.dc : result.dh),
        gates: (width) => gates(width, result.steps, GATES[result.cell]),
        landscape: (width) => landscape(width, result),
      };
      for (const figure of box.querySelectorAll("figure")) {
        const place = figure.querySelector("div");
        figure.hidden = figure.dataset.picture === "gates" && result.cell === "rnn"; // which has none
        if (figure.hidden) { place.innerHTML = ""; continue; }
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
