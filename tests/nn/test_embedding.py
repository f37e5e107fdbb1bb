"""Embedding: its table, its row of padding, where it lives; the values are in `functional/test_stored.py`."""

import numpy as np
import pytest

import minirnn as mr
from minirnn import nn


def test_a_row_of_padding_is_zero_at_first_and_gets_no_gradient(device: str) -> None:
    module = nn.Embedding(5, 3, padding_idx=-2, device=device)
    assert module.padding_idx == 3
    assert repr(module) == "Embedding(5, 3, padding_idx=3)"
    table = module.weight.numpy()
    assert not table[3].any()
    assert table[[0, 1, 2, 4]].all()
    g = mr.grad(module([3, 1, 3]), module.weight, np.ones((3, 3)))
    np.testing.assert_array_equal(g, np.array([0, 1, 0, 0, 0])[:, None] * np.ones((5, 3)))


def test_a_row_of_padding_takes_no_random_numbers_from_the_others() -> None:
    mr.manual_seed(4)
    plain = nn.Embedding(5, 3).weight.numpy()
    mr.manual_seed(4)
    np.testing.assert_array_equal(nn.Embedding(5, 3, padding_idx=0).weight.numpy()[1:], plain[1:])


@pytest.mark.parametrize("freeze", [True, False])
def test_a_given_table_is_copied_and_frozen_if_asked(freeze: bool, rng: np.random.Generator) -> None:
    table = rng.normal(size=(4, 3))
    module = nn.Embedding.from_pretrained(table, freeze=freeze, padding_idx=1)
    np.testing.assert_array_equal(module.weight.numpy(), table)  # also the row of padding, as in torch
    assert module.weight.dtype == np.float64
    assert module.weight.requires_grad is not freeze
    assert (module.num_embeddings, module.embedding_dim, module.padding_idx) == (4, 3, 1)
    table[0] = 0
    assert module.weight.numpy()[0].all()
    assert nn.Embedding.from_pretrained(table).weight.requires_grad is False


def test_reset_draws_anew_and_keeps_padding_at_zero() -> None:
    module = nn.Embedding(5, 3, padding_idx=2)
    before = module.weight.numpy().copy()
    module.reset_parameters()
    assert (module.weight.numpy()[[0, 1, 3, 4]] != before[[0, 1, 3, 4]]).all()
    assert not module.weight.numpy()[2].any()


def test_a_table_goes_where_it_is_sent_and_arrays_to_the_usual_place(composed_device: str) -> None:
    table = mr.tensor(np.ones((2, 3)), device=composed_device)
    assert nn.Embedding(2, 3, _weight=table).weight.device == composed_device
    assert nn.Embedding(2, 3, _weight=table, device="cpu").weight.device == "cpu"
    assert nn.Embedding(2, 3, _weight=np.ones((2, 3)), device=composed_device).weight.device == composed_device
    assert nn.Embedding(2, 3, _weight=np.ones((2, 3))).weight.device == "cpu"
    assert nn.Embedding.from_pretrained(table).weight.device == composed_device
