// The playground's pictures as SVG: colors come from the style sheet, so they follow light and dark.
"use strict";

(function () {
  const escape = (text) => String(text).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
  const text = (x, y, said, more = "") => `<text x="${x}" y="${y}" ${more}>${escape(said)}</text>`;

  // Matplotlib's viridis, which is as legible without color
  const VIRIDIS = [[68, 1, 84], [71, 44, 122], [59, 81, 139], [44, 113, 142], [33, 144, 141], [39, 173, 129],
    [92, 200, 99], [170, 220, 50], [253, 231, 37]];
  function color(part) {
    const at = Math.max(0, Math.min(1, part)) * (VIRIDIS.length - 1);
    const k = Math.min(Math.floor(at), VIRIDIS.length - 2);
    const mixed = VIRIDIS[k].map((from, j) => Math.round(from + (at - k) * (VIRIDIS[k + 1][j] - from)));
    return `rgb(${mixed.join(",")})`;
  }

  const mean = (values) => values.reduce((sum, v) => sum + v, 0) / values.length;

  function power(exponent) {
    const signs = "⁰¹²³⁴⁵⁶⁷⁸⁹";
    const digits = [...String(Math.abs(exponent))].map((d) => signs[d]).join("");
    return exponent === 0 ? "1" : `10${exponent < 0 ? "⁻" : ""}${digits}`;
  }

  function frame(width, height, title, body) {
    return `<svg viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img"` +
      ` aria-label="${escape(title)}">${body}</svg>`;
  }

  function axes(box, x_label, x_ticks, y_ticks) {
    const { left, right, top, bottom } = box;
    let body = `<path class="pg-axis" d="M${left} ${top}V${bottom}H${right}" />`;
    for (const [x, said] of x_ticks) {
      body += `<path class="pg-axis" d="M${x} ${bottom}v4" />` + text(x, bottom + 16, said, 'text-anchor="middle"');
    }
    for (const [y, said] of y_ticks) {
      body += `<path class="pg-grid" d="M${left} ${y}H${right}" />` + text(left - 5, y + 4, said, 'text-anchor="end"');
    }
    return body + text((left + right) / 2, bottom + 32, x_label, 'text-anchor="middle"');
  }

  function steps_axis(T, x_of) {
    const every = T > 40 ? 10 : T > 12 ? 5 : 2;
    const shown = [1];
    for (let t = every; t < T - every / 2; t += every) if (t > 1) shown.push(t);
    return [...shown, T].map((t) => [x_of(t - 1), t]);
  }

  // The norm of the gradient at each step, on a logarithmic axis. curves: [{ name, values }]
  function curve(width, curves) {
    const T = curves[0].values.length, height = 230;
    const box = { left: 44, right: width - 12, top: 22, bottom: height - 38 };
    const seen = curves.flatMap((one) => one.values).filter((v) => v > 0).map(Math.log10);
    let low = Math.floor(Math.min(-1, ...seen)), high = Math.ceil(Math.max(0, ...seen));
    low = Math.max(low, high - 40);
    const x_of = (t) => box.left + (T > 1 ? t / (T - 1) : 0.5) * (box.right - box.left);
    const y_of = (e) => box.bottom - ((Math.max(e, low) - low) / (high - low)) * (box.bottom - box.top);
    const every = Math.max(1, Math.ceil((high - low) / 6));
    const y_ticks = [];
    for (let e = Math.ceil(low / every) * every; e <= high; e += every) y_ticks.push([y_of(e), power(e)]);
    let body = axes(box, "time step", steps_axis(T, x_of), y_ticks);
    curves.forEach(({ name, values }, k) => {
      const path = values.map((v, t) => `${t ? "L" : "M"}${x_of(t)} ${y_of(v > 0 ? Math.log10(v) : low)}`).join("");
      body += `<path class="pg-line pg-line-${k}" d="${path}" />`;
      body += text(box.left + 8 + 130 * k, 14, name, `class="pg-name-${k}"`);
    });
    const ends = curves.map(({ name, values }) => `${name}: ${values[0].toExponential(1)} at step 1, ` +
      `${values[T - 1].toExponential(1)} at step ${T}`);
    return frame(width, height, `Size of the gradient at each step. ${ends.join("; ")}`, body);
  }

  // How open the gates are at each step, the mean over the units. names: { f: "forget f", ... }
  function gates(width, steps, names) {
    const T = steps.length, height = 230;
    const box = { left: 44, right: width - 12, top: 22, bottom: height - 38 };
    const x_of = (t) => box.left + (T > 1 ? t / (T - 1) : 0.5) * (box.right - box.left);
    const y_of = (v) => box.bottom - v * (box.bottom - box.top);
    let body = axes(box, "time step", steps_axis(T, x_of), [0, 0.5, 1].map((v) => [y_of(v), v]));
    const means = Object.entries(names).map(([gate, name], k) => {
      const values = steps.map((s) => mean(s[gate]));
      const path = values.map((v, t) => `${t ? "L" : "M"}${x_of(t)} ${y_of(v)}`).join("");
      body += `<path class="pg-line pg-line-${k}" d="${path}" />`;
      body += text(box.left + 8 + 95 * k, 14, name, `class="pg-name-${k}"`);
      return `${name} ${mean(values).toFixed(2)}`;
    });
    return frame(width, height, `How open the gates are, on average: ${means.join(", ")}`, body);
  }

  // One cell a unit and step: the gradient's size there, as a color
  function heat(width, gradients) {
    const T = gradients.length, H = gradients[0].length, height = 230;
    const box = { left: 44, right: width - 64, top: 12, bottom: height - 38 };
    const size = gradients.map((row) => row.map((g) => (g === 0 ? -Infinity : Math.log10(Math.abs(g)))));
    const high = Math.max(-300, ...size.flat().filter(Number.isFinite)), low = high - 6;
    const w = (box.right - box.left) / T, h = (box.bottom - box.top) / H;
    let body = "";
    size.forEach((row, t) => row.forEach((e, j) => {
      body += `<rect x="${box.left + t * w}" y="${box.top + j * h}" width="${w + 0.5}" height="${h + 0.5}"` +
        ` fill="${color((e - low) / 6)}" />`;
    }));
    body += axes(box, "time step", steps_axis(T, (t) => box.left + (t + 0.5) * w), []);
    body += text(box.left - 8, (box.top + box.bottom) / 2, "units", 'text-anchor="end"');
    for (let k = 0; k <= 30; k++) {
      body += `<rect x="${box.right + 10}" y="${box.bottom - ((k + 1) / 31) * (box.bottom - box.top)}" width="10"` +
        ` height="${(box.bottom - box.top) / 31 + 0.5}" fill="${color(k / 30)}" />`;
    }
    const top = Math.round(high);
    for (const e of [0, 2, 4, 6]) {
      const y = box.bottom - ((6 - e) / 6) * (box.bottom - box.top);
      body += text(box.right + 24, y + (e === 0 ? 8 : e === 6 ? 0 : 4), power(top - e));
    }
    return frame(width, height, `Heat map of the gradient at each of ${H} units and ${T} steps`, body);
  }

  // The loss as a function of one weight, where the network stands, and the tangent there
  function landscape(width, result) {
    const { w, dw, loss, offsets, losses } = result;
    const height = 230, box = { left: 52, right: width - 12, top: 12, bottom: height - 38 };
    const seen = losses.filter(Number.isFinite);
    let low = Math.min(loss, ...seen), high = Math.max(loss, ...seen);
    if (high > 1e4 * Math.max(loss, 1)) high = 1e4 * Math.max(loss, 1);
    if (high - low < 1e-12) { low -= 0.5; high += 0.5; }
    const span = offsets[offsets.length - 1];
    const x_of = (d) => box.left + ((d + span) / (2 * span)) * (box.right - box.left);
    const y_of = (v) => box.bottom - ((Math.min(Math.max(v, low), high) - low) / (high - low)) * (box.bottom - box.top);
    const digits = (v) => (Math.abs(v) >= 1e4 ? v.toExponential(0) : v.toPrecision(3));
    const x_ticks = [-span, 0, span].map((d) => [x_of(d), (w + d).toFixed(2)]);
    const y_ticks = [low, (low + high) / 2, high].map((v) => [y_of(v), digits(v)]);
    let body = axes(box, "one weight of the candidate", x_ticks, y_ticks);
    const path = losses.map((v, k) => `${k ? "L" : "M"}${x_of(offsets[k])} ${y_of(Number.isFinite(v) ? v : high)}`);
    body += `<path class="pg-line pg-line-0" d="${path.join("")}" />`;
    // the tangent, as long as it stays in the picture
    const slope = Math.max(Math.abs(dw), 1e-300);
    const [up, down] = [(high - loss) / slope, (loss - low) / slope].map((room) => Math.min(0.5, room));
    const [before, after] = dw > 0 ? [-down, up] : [-up, down];
    body += `<path class="pg-line pg-line-1" d="M${x_of(before)} ${y_of(loss + before * dw)}` +
      `L${x_of(after)} ${y_of(loss + after * dw)}" />`;
    body += `<circle class="pg-point" cx="${x_of(0)}" cy="${y_of(loss)}" r="4" />`;
    const said = `The loss as a function of one weight. Here the weight is ${w.toFixed(3)}, the loss ` +
      `${loss.toPrecision(3)}, the slope ${dw.toExponential(1)}`;
    return frame(width, height, said, body);
  }

  // Curves through points on linear axes, cut off at the axes' ends. curves: [{ name, points }], dots: [[x, y]]
  function plot(width, { title, x_label, x, y, curves, dots }) {
    const height = 230, box = { left: 44, right: width - 12, top: 22, bottom: height - 38 };
    const part = (v, [low, high]) => Math.max(-9, Math.min(9, (v - low) / (high - low)));
    const x_of = (v) => box.left + part(v, x) * (box.right - box.left);
    const y_of = (v) => box.bottom - part(v, y) * (box.bottom - box.top);
    const ticks = (of, [low, high]) => [low, (low + high) / 2, high].map((v) => [of(v), Number(v.toPrecision(3))]);
    let body = axes(box, x_label, ticks(x_of, x), [...ticks(y_of, [y[0], y[1]]).filter((t) => t[1] !== 0), [y_of(0), 0]]);
    curves.forEach(({ name, points }, k) => {
      const path = points.map(([a, b], j) => `${j ? "L" : "M"}${x_of(a)} ${y_of(b)}`).join("");
      const [w, h] = [box.right - box.left, box.bottom - box.top]; // an inner picture, which cuts what is outside
      body += `<svg x="${box.left}" y="${box.top}" width="${w}" height="${h}" viewBox="${box.left} ${box.top} ${w} ${h}">` +
        `<path class="pg-line pg-line-${k}" d="${path}" /></svg>` +
        text(box.left + 8 + 130 * k, 14, name, `class="pg-name-${k}"`);
    });
    for (const [a, b] of dots) body += `<circle class="pg-point" cx="${x_of(a)}" cy="${y_of(b)}" r="4" />`;
    return frame(width, height, `${title}: ${curves.map((one) => one.name).join(", ")}`, body);
  }

  window.playground = { ...(window.playground || {}), curve, heat, landscape, gates, plot, power, mean };
})();
