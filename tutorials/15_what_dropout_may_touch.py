"""
15. What dropout may touch
==========================

*Where in a recurrent network can numbers be dropped without dropping its memory?*

Dropout sets random numbers to zero while training, and scales up the rest, so that no unit can rely on a single other.
In a recurrent network a mask that lies on the way through time acts
again at every step, and what was dropped once is forgotten.
"""

# %%
# An LSTM with masks everywhere
# -----------------------------
# With a mask :math:`m` of zeros and of :math:`1/(1-p)`, this LSTM can put a mask at each place in turn:
#
# ============ ==================================================== ==============================================
# place        formula                                              in ``mr.nn.LSTM``
# ============ ==================================================== ==============================================
# input        :math:`x_t \cdot m`                                  ``input_dropout``, ``dropout`` between layers
# h            :math:`h_{t-1} \cdot m`                              not offered
# weights      :math:`R \cdot m`, one mask for all steps            ``weight_dropout``
# c            :math:`c_{t-1} \cdot m`                              not offered, as you will see
# zoneout      :math:`c_t = z c_{t-1} + (1 - z) c'_t`, z is 0 or 1   ``zoneout``
# ============ ==================================================== ==============================================
#
# With zoneout, :math:`c'_t` is what the step would have made. A mask can be drawn afresh at each step, or once for all
# steps.

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

import minirnn as mr
from minirnn.viz.colors import BLUE, GRAY, GREEN, ORANGE, PURPLE, RED, SIZES

T, B, I, H, p = 40, 8, 8, 32, 0.3
rng = np.random.default_rng(0)
x = rng.normal(size=(T, B, I))
w = rng.normal(size=(I + H, 4 * H)) / np.sqrt(I + H)
none, b = np.zeros(H), np.zeros(4 * H)
upstream = rng.normal(size=(B, H))


def cells(place, seed):
    """The cell states c_0 .. c_T, with masks at one place."""
    draw = np.random.default_rng(seed)

    def mask(*shape):
        return (draw.random(shape) >= p) / (1 - p)

    weights = w * np.concatenate([np.ones((I, 4 * H)), mask(H, 4 * H)]) if place == "weights" else w
    one = mask(B, H)
    c, h = mr.tensor(np.zeros((B, H)), requires_grad=True), mr.tensor(np.zeros((B, H)))
    states = [c]
    for t in range(T):
        x_in = x[t] * mask(B, I) if place == "input" else x[t]
        h_in = h * mask(B, H) if place == "h" else h
        c_in = c * (mask(B, H) if place == "c" else one) if place in ("c", "c, one mask") else c
        y = mr.ops.lstm_block_cell(x_in, c_in, h_in, weights, none, none, none, b, forget_bias=3.0, cell_clip=0.0)
        if place == "zoneout":
            z_c, z_h = (draw.random((2, B, H)) < p).astype(float)
            c, h = z_c * c + (1 - z_c) * y.cs, z_h * h + (1 - z_h) * y.h
        else:
            c, h = y.cs, y.h
        states.append(c)
    return states


def gradients(place, seed=0):
    """dL/dc_t for t = 0 .. T, (T+1, B, H), of a loss that looks at c_T only."""
    states = cells(place, seed)
    return np.stack([g.numpy() for g in mr.grad((states[-1] * upstream).sum(), states)])


# %%
# The gradient of the cell state
# ------------------------------
# First a single sequence. Each row is a unit, each column a time step, and the color is the size of the gradient that
# arrives there. White is exactly zero: nothing that this unit held at this step can be learned.

places = ("none", "c", "c, one mask", "zoneout")
maps = {place: np.abs(gradients(place)[:, 0].T) for place in places}  # (H, T+1)
fig = Figure(figsize=(8.4, 5), layout="constrained")
for ax, (place, sizes) in zip(fig.subplots(2, 2, sharex=True, sharey=True).flat, maps.items(), strict=True):
    image = ax.imshow(np.ma.masked_equal(sizes, 0), cmap=SIZES, norm=LogNorm(1e-3, 1e3), aspect="auto")
    ax.set_title({"none": "no masks", "c": "c, a mask for each step"}.get(place, place))
for ax in fig.axes[2:]:
    ax.set_xlabel("time step t   (\u2190 backpropagation)")
for ax in fig.axes[::2]:
    ax.set_ylabel("unit")
fig.colorbar(image, ax=fig.axes, label="size of dL/dc_t", extend="both")
mr.viz.show(fig)

zeros = {place: (sizes == 0).mean() for place, sizes in maps.items()}
print("share that is exactly zero:", {place: round(float(share), 2) for place, share in zeros.items()})
assert zeros["none"] == zeros["zoneout"] == 0

