"""The cases of the tests of optimizers and schedules, run in minirnn and, for the stored values, in torch."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

SHAPES = [(3, 5), (4,), ()]
STEPS = 20
STORED_AFTER = (1, 2, 3, 5, 10, 20)
"""Steps after which the parameters are stored."""

OPTIMIZERS: dict[str, dict[str, Any]] = {
    "SGD plain": {"lr": 0.1},
    "SGD default": {},
    "SGD decay": {"lr": 0.1, "weight_decay": 0.3},
    "SGD momentum": {"lr": 0.05, "momentum": 0.9},
    "SGD dampening": {"lr": 0.05, "momentum": 0.9, "dampening": 0.4},
    "SGD nesterov": {"lr": 0.05, "momentum": 0.8, "weight_decay": 0.3, "nesterov": True},
    "SGD maximize": {"lr": 0.02, "momentum": 0.7, "dampening": 0.2, "weight_decay": 0.3, "maximize": True},
    "Adam": {},
    "Adam all": {"lr": 0.1, "betas": (0.8, 0.95), "eps": 0.01, "weight_decay": 0.3},
    "Adam amsgrad": {"lr": 0.1, "betas": (0.5, 0.6), "amsgrad": True},
    "Adam maximize": {"lr": 0.1, "weight_decay": 0.2, "maximize": True},
    "Adam decoupled": {"lr": 0.1, "weight_decay": 0.3, "decoupled_weight_decay": True},
    "AdamW": {"lr": 0.05},
    "AdamW all": {"lr": 0.1, "betas": (0.6, 0.7), "eps": 0.02, "weight_decay": 0.4, "amsgrad": True, "maximize": True},
    "RMSprop": {},
    "RMSprop all": {
        "lr": 0.03,
        "alpha": 0.8,
        "eps": 0.01,
        "weight_decay": 0.3,
        "momentum": 0.6,
        "centered": True,
        "maximize": True,
    },
    "RMSprop momentum": {"lr": 0.02, "momentum": 0.9},
    "RMSprop centered": {"lr": 0.02, "alpha": 0.7, "centered": True},
    "Adagrad": {},
    "Adagrad all": {
        "lr": 0.3,
        "lr_decay": 0.2,
        "weight_decay": 0.3,
        "initial_accumulator_value": 0.5,
        "eps": 0.01,
    },
    "Adagrad maximize": {"lr": 0.1, "maximize": True},
    "Adadelta": {},
    "Adadelta all": {"lr": 2.0, "rho": 0.6, "eps": 0.01, "weight_decay": 0.3, "maximize": True},
    "NAdam": {},
    "NAdam all": {"lr": 0.1, "betas": (0.8, 0.95), "eps": 0.01, "weight_decay": 0.3, "momentum_decay": 0.1},
    "ASGD": {},
    "ASGD all": {"lr": 0.1, "lambd": 0.02, "alpha": 0.6, "t0": 3, "weight_decay": 0.1, "maximize": True},
    "NAdam decoupled": {"lr": 0.1, "weight_decay": 0.3, "decoupled_weight_decay": True, "maximize": True},
}

GROUPS = {
    "SGD groups": ({"lr": 0.1, "momentum": 0.9}, {}, {"lr": 0.02, "momentum": 0.0, "weight_decay": 0.4}),
    "Adam groups": ({"lr": 0.1}, {"betas": (0.5, 0.6), "amsgrad": True}, {"lr": 0.03, "maximize": True}),
}
"""The constructor's settings, those of a group of the first parameter, and those of a group of the others."""


