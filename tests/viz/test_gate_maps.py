"""Every gate of every unit is in its row and column."""

import numpy as np

from minirnn.viz import gate_map

T, H = 6, 4


def test_units_stand_in_the_order_of_their_forget_gate_in_all_maps(rng: np.random.Generator) -> None:
    gates = {"i": rng.random((T, H)), "f": rng.random((T, H)) * 0.1, "ci": rng.uniform(-1, 1, (T, H))}
    gates["f"] += [0.4, 0.9, 0.0, 0.6]
    picture = gate_map(gates)
    assert picture.data["unit"].tolist() == [1, 3, 0, 2]
    for name, values in gates.items():
        np.testing.assert_array_equal(picture.artists[name].get_array(), values[:, [1, 3, 0, 2]].T)
        np.testing.assert_array_equal(picture.data[name], values[:, [1, 3, 0, 2]].T)
    assert [ax.get_title() for ax in picture.ax] == ["i: input gate", "f: forget gate", "ci: candidate"]
    assert "sorted by the mean of f" in picture.ax[-1].get_xlabel()


def test_gates_have_colors_from_0_to_1_and_candidates_from_minus_1_to_1() -> None:
    picture = gate_map({"u": np.full((T, H), 0.5), "c": np.full((T, H), -0.5)})
    assert picture.artists["u"].get_clim() == (0, 1) and picture.artists["u"].get_cmap().name == "viridis"
    assert picture.artists["c"].get_clim() == (-1, 1) and picture.artists["c"].get_cmap().name == "RdBu_r"


def test_the_text_stands_under_its_steps_and_the_order_can_be_left(rng: np.random.Generator) -> None:
    picture = gate_map({"h": rng.uniform(-1, 1, (T, H))}, text="abcdef", order="")
    assert [label.get_text() for label in picture.ax[0].get_xticklabels()] == list("abcdef")
    assert picture.data["unit"].tolist() == [0, 1, 2, 3]
    assert picture.ax[0].get_xlabel() == "character read"


def test_some_units_are_chosen_at_equal_distances_in_their_order(rng: np.random.Generator) -> None:
    f = rng.random((T, 9))
    all_units = gate_map({"f": f}).data["unit"]
    picture = gate_map({"f": f}, most=3)
    assert picture.data["unit"].tolist() == all_units[[0, 4, 8]].tolist()
    np.testing.assert_array_equal(picture.data["f"], f[:, picture.data["unit"]].T)
    labels = [label.get_text() for label in picture.ax[0].get_yticklabels()]
    assert labels == [str(unit) for unit in picture.data["unit"]]
    assert gate_map({"f": f}, most=20).data["unit"].tolist() == all_units.tolist()