# %%
# A fresh mask on c cuts the highway of tutorial 5 again and again: a unit keeps a number over k steps with the
# probability :math:`0.7^k`, and after that only noise comes through. One mask for all steps is worse in another way:
# units that are dropped never remember, and the others are multiplied by :math:`1/0.7` at *every* step, so their
# gradients explode. Zoneout cuts nothing: a unit that does not take its new value keeps its old one, and so does the
# gradient.
#
# How much of the direction is left?
# ----------------------------------
# Dropout is meant to add noise. How much of the gradient is still signal? We compare it with the gradient without
# masks, by the cosine of the angle between both, over 10 draws of the masks: 1 is the same direction, 0 is pure noise.

signal = gradients("none")


def cosine(g):
    sizes = np.linalg.norm(g, axis=(1, 2)) * np.linalg.norm(signal, axis=(1, 2))
    return (g * signal).sum(axis=(1, 2)) / sizes  # (T+1,)


colors = {
    "input": BLUE, "h": GREEN, "zoneout": PURPLE, "weights": ORANGE, "c, one mask": GRAY, "c": RED,
}  # fmt: skip
fig = Figure(figsize=(8.4, 3.6), layout="constrained")
left, right = fig.subplots(1, 2)
left.semilogy(np.linalg.norm(signal, axis=(1, 2)), color="black", linewidth=1, label="no masks")
cosines, lengths = {}, {}
for place, color in colors.items():
    drawn = [gradients(place, seed) for seed in range(10)]
    lengths[place] = np.mean([np.linalg.norm(g, axis=(1, 2)) for g in drawn], axis=0)
    cosines[place] = np.mean([cosine(g) for g in drawn], axis=0)
    left.semilogy(lengths[place], color=color, label=place)
    right.plot(cosines[place], color=color, label=place)
left.set_title("length of dL/dc_t, all units and rows")
right.set_title("cosine with the gradient without masks")
right.axhline(0, color="0.6", linewidth=0.8)
for ax in (left, right):
    ax.set_xlabel("time step t   (\u2190 backpropagation)")
left.legend(frameon=False, fontsize="small", ncols=2)
mr.viz.show(fig)
for place in colors:
    print(f"{place:<12} at step 0: length {lengths[place][0]:10.3g}, cosine {cosines[place][0]:5.2f}")
assert abs(cosines["c"][0]) < 0.05 and cosines["c"][20] < 0.1 and lengths["c, one mask"][0] > 1e5
assert min(cosines[place][0] for place in ("input", "h", "zoneout")) > 0.4 > cosines["weights"][0] > 0.1

# %%
# Masks on the input and on h, and zoneout, leave a good part of the direction over forty steps, since they stand
# beside the highway. A mask on the weights is stronger here, for it stays the same in all steps: it makes another
# network of this one, whose gradient is right for *that* network. Under a fresh mask on c nothing is left.
#
# Can it still learn to remember?
# -------------------------------
# The task: keep a *number* between -1 and 1, which is shown at the first step, over twenty steps of noise. Always to
# say 0 has a mean squared error of 1/3. Everything as above, trained for 150 steps:


