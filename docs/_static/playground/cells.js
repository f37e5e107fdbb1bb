// A recurrent network over T steps, forward and backward, in plain numbers: what `minirnn` computes, for sliders.
// The formulas and their names are those of minirnn/ops/cudnn_rnn/__init__.py; a vector is an array of H numbers.
"use strict";

(function () {
  const sigmoid = (a) => 0.5 * Math.tanh(0.5 * a) + 0.5;
  const FUNCTIONS = { // f, and its derivative from the output
    tanh: [Math.tanh, (h) => 1 - h * h],
    relu: [(a) => Math.max(a, 0), (h) => (h > 0 ? 1 : 0)],
    identity: [(a) => a, () => 1],
  };

  // One gate's pre-activation at each unit: W x + R h + b
  function gate(net, g, x, h) {
    const { R, W, b } = net;
    return R[g].map((row, j) => {
      let a = b[g];
      for (let k = 0; k < x.length; k++) a += W[g][j][k] * x[k];
      for (let k = 0; k < h.length; k++) a += row[k] * h[k];
      return a;
    });
  }

  // R' v: the way back through a matrix
  function back(R, v, into) {
    for (let j = 0; j < v.length; j++) for (let k = 0; k < v.length; k++) into[k] += R[j][k] * v[j];
  }

  const STEP = {
    rnn(net, x, h) {
      const f = FUNCTIONS[net.nonlinearity][0];
      return { h: gate(net, 0, x, h).map(f) };
    },
    lstm(net, x, h_prev, c_prev) {
      const i = gate(net, 0, x, h_prev).map(sigmoid);
      const f = gate(net, 1, x, h_prev).map(sigmoid);
      const n = gate(net, 2, x, h_prev).map(Math.tanh);
      const o = gate(net, 3, x, h_prev).map(sigmoid);
      const c = f.map((f_j, j) => f_j * c_prev[j] + i[j] * n[j]);
      return { h: c.map((c_j, j) => o[j] * Math.tanh(c_j)), c, c_prev, i, f, n, o };
    },
    gru(net, x, h_prev) {
      const r = gate(net, 0, x, h_prev).map(sigmoid);
      const z = gate(net, 1, x, h_prev).map(sigmoid);
      const q = gate({ ...net, b: [0, 0, 0] }, 2, [], h_prev); // R h alone
      const input = gate(net, 2, x, []); // W x + b alone
      const n = input.map((a, j) => Math.tanh(a + r[j] * q[j]));
      return { h: n.map((n_j, j) => (1 - z[j]) * n_j + z[j] * h_prev[j]), r, z, n, q };
    },
  };

  // From the gradients dh, dc of a step: da2 of each gate (what goes through R), and what reaches h', c' past R
  const STEP_GRAD = {
    rnn(net, s, dh) {
      const slope = FUNCTIONS[net.nonlinearity][1];
      return { da2: [dh.map((d, j) => d * slope(s.h[j]))] };
    },
    lstm(net, s, dh, dc) {
      const { i, f, n, o, c, c_prev } = s;
      const t = c.map(Math.tanh);
      dc = dc.map((d, j) => d + dh[j] * o[j] * (1 - t[j] * t[j]));
      return {
        da2: [
          dc.map((d, j) => d * n[j] * i[j] * (1 - i[j])),
          dc.map((d, j) => d * c_prev[j] * f[j] * (1 - f[j])),
          dc.map((d, j) => d * i[j] * (1 - n[j] * n[j])),
          dh.map((d, j) => d * t[j] * o[j] * (1 - o[j])),
        ],
        dc,
        dc_prev: dc.map((d, j) => d * f[j]),
      };
    },
    gru(net, s, dh) {
      const { r, z, n, q, h_prev } = s;
      const da_n = dh.map((d, j) => d * (1 - z[j]) * (1 - n[j] * n[j]));
      return {
        da2: [
          da_n.map((d, j) => d * q[j] * r[j] * (1 - r[j])),
          dh.map((d, j) => d * (h_prev[j] - n[j]) * z[j] * (1 - z[j])),
          da_n.map((d, j) => d * r[j]),
        ],
        kept: dh.map((d, j) => d * z[j]),
      };
    },
  };

  // The weights of the settings: matrices of spectral radius 1 times the radius, the forget bias on the gate that keeps.
  // settings: cell, nonlinearity, radius, forget, T, draw, and weight, the number of the weight to look at
  function network(settings, draws) {
    const draw = draws[settings.draw];
    const gates = { rnn: 1, gru: 3, lstm: 4 }[settings.cell];
    const b = Array(gates).fill(0);
    if (gates > 1) b[1] = settings.forget; // f of the LSTM, z of the GRU
    const R = draw.R.slice(0, gates).map((m) => m.map((row) => row.map((w) => settings.radius * w)));
    const H = R[0].length, k = settings.weight;
    return {
      cell: settings.cell, nonlinearity: settings.nonlinearity, T: settings.T,
      R, W: draw.W.slice(0, gates), b, x: draw.x, y: draw.y,
      looked: { gate: Math.min(gates - 1, 2), row: k, column: (k + 1) % H }, // of the candidate n
    };
  }

  // L = 1/2 |h_T - y|^2, and every step's values
  function forward(net) {
    const zero = net.y.map(() => 0);
    const steps = [];
    let h = zero, c = zero;
    for (let t = 0; t < net.T; t++) {
      const s = STEP[net.cell](net, net.x[t], h, c);
      s.h_prev = h;
      steps.push(s);
      h = s.h;
      c = s.c || zero;
    }
    return { loss: h.reduce((sum, h_j, j) => sum + 0.5 * (h_j - net.y[j]) ** 2, 0), steps };
  }

  // dh[t], dc[t]: the gradients of the loss with respect to the states after step t; dw: that of the looked-at weight
  function backward(net, steps) {
    const { gate: g, row, column } = net.looked;
    const last = steps.length - 1;
    const dh = [], dc = [];
    let dw = 0;
    let next = steps[last].h.map((h_j, j) => h_j - net.y[j]);
    let next_c = net.y.map(() => 0);
    for (let t = last; t >= 0; t--) {
      const s = steps[t];
      dh[t] = next;
      const grad = STEP_GRAD[net.cell](net, s, next, next_c);
      if (grad.dc) dc[t] = grad.dc;
      dw += grad.da2[g][row] * s.h_prev[column];
      next = grad.kept ? grad.kept.slice() : net.y.map(() => 0);
      grad.da2.forEach((da, k) => back(net.R[k], da, next));
      next_c = grad.dc_prev || next_c;
    }
    return { dh, dc, dw };
  }

  // All that the pictures show. landscape: the loss as a function of one weight, the others as they are.
  function compute(settings, draws, points) {
    const net = network(settings, draws);
    const { loss, steps } = forward(net);
    const { dh, dc, dw } = backward(net, steps);
    const { gate: g, row, column } = net.looked;
    const w = net.R[g][row][column];
    const offsets = points || Array.from({ length: 81 }, (_, k) => (k - 40) / 20);
    const losses = offsets.map((offset) => {
      const R = net.R.slice();
      R[g] = R[g].map((one, j) => (j === row ? one.map((v, k) => (k === column ? w + offset : v)) : one));
      return forward({ ...net, R }).loss;
    });
    return { loss, steps, dh, dc, w, dw, offsets, losses };
  }

  const norm = (v) => Math.hypot(...v);
  window.playground = { ...(window.playground || {}), compute, norm };
})();
