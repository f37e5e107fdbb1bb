// Pictures of formulas that need no network: where truncated training ends (chapter 8), descent (chapter 13).
"use strict";

(function () {
  const { plot } = window.playground;
  const range = (n, f) => Array.from({ length: n }, (_, k) => f(k));

  // The mean gradient of r for the lag n in windows of K steps; in one piece if K is not given
  function truncated(r, n, K) {
    const scale = r ** (2 * n - 1);
    if (!K) return scale * (r * r - n * (1 - r * r));
    let sum = 0;
    for (let d = 0; d < K; d++) sum += (1 - d / K) * (1 - r * r) * (r ** (2 * d + 2) - (d < n ? 1 : 0));
    return scale * sum;
  }

  // Where descent from r = 1/2 ends: the gradient changes its sign there. 1 if it does not below 1
  function end(n, K) {
    let low = 0.5, high = 0.9999;
    if (truncated(low, n, K) >= 0 || truncated(high, n, K) < 0) return 1;
    for (let k = 0; k < 60; k++) {
      const middle = (low + high) / 2;
      if (truncated(middle, n, K) < 0) low = middle; else high = middle;
    }
    return low;
  }

  function cut({ n, K }) {
    const rs = range(250, (k) => 0.5 + (k + 0.5) / 500), at = end(n, K), whole = Math.sqrt(n / (n + 1));
    const where = at < 1 ? `ends at r = ${at.toFixed(3)}` : "never stops below r = 1";
    const line = (name, k) => ({ name, points: rs.map((r) => [r, truncated(r, n, k)]) });
    return {
      said: `With the lag ${n} and windows of ${K} steps, training ${where}. In one piece it ends at r = ${whole.toFixed(3)}.`,
      picture: (width) => plot(width, {
        title: "The mean gradient of r", x_label: "recurrent weight r", x: [0.5, 1], y: [-0.2, 0.35],
        curves: [line("in one piece", 0), line(`K = ${K}`, K)], dots: [[whole, 0], ...(at < 1 ? [[at, 0]] : [])],
      }),
    };
  }

  // The distance from the lowest point, of two directions with the curvatures k and k / 10
  function descent({ rate }) {
    const steps = range(31, (n) => n), factors = [1 - rate, 1 - rate / 10];
    const names = ["curvature k", "curvature k/10"];
    const verdict = rate < 1 ? "shrinks without a change of sign" : rate === 1 ? "is 0 after one step" :
      rate < 2 ? "jumps from side to side and shrinks" : rate === 2 ? "jumps from side to side for ever" : "explodes";
    return {
      said: `Each step multiplies the distance by ${factors[0].toFixed(2)} where the curvature is k: it ${verdict}. ` +
        `Where the curvature is k/10 it multiplies by ${factors[1].toFixed(2)}.`,
      picture: (width) => plot(width, {
        title: "The distance from the lowest point", x_label: "step n", x: [0, 30], y: [-1.5, 1.5],
        curves: factors.map((factor, k) => ({ name: names[k], points: steps.map((n) => [n, factor ** n]) })), dots: [],
      }),
    };
  }

  window.playground = { ...window.playground, formulas: { cut, descent }, truncated };
})();
