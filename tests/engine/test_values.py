"""Values of a state dict are arrays that have the methods of Tensors.

Tests `minirnn/engine/values.py`.
"""

import copy
import pickle

import numpy as np
import pytest

import minirnn as mr


def test_values_are_arrays_and_answer_like_tensors() -> None:
    net = mr.nn.Linear(2, 3)
    saved = net.state_dict()
    w = saved["weight"]
    assert isinstance(w, np.ndarray) and w.size == 6 and w.size() == (3, 2) and w.size(0) == 3
    assert isinstance(w.cpu().clone(), mr.Tensor) and w.detach().requires_grad is False
    assert w.numel() == 6 and w.norm().item() == pytest.approx(np.linalg.norm(np.asarray(w)))
    assert type(np.asarray(w)) is np.ndarray and (w * 2 - w).dtype == np.float32
    for twin in (copy.deepcopy(w), pickle.loads(pickle.dumps(w))):
        np.testing.assert_array_equal(twin, w)
        assert twin.size(1) == 2
    with pytest.raises(AttributeError, match="nowhere"):
        _ = w.nowhere


def test_they_are_copies_and_can_be_loaded() -> None:
    net, other = mr.nn.Linear(2, 3), mr.nn.Linear(2, 3)
    old, new = net.state_dict(), other.state_dict()
    other.load_state_dict({k: (0.5 * old[k] + 0.5 * new[k].clone()) for k in new})
    np.testing.assert_allclose(other.weight.numpy(), (old["weight"] + new["weight"]) / 2, rtol=1e-6)
    old["weight"][:] = 7
    assert net.weight.numpy().max() < 7
    assert type(other.weight.array) is np.ndarray
