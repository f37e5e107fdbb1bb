"""``torch.backends.cudnn.deterministic = True`` and relatives may be set, and change nothing."""

enabled = deterministic = True
benchmark = False