def learns(place, steps=150, T=20, B=32, H=16):
    rng, draw = np.random.default_rng(1), np.random.default_rng(2)
    w = mr.nn.Parameter(rng.normal(size=(2 + H, 4 * H)) / np.sqrt(2 + H))
    b, out = mr.nn.Parameter(np.zeros(4 * H)), mr.nn.Parameter(rng.normal(size=H) / np.sqrt(H))
    optimizer = mr.optim.Adam([w, b, out], lr=0.01)
    none, zero, losses = np.zeros(H), mr.tensor(np.zeros((B, H))), []
    for _ in range(steps):
        number = rng.uniform(-1, 1, B)
        x = 0.3 * rng.normal(size=(T, B, 2))
        x[:, :, 1] = 0
        x[0] = np.stack([number, np.ones(B)], axis=1)  # the second input says: this is it
        c = h = zero
        for t in range(T):
            c_in = c * ((draw.random((B, H)) >= p) / (1 - p)) if place == "c" else c
            y = mr.ops.lstm_block_cell(x[t], c_in, h, w, none, none, none, b, forget_bias=3.0, cell_clip=0.0)
            if place == "zoneout":
                z_c, z_h = (draw.random((2, B, H)) < p).astype(float)
                c, h = z_c * c + (1 - z_c) * y.cs, z_h * h + (1 - z_h) * y.h
            else:
                c, h = y.cs, y.h
        loss = ((h @ out - number) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


ax = Figure(figsize=(8, 3), layout="constrained").add_subplot()
ends = {}
for place, color in (("none", "black"), ("zoneout", PURPLE), ("c", RED)):
    losses = learns(place)
    ends[place] = float(np.mean(losses[-20:]))
    ax.plot(
        losses, color=color, linewidth=1, label={"none": "no masks", "c": "a mask on c for each step"}.get(place, place)
    )
ax.axhline(1 / 3, color="0.5", linestyle="--", linewidth=1, label="always to say 0: 1/3")
ax.set_ylim(bottom=0)
ax.set_xlabel("training step")
ax.set_ylabel("mean squared error")
ax.set_title("Remember a number over twenty steps")
ax.legend(frameon=False)
mr.viz.show(ax.figure)
print("mean of the last twenty steps:", {place: round(loss, 3) for place, loss in ends.items()})
assert ends["none"] < 0.01 and ends["none"] < ends["zoneout"] < ends["c"] / 2

# %%
# (The masks are on where these errors are measured.) With masks on c the network does learn something, since units
# can remind each other through h. But it remembers badly: its error stays more than twice
# that of zoneout.
#
# In the library
# --------------
# ``mr.nn.LSTM`` offers what stands beside the highway. Its masks can be seen in gradients: what was dropped gets none.
# Here are the gradients by the input with ``input_dropout``, a mask for each step or, with ``variational=True``, one
# for all steps, and the gradient by the recurrent weights with ``weight_dropout``:


def gradient_by(what, **options):
    mr.manual_seed(0)
    lstm = mr.nn.LSTM(I, 12, dtype="float64", **options)
    leaf = mr.tensor(x[:, :1], requires_grad=True)
    output, _ = lstm(leaf)
    by = {"x": leaf, "R": lstm.weight_hh_l0}[what]
    g = mr.grad((output**2).sum(), by).numpy()
    return (g[:, 0] if what == "x" else g).T  # (I, T) or (12, 4*12)


shown = {
    "dL/dx, a mask for each step": gradient_by("x", input_dropout=p),
    "dL/dx, one mask for all steps": gradient_by("x", input_dropout=p, variational=True),
    "dL/dR, weights dropped": gradient_by("R", weight_dropout=p),
}
fig = Figure(figsize=(8.4, 4.6), layout="constrained")
for ax, (title, g) in zip(fig.subplots(3, 1), shown.items(), strict=True):
    ax.imshow(np.ma.masked_equal(np.abs(g), 0), cmap=SIZES, norm=LogNorm(), aspect="auto")
    ax.set_title(f"{title}   (white: exactly 0)", fontsize="medium")
    ax.set_ylabel("input" if "x" in title else "unit")
    ax.set_xlabel("time step t" if "x" in title else "gates i, f, n, o of the units", fontsize="small")
mr.viz.show(fig)
each, one, weights = ((g == 0) for g in shown.values())
assert (one.all(axis=1) == one.any(axis=1)).all() and not (each.all(axis=1) == each.any(axis=1)).all()
print("dropped:", ", ".join(f"{dropped.mean():.0%}" for dropped in (each, one, weights)))

# %%
# In evaluation nothing is dropped. Zoneout then takes the mean of what it would do at random,
# :math:`c_t = p\,c_{t-1} + (1 - p)\,c'_t`; that is one line to check:

lstm = mr.nn.LSTM(I, H, dtype="float64", zoneout=p).eval()
plain = mr.nn.LSTM(I, H, dtype="float64").eval()
plain.load_state_dict(lstm.state_dict())
before = mr.nn.LSTMHidden(h=mr.tensor(rng.normal(size=(1, B, H)) / 2), c=mr.tensor(rng.normal(size=(1, B, H))))
_, zoned = lstm(mr.tensor(x[:1]), before)
_, new = plain(mr.tensor(x[:1]), before)
difference = np.abs(zoned.c.numpy() - (p * before.c.numpy() + (1 - p) * new.c.numpy())).max()
print(f"zoneout in evaluation differs from the mean by {difference:.0e}")
assert difference < 1e-14

# %%
# Masks are drawn from a counter-based generator: the numbers depend on the seed and on *which element* it is, on
# nothing else. So a mask is the same on every device, and a run can be repeated elsewhere.

outputs = []
for name in ("cpu", "cuda-sim"):
    if mr.devices.available()[name] is None:
        mr.manual_seed(7)
        lstm = mr.nn.LSTM(I, 12, 2, dropout=0.4, dtype="float64", device=name)
        outputs.append(lstm(mr.tensor(x[:6], device=name))[0].numpy())
difference = max(np.abs(output - outputs[0]).max() for output in outputs)
print(f"devices tried: {len(outputs)}, largest difference {difference:.0e}")
assert difference < 1e-12

# %%
# Try it
# ------
# Put a mask on the candidate alone (recurrent dropout without memory loss, Semeniuta et al. 2016): what has to be
# added to ``cells``, and where does its line lie in the second figure? Then try ``p = 0.6``.
#
# Then look at :doc:`exercise </exercises>` ``ex07`` (LSTM cell): which of its terms would a mask on h appear in?
#
# Then write it yourself: :doc:`exercise </exercises>` ``ex26`` (variational dropout).
