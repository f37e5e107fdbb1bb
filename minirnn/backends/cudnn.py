"""``torch.backends.cudnn.deterministic`` and similar settings can be set but change nothing."""

enabled = deterministic = True
benchmark = False