def start(seed: int = 0) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The initial parameters, and the centers of their bowls, which never change."""
    rng = np.random.Generator(np.random.Philox(seed))
    return [rng.normal(size=s) for s in SHAPES], [rng.normal(size=s) for s in SHAPES]


def gradient(ps: list[Any], centers: list[np.ndarray], k: int) -> list[Any]:
    """Gradients of bowls with a wobbling center; the second parameter gets none in every third step."""
    return [
        None if j == 1 and k % 3 == 0 else (p - c * np.sin(k)) * 2
        for j, (p, c) in enumerate(zip(ps, centers, strict=True))
    ]


def made(library: Any, case: str, ps: list[Any]) -> Any:
    """The optimizer of a case, by `library.optim`."""
    optimizer = getattr(library.optim, case.split()[0])
    if case in GROUPS:
        settings, first, others = GROUPS[case]
        return optimizer([{"params": ps[:1], **first}, {"params": ps[1:], **others}], **settings)
    return optimizer(ps, **OPTIMIZERS[case])


def trajectory(
    library: Any,
    case: str,
    leaf: Callable[[np.ndarray], Any],
    tensor: Callable[[np.ndarray], Any],
    value: Callable[[Any], np.ndarray],
) -> np.ndarray:
    """The parameters after each of `STORED_AFTER` steps, side by side: (steps stored, numbers)."""
    begin, centers = start()
    ps = [leaf(a) for a in begin]
    optimizer = made(library, case, ps)
    rows = []
    for k in range(STEPS):
        for p, g in zip(ps, gradient([value(p) for p in ps], centers, k), strict=True):
            p.grad = None if g is None else tensor(g)
        optimizer.step()
        if k + 1 in STORED_AFTER:
            rows.append(np.concatenate([value(p).reshape(-1) for p in ps]))
    return np.array(rows)


# ---- LBFGS, which calls a closure

LBFGS: dict[str, tuple[dict[str, Any], int]] = {
    "plain": ({"lr": 0.05, "history_size": 3}, 3),
    "few iterations": ({"lr": 0.02, "max_iter": 4}, 5),
    "search": ({"line_search_fn": "strong_wolfe"}, 3),
    "search, few calls": ({"line_search_fn": "strong_wolfe", "history_size": 2, "max_eval": 7}, 4),
    "search, far": (
        {"line_search_fn": "strong_wolfe", "lr": 40.0, "tolerance_grad": 1e-2, "tolerance_change": 1e-4},
        8,
    ),
}
"""The settings, and the number of steps."""


def valley(library: Any, case: str, leaf: Callable[[np.ndarray], Any]) -> tuple[Any, list[float]]:
    """The optimizer of a case in a valley that bends, of two parameters, and the loss of each call of its closure."""
    rng = np.random.Generator(np.random.Philox(5))
    options, steps = LBFGS[case]
    a, b = leaf(rng.normal(size=6)), leaf(2 * rng.normal(size=(2, 3)))
    optimizer, found = library.optim.LBFGS([a, b], **options), []

    def closure() -> Any:
        optimizer.zero_grad()
        z = a.reshape(2, 3)
        loss = ((b - z * z) ** 2).sum() * 3 + ((1 - a) ** 2).sum() + ((a[1:] - a[:-1] ** 2) ** 2).sum() * 10
        loss.backward()
        found.append(loss.item())
        return loss

    for _ in range(steps):
        optimizer.step(closure)
    return optimizer, found


def mean_of_asgd(library: Any, leaf: Callable[[np.ndarray], Any]) -> tuple[Any, Any]:
    """The parameter after eight steps of ASGD, and the mean that it keeps."""
    p = leaf(start()[0][0])
    optimizer = library.optim.ASGD([p], **OPTIMIZERS["ASGD all"])
    for _ in range(8):
        optimizer.zero_grad()
        (p**3).sum().backward()
        optimizer.step()
    return p, optimizer.state[p]["ax"]


# ---- schedules: functions of the library's lr_scheduler and an optimizer with two groups


def _warm_up_and_cosine(s: Any, o: Any) -> Any:
    parts = [s.LinearLR(o, start_factor=0.1, total_iters=4), s.CosineAnnealingLR(o, T_max=20, eta_min=0.001)]
    return s.SequentialLR(o, parts, [4])


SCHEDULES: dict[str, Callable[[Any, Any], Any]] = {
    "LambdaLR": lambda s, o: s.LambdaLR(o, lambda e: 0.9**e),
    "LambdaLR each": lambda s, o: s.LambdaLR(o, [lambda e: 1 / (1 + e), lambda e: 0.5 + 0.5 * math.cos(e)]),
    "MultiplicativeLR": lambda s, o: s.MultiplicativeLR(o, lambda e: 1 - 0.5 / (e + 1)),
    "StepLR": lambda s, o: s.StepLR(o, 4, 0.7),
    "StepLR default": lambda s, o: s.StepLR(o, 7),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [3, 11, 8, 11], 0.6),
    "ConstantLR": lambda s, o: s.ConstantLR(o),
    "ConstantLR other": lambda s, o: s.ConstantLR(o, 0.25, 9),
    "LinearLR": lambda s, o: s.LinearLR(o),
    "LinearLR down": lambda s, o: s.LinearLR(o, 0.9, 0.2, 13),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, 0.93),
    "PolynomialLR": lambda s, o: s.PolynomialLR(o),
    "PolynomialLR square": lambda s, o: s.PolynomialLR(o, 17, 2.0),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, 9),
    "CosineAnnealingLR low": lambda s, o: s.CosineAnnealingLR(o, 13, 0.01),
    "CosineAnnealingWarmRestarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 6),
    "CosineAnnealingWarmRestarts longer": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, 2, 0.002),
    "CosineAnnealingWarmRestarts thrice": lambda s, o: s.CosineAnnealingWarmRestarts(o, 2, 3),
    "CyclicLR": lambda s, o: s.CyclicLR(o, 0.01, 0.2, 5),
    "CyclicLR triangular2": lambda s, o: s.CyclicLR(o, [0.01, 0.02], [0.2, 0.3], 3, 6, "triangular2"),
    "CyclicLR exp_range": lambda s, o: s.CyclicLR(o, 0.01, 0.2, 4, mode="exp_range", gamma=0.97),
    "CyclicLR own": lambda s, o: s.CyclicLR(o, 0.01, 0.2, 4, scale_fn=lambda x: 1 / x, cycle_momentum=False),
    "CyclicLR own by step": lambda s, o: s.CyclicLR(
        o, 0.01, 0.2, 4, scale_fn=lambda x: 1 / (1 + x), scale_mode="iterations"
    ),
    "OneCycleLR": lambda s, o: s.OneCycleLR(o, 0.3, 41),
    "OneCycleLR epochs": lambda s, o: s.OneCycleLR(o, [0.3, 0.5], epochs=7, steps_per_epoch=6, cycle_momentum=False),
    "OneCycleLR linear": lambda s, o: s.OneCycleLR(
        o, 0.3, 45, pct_start=0.4, anneal_strategy="linear", div_factor=7, final_div_factor=50.0
    ),
    "OneCycleLR three": lambda s, o: s.OneCycleLR(
        o, 0.3, 50, pct_start=0.2, three_phase=True, base_momentum=[0.7, 0.75], max_momentum=0.9
    ),
    "SequentialLR": _warm_up_and_cosine,
    "SequentialLR three": lambda s, o: s.SequentialLR(
        o, [s.ConstantLR(o, 0.1, 3), s.ExponentialLR(o, 0.9), s.StepLR(o, 2, 0.5)], milestones=[5, 12]
    ),
    "SequentialLR one": lambda s, o: s.SequentialLR(o, [s.StepLR(o, 3, 0.5)], []),
    "SequentialLR short": lambda s, o: s.SequentialLR(
        o, [s.ConstantLR(o, 0.1, 3), s.ExponentialLR(o, 0.9), s.LinearLR(o, 0.2, 0.7, 6)], milestones=[1, 2]
    ),
    "SequentialLR from the second": lambda s, o: s.SequentialLR(
        o, [s.ConstantLR(o, 0.1, 3), s.LinearLR(o, 0.2, 0.7, 4), s.StepLR(o, 2, 0.5)], milestones=[0, 5]
    ),
    "LambdaLR in turn": lambda s, o: s.SequentialLR(
        o, [s.LambdaLR(o, lambda e: 0.9**e), s.MultiplicativeLR(o, lambda e: 1 - 0.5 / (e + 1))], milestones=[4]
    ),
    "ChainedScheduler one": lambda s, o: s.ChainedScheduler([s.StepLR(o, 3, 0.5)]),
    "ChainedScheduler": lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 5), s.ExponentialLR(o, 0.9)], o),
    "ChainedScheduler cosine": lambda s, o: s.ChainedScheduler(
        [s.CosineAnnealingLR(o, 8), s.MultiStepLR(o, [4, 9], 0.5), s.LinearLR(o, 0.2, 0.8, 6)]
    ),
    "ReduceLROnPlateau": lambda s, o: s.ReduceLROnPlateau(o, patience=2),
    "ReduceLROnPlateau abs": lambda s, o: s.ReduceLROnPlateau(
        o, "min", 0.5, 1, threshold=0.05, threshold_mode="abs", cooldown=2, min_lr=[0.02, 0.001]
    ),
    "ReduceLROnPlateau max": lambda s, o: s.ReduceLROnPlateau(o, "max", 0.6, 0, threshold=0.02, eps=0.005),
    "ReduceLROnPlateau max abs": lambda s, o: s.ReduceLROnPlateau(
        o, "max", 0.6, 1, threshold=0.1, threshold_mode="abs"
    ),
}
EPOCHS = 40

WITHOUT_FORMULA = {"ChainedScheduler cosine": 9, "LambdaLR in turn": 4}
"""From these epochs on, torch's value depends on the value before, minirnn's on the epoch alone, and they differ.
torch's cosine forgets factors after its lowest point, and its MultiplicativeLR begins with the present value. Tests of
the schedules compare both courses with their formulas."""


def metric(epoch: int) -> float:
    """A validation loss that falls, wobbles and stays."""
    return 1 / (1 + epoch) + 0.05 * math.sin(3 * epoch)


def kinds(case: str) -> Iterator[str]:
    """The optimizers that a schedule is run with: where momentum is scheduled, also one with betas."""
    yield "SGD"
    if case.startswith(("CyclicLR", "OneCycleLR")):
        yield "Adam"


def scheduled(library: Any, kind: str, ps: list[Any]) -> Any:
    """An optimizer with two groups of different step sizes."""
    settings = {"momentum": 0.9} if kind == "SGD" else {}
    return getattr(library.optim, kind)([{"params": ps[:1]}, {"params": ps[1:], "lr": 0.03}], lr=0.1, **settings)


def advance(schedule: Any, epoch: int) -> None:
    schedule.step(*([metric(epoch)] if "Plateau" in type(schedule).__name__ else []))


def rates(optimizer: Any) -> list[float]:
    """Step sizes and momentum of both groups."""
    return [
        x
        for group in optimizer.param_groups
        for x in (group["lr"], group["betas"][0] if "betas" in group else group["momentum"])
    ]


def course(library: Any, case: str, kind: str, leaf: Callable[[np.ndarray], Any]) -> np.ndarray:
    """Step sizes and momentum at the beginning and after each epoch: (EPOCHS + 1, 4)."""
    ps = [leaf(a) for a in start()[0]]
    optimizer = scheduled(library, kind, ps)
    schedule = SCHEDULES[case](library.optim.lr_scheduler, optimizer)
    rows = [rates(optimizer)]
    for epoch in range(EPOCHS):
        optimizer.step()
        advance(schedule, epoch)
        rows.append(rates(optimizer))
        assert schedule.get_last_lr() == [group["lr"] for group in optimizer.param_groups]
    return np.array(rows)


# ---- schedules that are resumed after an epoch

RESUMED: dict[str, Callable[[Any, Any, int], Any]] = {
    "StepLR": lambda s, o, e: s.StepLR(o, 4, 0.7, last_epoch=e),
    "MultiStepLR": lambda s, o, e: s.MultiStepLR(o, [3, 9], 0.7, last_epoch=e),
    "LinearLR": lambda s, o, e: s.LinearLR(o, 0.1, 0.9, 12, last_epoch=e),
    "ExponentialLR": lambda s, o, e: s.ExponentialLR(o, 0.9, last_epoch=e),
    "CosineAnnealingLR": lambda s, o, e: s.CosineAnnealingLR(o, 9, 0.01, last_epoch=e),
    "LambdaLR": lambda s, o, e: s.LambdaLR(o, lambda k: 1 / (1 + k), last_epoch=e),
    "MultiplicativeLR": lambda s, o, e: s.MultiplicativeLR(o, lambda k: 1 - 0.5 / (k + 1), last_epoch=e),
    "PolynomialLR": lambda s, o, e: s.PolynomialLR(o, 20, 2.0, last_epoch=e),
    "ConstantLR": lambda s, o, e: s.ConstantLR(o, 0.5, 9, last_epoch=e),
    "CosineAnnealingWarmRestarts": lambda s, o, e: s.CosineAnnealingWarmRestarts(o, 4, 2, last_epoch=e),
    "CyclicLR": lambda s, o, e: s.CyclicLR(o, 0.01, 0.2, 5, last_epoch=e),
    "OneCycleLR": lambda s, o, e: s.OneCycleLR(o, 0.3, 41, last_epoch=e),
}
"""Schedules recreated with the optimizer after epoch 5."""


def resumed(library: Any, case: str, leaf: Callable[[np.ndarray], Any]) -> np.ndarray:
    """Step sizes and momentum from epoch 5 to 25 of a schedule that was recreated there."""
    optimizer = scheduled(library, "SGD", [leaf(a) for a in start()[0]])
    if case == "CyclicLR":  # torch does not read it when it resumes
        optimizer.param_groups[0]["initial_lr"] = optimizer.param_groups[1]["initial_lr"] = 0.01
    first = RESUMED[case](library.optim.lr_scheduler, optimizer, -1)
    for _ in range(6):
        optimizer.step()
        first.step()
    schedule = RESUMED[case](library.optim.lr_scheduler, optimizer, 5)
    rows = [rates(optimizer)]
    for _ in range(6, 25):
        optimizer.step()
        schedule.step()
        rows.append(rates(optimizer))
    return np.array(rows)


def sent_between(library: Any, T_mult: int, leaf: Callable[[np.ndarray], Any]) -> np.ndarray:
    """Step sizes of warm restarts that are sent to quarters of epochs."""
    optimizer = scheduled(library, "SGD", [leaf(a) for a in start()[0]])
    schedule = library.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 3, T_mult)
    rows = []
    for k in range(60):
        schedule.step(k / 4)
        rows.append(rates(optimizer))
    return np.array(rows)
