"""The closed table of scripts for what a message alone tells: by symptom, with blanks for sizes, dtypes and devices.

A blank is `{capture}` (a whole number), `{capture:sizes}` ("4, 3, 8"), `{capture:dtype}` or `{capture:device}`; nothing
else of a message gets into a script. Of several templates of a symptom the first that raises the error is shown.
"""

from __future__ import annotations

_PARAMETER = "w = torch.randn(3, requires_grad=True)\n"

TEMPLATES: dict[str, tuple[str, ...]] = {
    "matmul-shapes": (
        "a = torch.randn({rows}, {inner})\nb = torch.randn({inner2}, {columns})\na @ b",
    ),
    "bmm-shapes": (
        "a = torch.randn({batch}, 2, {inner})\nb = torch.randn({batch2}, {inner2}, 3)\ntorch.bmm(a, b)",
        "a = torch.randn(2, {rows}, {inner})\nb = torch.randn(2, {inner2}, {columns})\ntorch.bmm(a, b)",
        "a = torch.randn(2, 3, {inner})\nb = torch.randn(2, {inner2}, 4)\ntorch.bmm(a, b)",
    ),
    "matvec-shapes": ("matrix = torch.randn({rows}, {inner})\nvector = torch.randn({length})\nmatrix @ vector",),
    "dot-length": ("a = torch.randn({a})\nb = torch.randn({b})\na @ b",),
    "matmul-dtypes": (
        "a = torch.randn(2, 3).to({a:dtype})\nb = torch.randn(3, 4).to({b:dtype})\na @ b",
        "a = torch.randn(3).to({a:dtype})\nb = torch.randn(3).to({b:dtype})\na @ b",
        "x = torch.randn(2, 3).to({a:dtype})\nweight = torch.randn(4, 3).to({b:dtype})\n"
        "F.linear(x, weight)",
        "x = torch.randn(2, 3).to({a:dtype})\nweight = torch.randn(4, 3).to({b:dtype})\n"
        "bias = torch.randn(4).to({b:dtype})\n"
        "F.linear(x, weight, bias)",
    ),
    "broadcast-sizes": ("a = torch.randn({dim:leading}{a})\nb = torch.randn({dim:leading}{b})\na + b",),
    "cat-sizes": (
        "a = torch.randn({expected}{axis:after})\nb = torch.randn({got}{axis:after})\n"
        "torch.cat([a] * {index} + [b], dim={axis})",
        "a = torch.randn(2, {expected})\nb = torch.randn(2, {got})\ntorch.cat([a] * {index} + [b])",
        "a = torch.randn(2, {expected})\nb = torch.randn(2, {got})\ntorch.cat([a, b])",
    ),
    "stack-sizes": (
        "a = torch.zeros({a:sizes})\nb = torch.zeros({b:sizes})\ntorch.stack([a] * {entry} + [b])",
    ),
    "collate-ragged": (
        "a = torch.zeros({first:sizes})\nb = torch.zeros({second:sizes})\n"
        "torch.utils.data.default_collate([a] * {b} + [b])",
        "dataset = [torch.zeros(3, 4), torch.zeros(3, 5)]  # sizes are made up: the message names none\n"
        "next(iter(torch.utils.data.DataLoader(dataset, batch_size=2, num_workers=1)))",
    ),
    "cat-rank": (
        "a = torch.randn({a:rank})\nb = torch.randn({b:rank})\ntorch.cat([a, b])",
        "a = torch.randn({a:rank})\nb = torch.randn({b:rank})\ntorch.cat([a] * {index} + [b])",
    ),
    "view-element-count": ("x = torch.zeros({count})\nx.view({shape:sizes})",),
    "view-not-contiguous": ("x = torch.zeros(2, 3, 4).transpose(1, 2)  # sizes are made up\nx.view(2, -1)",),
    "reshape-inference": (
        "x = torch.zeros(2, 3)\nx.view(-1, -1)", "x = torch.zeros({shape:positive})\nx.view({shape:sizes})",
        "x = torch.zeros(12)\nx.view({shape:sizes})",
    ),
    "index-out-of-bounds": (
        "x = torch.zeros({dim:leading}{size})\nx[{dim:colons}{index}]",
        "x = torch.zeros({shape:sizes})\nx.select({dim}, {index})",
        "x = torch.zeros({dim:leading}{size})\nindex = torch.tensor([{index}])\nx[{dim:colons}index]",
        "x = torch.zeros({shape:sizes})\nx[{index}]",
        "x = torch.zeros(2, {size})\nindex = torch.full((2, 1), {index})\nx.gather(1, index)",
        "x = torch.zeros({size}, 2)\nindex = torch.full((1, 2), {index})\nx.gather(0, index)",
        "x = torch.zeros(2, {size})\nindex = torch.full((2, 1), {index})\nx.scatter(1, index, 1.0)",
    ),
    "embedding-index": (
        "table = nn.Embedding({rows}, 4)\ntable(torch.tensor([{index}]))",
        "table = nn.Embedding(10, 4)  # sizes are made up: the message names none\ntable(torch.tensor([10]))",
    ),
    "class-label-out-of-bounds": (
        "scores = torch.randn(2, {label:classes})  # as many classes as would be one too few\n"
        "target = torch.full((2,), {label})\nF.cross_entropy(scores, target)",
    ),
    "dimension-out-of-range": (
        "x = torch.zeros({low:ranked})\nx.sum({dim})", "x = torch.zeros({low:ranked})\nx.softmax({dim})",
        "x = torch.zeros({low:ranked})\nx.size({dim})", "x = torch.zeros({dims:rank})\nx.sum({dim})",
        "x = torch.zeros({high:ranked1})\nx.unsqueeze({dim})",
        "x = torch.zeros({low:ranked})\nx.flatten({dim})",
    ),
    "conv-channels": (
        "weight = torch.randn({weight:sizes})\nx = torch.randn({input:sizes})\n"
        "F.conv{input:spatial}d(x, weight, groups={groups})",
        "weight = torch.randn({weight:sizes})\nx = torch.randn({input:sizes})\n"
        "F.conv_transpose{input:spatial}d(x, weight, groups={groups})",
    ),
    "conv-input-rank": (
        "weight = torch.randn(8, 3{low:kernel})  # the layer is made up\nx = torch.randn({input:sizes})\n"
        "F.conv{low:minus2}d(x, weight)",
        "weight = torch.randn({weight:sizes})\nx = torch.randn({input:sizes})\n"
        "F.conv{weight:spatial}d(x, weight)",
    ),
    "conv-kernel-too-large": (
        "x = torch.randn(1, 1, {size:sizes})\nweight = torch.randn(1, 1, {kernel:sizes})\n"
        "F.conv{size:dims}d(x, weight)",
    ),
    "loss-batch-size": (
        "scores = torch.randn({input}, 10)  # 10 classes are made up\n"
        "target = torch.zeros({target}, dtype=torch.long)\nF.cross_entropy(scores, target)",
    ),
    "loss-target-size": (
        "x = torch.rand({input:sizes})\ntarget = torch.rand({target:sizes})\n"
        "F.binary_cross_entropy_with_logits(x, target)",
        "x = torch.rand({input:sizes})\ntarget = torch.rand({target:sizes})\n"
        "F.binary_cross_entropy(x, target)",
    ),
    "cross-entropy-target-dtype": (
        "scores = torch.randn(2, 10)\ntarget = torch.zeros(2).to({got:dtype})\n"
        "F.cross_entropy(scores, target)",
        "scores = torch.randn(2, 10)\ntarget = torch.zeros(2, 10).to({got2:dtype})\n"
        "F.cross_entropy(scores, target)",
    ),
    "scalar-type-mismatch": (
        "scores = torch.randn(2, 10)\ntarget = torch.zeros(2).to({got:dtype})\nF.nll_loss(scores, target)",
        "a = torch.randn(2, 3).to({expected:dtype})\nb = torch.randn(3, 4).to({got:dtype})\na @ b",
        "a = torch.randn(2, 2, 3).to({expected:dtype})\nb = torch.randn(2, 3, 4).to({got:dtype})\ntorch.bmm(a, b)",
        "x = torch.zeros(3).to({expected:dtype})\nx[torch.tensor([0])] = torch.zeros(1).to({got:dtype})",
        "table = torch.randn(5, 2)\nF.embedding(torch.zeros(3).to({got:dtype}), table)",
        "norm = nn.LayerNorm(4)\nnorm(torch.randn(2, 4).to({got:dtype}))",
        "norm = nn.LayerNorm(4)\nnorm(torch.randn(2, 4).to({expected:dtype}))",
    ),
    "weight-input-dtype": (
        "conv = nn.Conv2d(3, 8, 3).to({param:dtype})\nconv(torch.randn(1, 3, 8, 8).to({input:dtype}))",
        "rnn = nn.LSTM(4, 4).to({param:dtype})\nrnn(torch.randn(2, 1, 4).to({input:dtype}))",
    ),
    "not-implemented-for-dtype": (
        "x = torch.ones(2, 2).to({dtype:dtype})\nx @ x", "x = torch.ones(2, 2).to({dtype:dtype})\nx.log_softmax(-1)",
        "x = torch.ones(2, 2).to({dtype:dtype})\nx.softmax(-1)", "x = torch.ones(2, 2).to({dtype:dtype})\nx.relu()",
        "x = torch.ones(2, 2).to({dtype:dtype})\nF.mse_loss(x, x)",
        "x = torch.ones(2, 3).to({dtype:dtype})\nnn.LayerNorm(3)(x)",
        "x = torch.ones(2, 2).to({dtype:dtype})\nx.inverse()",
        "x = torch.ones(2, 2).to({dtype:dtype})\nF.gelu(x)",
        "torch.ones(2, 2).to({dtype:dtype}).normal_()", "x = torch.ones(2, 2).to({dtype:dtype})\ntorch.linalg.svd(x)",
        "x = torch.ones(1, 3, 8, 8).to({dtype:dtype})\nF.interpolate(x, scale_factor=2, mode=\"bilinear\")",
        "x = torch.ones(1, 3, 8, 8).to({dtype:dtype})\nF.max_pool2d(x, 2)",
        "scores = torch.randn(2, 3)\ntarget = torch.zeros(2).to({dtype:dtype})\nF.nll_loss(scores, target)",
    ),
    "index-dtype": ("x = torch.zeros(3)\nx[torch.zeros(2)]", "x = torch.zeros(3)\nx[0.5]"),
    "index-of-scalar": ("x = torch.tensor(1.0)\nx[0]",),
    "mean-of-integers": (
        "torch.zeros(3, dtype={dtype:dtype}).mean()", "torch.zeros(3, dtype={dtype:dtype}).norm()",
        "torch.zeros(3, dtype=torch.long).std()",
    ),
    "mask-shape": ("x = torch.zeros({tensor:sizes})\nmask = torch.ones({mask:sizes}, dtype=torch.bool)\nx[mask]",),
    "expand-size": ("x = torch.zeros({shape:sizes})\nx.expand({target:sizes})",),
    "expand-rank": ("x = torch.zeros({shape:sizes})\nx.expand({target:sizes})",),
    "permute-rank": ("x = torch.zeros({dims:rank})\nx.permute({given:order})",),
    "inplace-broadcast": ("x = torch.zeros({shape:sizes})\nx += torch.zeros({broadcast:sizes})",),
    "layernorm-shape": ("norm = nn.LayerNorm(({normalized:sizes},))\nnorm(torch.randn({input:sizes}))",),
    "norm-channel-count": ("norm = nn.BatchNorm2d({expected})\nnorm(torch.randn(2, {got}, 4, 4))",
                           "norm = nn.BatchNorm1d({expected})\nnorm(torch.randn(2, {got}))"),
    "groupnorm-divisible": ("norm = nn.GroupNorm({groups}, {channels})",
                            "x = torch.randn({input:sizes})\nF.group_norm(x, {groups})"),
    "batchnorm-single-value": (
        "x = torch.randn({shape:sizes})\nF.batch_norm(x, None, None, training=True)",
        "x = torch.randn({shape:sizes})\nF.instance_norm(x)",
    ),
    "rnn-input-size": ("rnn = nn.LSTM({expected}, 4)\nrnn(torch.randn(3, 2, {got}))",),
    "split-sizes": ("x = torch.zeros({size})\nx.split([{sizes:sizes}])",),
    "narrow-range": ("x = torch.zeros({size})\nx.narrow(0, {start}, {length})",),
    "gather-index-size": (
        "x = torch.zeros({shape:sizes})\nindex = torch.zeros({index:sizes}, dtype=torch.long)\n"
        "x.gather({apart}, index)",
    ),
    "gather-index-rank": ("x = torch.zeros(3, 4)\nindex = torch.zeros(3, dtype=torch.long)\nx.gather(1, index)",),
    "index-put-shape": (
        "x = torch.zeros({result:sizes})\nx[torch.arange({result:first})] = torch.zeros({value:sizes})",
    ),
    "too-many-indices": ("x = torch.zeros({dims:rank})\nx[{dims:zeros}]",),
    "item-of-many": ("torch.zeros({count}).item()",),
    "ambiguous-truth": ("bool(torch.zeros(2))",),
    "cat-empty-list": ("torch.stack([])", "torch.cat([])"),
    "topk-out-of-range": ("torch.zeros(3).topk(4)", "torch.zeros(3).kthvalue(4)"),
    "bool-minus": (
        "mask = torch.ones(3, dtype=torch.bool)\n1 - mask", "mask = torch.ones(3, dtype=torch.bool)\nmask - mask",
        "mask = torch.ones(3, dtype=torch.bool)\n-mask",
    ),
    "bce-range": ("x = torch.tensor([1.5])\nF.binary_cross_entropy(x, torch.ones(1))",),
    "numpy-requires-grad": ("torch.zeros(3, requires_grad=True).numpy()",),
    "integer-requires-grad": ("torch.zeros(3, dtype=torch.long, requires_grad=True)",
                              "torch.zeros(3, dtype=torch.long).requires_grad_()"),
    "result-type-cast": ("x = torch.zeros(3).to({output:dtype})\nx += torch.zeros(3).to({result:dtype})",),
    "attention-heads-divide": (
        "nn.MultiheadAttention({embed}, {heads})", "nn.MultiheadAttention(10, 3)  # sizes are made up",
    ),
    "two-devices": (
        "a = torch.zeros(2, 2, device={first:device})\nb = torch.zeros(2, 2, device={second:device})\na @ b",
    ),
    "meta-tensor-no-data": (
        "layer = nn.Linear(2, 2, device=\"meta\")\nlayer.to(\"cpu\")",
        "torch.zeros(2, device=\"meta\").to(\"cpu\")", "torch.zeros((), device=\"meta\").item()",
    ),
    "optimizer-empty": ("torch.optim.SGD([], lr=0.1)",),
    "optimizer-state-mismatch": (
        "w = torch.zeros(3, requires_grad=True)\nother = torch.zeros(3, requires_grad=True)\n"
        "saved = torch.optim.SGD([w, other], lr=0.1).state_dict()\ntorch.optim.SGD([w], lr=0.1).load_state_dict(saved)",
        "w = torch.zeros(3, requires_grad=True)\n"
        "saved = torch.optim.SGD([{{'params': [w]}}, {{'params': []}}], lr=0.1).state_dict()\n"
        "torch.optim.SGD([w], lr=0.1).load_state_dict(saved)",
    ),
    "inplace-on-leaf": (_PARAMETER + "w += 1", _PARAMETER + "w[0] = 1.0"),
    "no-grad-fn": (_PARAMETER + "loss = w.sum().detach()  # cut off from w\nloss.backward()",),
    "backward-twice": (_PARAMETER + "loss = (w ** 2).sum()\nloss.backward()\nloss.backward()",),
    "nonscalar-backward": (_PARAMETER + "(w ** 2).backward()",),
    "cpu-out-of-memory": ("torch.empty({bytes}, dtype=torch.uint8)", "torch.empty({asked}, dtype=torch.uint8)"),
    "grad-unused-input": (
        _PARAMETER + "other = torch.randn(3, requires_grad=True)\ntorch.autograd.grad(w.sum(), other)",
    ),
}  # fmt: skip
