"""Wrong calls of `nn.functional` and of the layers, activations and losses without recurrence."""

from __future__ import annotations

import numpy as np

from minirnn.nn import functional as F
from tests.hostile.table import rows
from tests.hostile.wrong_call import tensor

B, C, T = 2, 3, 5
X, IDS = tensor(B, C), np.array([0, 2])
INTS = tensor(B, C, dtype=np.int64)
LOGITS, SCALAR = tensor(T, B, C), tensor()
P = np.full((B, C), 0.5, np.float32)
LOSSES = (
    *("mse_loss", "l1_loss", "smooth_l1_loss", "kl_div"),
    *("binary_cross_entropy", "binary_cross_entropy_with_logits"),
)
OF_FLOATS = ("relu", "relu6", "hardtanh", "leaky_relu", "elu", "sigmoid", "tanh", "silu", "gelu", "softplus")
attend = F.scaled_dot_product_attention
Q, K, V = tensor(4, 3), tensor(5, 3), tensor(5, 2)

ROWS = rows(
    globals(),
    r"""
nn.Linear(C, 2)(nn.LSTM(C, C)(LOGITS)) -> got a tuple & output, states = layer(x)
# classes
F.cross_entropy(X, IDS, None, "sum") -> likely reduction='sum'
F.cross_entropy(X, IDS, reduction="avg") -> 'avg' & 'mean'
F.cross_entropy(X, [0, 3]) -> 0 to 3 & 0 .. 2
F.cross_entropy(LOGITS, np.zeros((T, B), int)) -> (5, 2) & (5, 3) & likely classes on the last axis & ops.cross_entropy
F.cross_entropy(X, array(B, dtype=float)) -> float64 & (2,) & integers
F.cross_entropy(X, array(B, 4)) -> (2, 4) & (2, 3)
F.cross_entropy(X, [[0], [1, 2]]) -> cross_entropy & ragged
F.cross_entropy(SCALAR, 0) -> () & (B, C)
F.cross_entropy(INTS, IDS) -> int64 & float16
F.cross_entropy(X, IDS, [1.0, 2.0]) -> weight & (2,) & (3,)
F.cross_entropy(X, IDS, tensor(C)) -> weight requires & detach
F.cross_entropy(X, IDS, tensor(C, device=ELSEWHERE, requires_grad=False)) -> different devices
F.cross_entropy(X, IDS, label_smoothing=2) -> label_smoothing is 2.0 & 0 .. 1
F.cross_entropy(X, IDS, ignore_index=1.0) -> ignore_index is 1.0
F.cross_entropy(X, P, ignore_index=0) -> ignore_index is 0
F.nll_loss(X, P) -> nll_loss & float32 & integers
F.nll_loss(X, [-2, 4]) -> targets run from -2 to 4 & 0 .. 2
F.nll_loss(X, [0]) -> nll_loss & (1,) & (2,)
F.nll_loss(X, IDS, reduction="weighted") -> 'weighted' & 'mean'
F.nll_loss(X, IDS, size_average=True) -> size_average is True
nn.NLLLoss([1.0, 2.0])(X, IDS) -> nll_loss & weight & (2,)
nn.CrossEntropyLoss(label_smoothing=-1) -> label_smoothing is -1.0
nn.CrossEntropyLoss("sum") -> weight is 'sum' & likely reduction='sum'

# binary
F.binary_cross_entropy([1.5], [1.0]) -> 1.5 & 0 .. 1 & likely scores
F.binary_cross_entropy(P, P, [1.0, 2.0]) -> weight & (2,) & (2, 3)
F.binary_cross_entropy_with_logits(X, P, pos_weight=[1.0, 2.0]) -> pos_weight & (2,) & (2, 3)
nn.BCELoss("w") -> weight is 'w' & numbers
nn.BCEWithLogitsLoss(pos_weight=[1]) -> pos_weight & int64

# numbers
F.mse_loss(X, P, weight=[1.0, 2.0, 3.0]) -> weight & (3,) & (2, 3)
F.smooth_l1_loss(X, P, beta=-1) -> smooth_l1_loss & beta is -1.0 & 0 or more
nn.SmoothL1Loss(beta="1") -> SmoothL1Loss & beta is '1'
F.huber_loss(X, P, delta=0) -> huber_loss & delta is 0.0 & above 0
nn.HuberLoss(delta=-1) -> HuberLoss & delta is -1.0
nn.L1Loss(reduction="batchmean") -> L1Loss & 'batchmean'
F.kl_div(X, P, log_target=1) -> kl_div & log_target is 1 & True or False

# sequences
F.ctc_loss(tensor(2, 2, 2, 3), [1], [2], [1]) -> log_probs & (2, 2, 2, 3)
F.ctc_loss(LOGITS, [1, 2], [5, 5], [1, 1], 3) -> blank is 3 & 0 .. 2
F.ctc_loss(LOGITS, [1, 2], [5], [1, 1]) -> input_lengths & (1,) & (2,)
F.ctc_loss(LOGITS, [1, 2], [5, 6], [1, 1]) -> run to 6 & T = 5
F.ctc_loss(LOGITS, [1], [5, 5], [2, -1]) -> target_lengths has -1
F.ctc_loss(LOGITS, [1, 2], [5.0, 5.0], [1, 1]) -> input_lengths & float64
F.ctc_loss(LOGITS, [1, 2, 1], [5, 5], [2, 2]) -> targets & (3,) & (4,)
F.ctc_loss(LOGITS, [[1], [2]], [5, 5], [2, 2]) -> targets & (2, 1) & S = 2
F.ctc_loss(LOGITS, [1, 0], [5, 5], [1, 1]) -> blank is 0 & likely padding
F.ctc_loss(LOGITS, [1, 3], [5, 5], [1, 1]) -> 1 to 3 & 0 .. 2
F.ctc_loss(LOGITS, [1, 2], [5, 5], [1, 1], 0, "max") -> 'max' & 'mean'
F.ctc_loss(LOGITS, [1, 2], [[5, 5]], [1, 1]) -> input_lengths has shape (1, 2)
F.ctc_loss(LOGITS, [[1, 2, 1]], [5, 5], [1, 1]) -> targets has shape (1, 3)
F.ctc_loss(LOGITS, [1, -1], [5, 5], [1, 1]) -> targets run from -1 to 1
nn.CTCLoss(-1) -> CTCLoss & blank is -1
nn.CTCLoss(zero_infinity=1) -> CTCLoss & zero_infinity is 1

# activations
F.hardtanh(X, 2, 1) -> min_val 2.0 & max_val 1.0
nn.Hardtanh(2, 1) -> Hardtanh & min_val 2.0
F.leaky_relu(X, "0.1") -> negative_slope is '0.1'
F.elu(X, float("nan")) -> alpha is nan
F.gelu(X, "tan") -> 'tan' & 'none' & likely 'tanh'
nn.GELU("exact") -> GELU & 'exact' & 'none'
F.softplus(X, 0) -> softplus & beta is 0
nn.Softplus(0) -> Softplus & beta is 0
F.glu(X) -> glu & (2, 3) & even
for NAME in OF_FLOATS logsigmoid glu:
    F.NAME(INTS) -> NAME & int64 & float16
for NAME in relu relu6 hardtanh leaky_relu elu silu dropout:
    F.NAME(X, inplace=3) -> NAME & inplace is 3
    F.NAME([1.0], inplace=True) -> NAME & inplace=True & expected a Tensor
for NAME in Sigmoid/sigmoid Tanh/tanh LogSigmoid/logsigmoid:
    nn.NAME()(INTS) -> WORD & int64
for NAME in ReLU ReLU6 Hardtanh LeakyReLU ELU SiLU Dropout:
    nn.NAME(inplace=3) -> NAME & inplace is 3
for NAME in softmax log_softmax softmin:
    F.NAME(X) -> NAME & dim is None & dim=-1
    F.NAME(X, 0, axis=1) -> NAME & dim=0 & axis=1
    F.NAME(X, 2) -> axis 2 & -2 .. 1
    F.NAME(INTS, 0) -> NAME & int64
for NAME in Softmax LogSoftmax Softmin GLU:
    nn.NAME("last") -> NAME & dim is 'last' & integer

# layers
F.linear(X, tensor(5, 4)) -> linear & (2, 3) & I = 4
F.linear(X, tensor(3, 5)) -> likely weight is transposed
F.linear(X, tensor(2, 2, 3)) -> weight & (2, 2, 3) & (O, I)
F.linear(X, tensor(5, 3), tensor(4)) -> bias & (4,) & (5,)
F.linear(X, tensor(5, 3, device=ELSEWHERE)) -> different devices
F.embedding(IDS, X) -> ids run from 0 to 2 & 0 .. 1
F.embedding(array(2), X) -> embedding & float32 & integers
F.embedding([0], X, 2) -> padding_idx is 2 & -2 .. 1 & V = 2
F.embedding([0], X, max_norm=1.0) -> max_norm is 1.0 & None
F.embedding([0], X, sparse=True) -> sparse is True & dense
F.embedding([0], X, scale_grad_by_freq=True) -> scale_grad_by_freq
nn.Embedding(4, 3, -5) -> Embedding & padding_idx is -5 & -4 .. 3
nn.Embedding(4, 3, max_norm=2) -> Embedding & max_norm is 2
nn.Embedding(4, 3, _weight=X) -> _weight & (2, 3) & (4, 3)
nn.Embedding.from_pretrained(array(2)) -> (2,) & (V, I)
F.dropout(X, 0.5, "no") -> training is 'no'
F.one_hot(X) -> one_hot & float32 & integers
F.one_hot([0, -1]) -> one_hot & -1 to 0
F.one_hot(IDS, 2) -> 0 to 2 & 0 .. 1
F.one_hot(np.zeros(0, int)) -> (0,) & num_classes of 1
F.one_hot(IDS, -2) -> num_classes is -2
F.layer_norm(X, 4) -> layer_norm & (2, 3) & (..., 4)
F.layer_norm(X, ()) -> layer_norm & () & 1 or more
F.layer_norm(X, 3, array(2)) -> weight & (2,) & (3,)
F.layer_norm(INTS, 3) -> layer_norm & int64
F.rms_norm(X, (2, 2)) -> rms_norm & (2, 3) & (..., 2, 2)
F.rms_norm(X, 3, None, "small") -> eps is 'small'
nn.LayerNorm(0) -> LayerNorm & 0 & 1 or more
nn.LayerNorm(3, bias=1) -> LayerNorm & bias is 1
nn.LayerNorm(4)(X) -> layer_norm & (2, 3)
nn.RMSNorm(2.0) -> RMSNorm & 2.0 & integer
F.normalize(X, -1) -> normalize & p is -1 & 0 or more
F.normalize(array(3)) -> axis 1 & -1 .. 0
F.normalize(X, out=X) -> out is given & None
F.cosine_similarity(X, tensor(2, 2)) -> (2, 3) & (2, 2) & broadcast
F.cosine_similarity(X, INTS) -> cosine_similarity & int64
F.pad(X, (1, 2, 3)) -> pad & 3 numbers & at most 4
F.pad(X, (1, 1, 1, 1, 1, 1)) -> pad & 6 numbers & (2, 3)
F.pad(X, (1.0, 1)) -> pad is (1.0, 1) & integers
F.pad(X, (1, 1), "mirror") -> 'mirror' & 'reflect'
F.pad(X, (3, 0), "reflect") -> (3, 0) & at most 2
F.pad(X, (1, 0), "reflect", 1.0) -> value is 1.0 & 'constant'
F.pad(X, (-2, -2)) -> (-2, -2) & no more than all

# attentive
attend(Q, V, V) -> (4, 3) & (5, 2) & (..., L, E)
attend(tensor(3), K, V) -> (3,) & (..., L, E)
attend(Q, K, V, np.ones((4, 5), bool), is_causal=True) -> attn_mask and is_causal
attend(Q, K, V, np.ones((5, 4), bool)) -> (5, 4) & (4, 5)
attend(Q, K, V, np.ones((4, 5), int)) -> int64 & bool
attend(Q, K, V, dropout_p=2) -> dropout_p is 2.0 & 0 .. 1
attend(Q, K, V, enable_gqa=True) -> enable_gqa is True & repeat
attend(Q, tensor(5, 3, device=ELSEWHERE), V) -> different devices
attend(Q, K, V, scale="big") -> scale is 'big'

# of two
for NAME in LOSSES huber_loss:
    F.NAME(X, array(C)) -> NAME & (2, 3) & (3,)
    F.NAME(INTS, np.zeros((B, C), int)) -> NAME & int64 & float16
    F.NAME(X, tensor(B, C, device=ELSEWHERE)) -> NAME & different devices
    F.NAME(X, P, reduction="median") -> NAME & 'median' & 'mean'
for NAME in CrossEntropyLoss NLLLoss BCELoss BCEWithLogitsLoss MSELoss L1Loss SmoothL1Loss KLDivLoss:
    nn.NAME(reduction="average") -> NAME: reduction is 'average'
    nn.NAME(size_average=False) -> NAME: size_average is False & expected reduction=
    nn.NAME(reduce=True) -> NAME: reduce is True & expected reduction=
for NAME in MSELoss L1Loss SmoothL1Loss HuberLoss KLDivLoss BCELoss:
    nn.NAME()(np.zeros((4, 1)), np.zeros(4)) -> input has shape (4, 1), target (4,)
for NAME in LOSSES:
    F.NAME(X, P, size_average=False) -> NAME & size_average is False
    F.NAME(X, P, reduce=True) -> NAME & reduce is True & deprecated
""",
)
