"""GRUBlockCell. `cells` has the step and its gradient, `cell` the op."""
