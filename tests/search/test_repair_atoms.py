"""Each atom on an expression that it repairs and on one that it leaves alone: what it offers, nothing is run."""

from __future__ import annotations

import pytest
from made_spots import SCOPE, applied, offered, spot_of
from test_repair_atoms_alone import ALONE

from explainer.edits.evidence import Evidence, Step
from explainer.edits.place import Place
from explainer.repair.atoms import ATOMS
from explainer.repair.offer import Offer
from explainer.repair.prior import ATOM, cost
from explainer.repair.spots import Spot
from explainer.source import parsed_source

pytest.importorskip("torch")  # its signatures say what a call lacks


REPAIRS = [
    ("literal", "nn.Linear(c, 10)", "sizes 12 and 10", "nn.Linear(c, 12)"),
    ("literal", "Mixer(dim=64)", "sizes 64 and 48", "Mixer(dim=48)"),  # no tensor has so many dimensions
    ("literal", "nn.Linear(c * 2, t)", "24 against 16", "nn.Linear(c * 3, t)"),
    ("literal", "repeat(s, 'd -> b d', b=1)", "", "repeat(s, 'd -> b d', b=b)"),
    ("dimension", "torch.cat((s, s), dim=0)", "", "torch.cat((s, s), dim=1)"),
    ("dimension", "x.mean(dim=(1, 2))", "", "x.mean(dim=(2, 3))"),
    ("dimension", "x.shape[0]", "", "x.shape[1]"),
    ("name", "f(b, s)", "", "f(b, x)"),
    ("size", "nn.Linear(t, c)", "3 and 6", "nn.Linear(cin, c)"),
    ("size", "nn.Conv1d(c, t, cin)", "", "nn.Conv1d(c // 2, t, cin)"),
    (
        "size",
        "class A:\n    def __init__(self, t, stride):\n        self.trim = t - 1",
        "",
        "        self.trim = (t - 1) * stride",
    ),
    (
        "swap",
        "def f(i):\n    return self.x[i], self.weight[i], self.label[i]\nx, label, weight = f(0)",
        "",
        "x, weight, label = f(0)",
    ),
    ("swap", "nn.Linear(c, t)", "", "nn.Linear(t, c)"),
    ("swap", "g(x, rows=s)", "", "g(s, rows=x)"),
    ("drop", "f(x, c)", "", "f(x)"),
    ("keyword", "x.sum(-1)", "", "x.sum(-1, keepdim=True)"),
    ("keyword", "torch.flatten(x)", "", "torch.flatten(x, start_dim=1)"),
    ("keyword", "torch.sparse_coo_tensor(x, s)", "size 5, got 6", "torch.sparse_coo_tensor(x, s, size=(t, t))"),
    ("call", "np.prod(x)", "", "np.sum(x)"),
    ("keyword", "x.chunk(2)", "", "x.chunk(2, dim=-1)"),
    ("keyword", "nn.GRU(c, c)", "", "nn.GRU(c, c, bidirectional=True)"),
    ("cut", "f(x)", "", "f(x[:-1])"),
    ("cut", "f(x)", "size 6 against 5 in dimension 1", "f(x[:, 1:])"),
    ("size", "g(t)", "8 against 4", "g(x.size(2))"),
    ("measure", "def f(a):\n    n = a.size(0)\n    return g(a.size(1))", "", "    return g(a.size(0))"),
    ("field", "def f(g):\n    h(g.nodes)\n    n = g.edges", "", "    n = g.nodes"),
    ("filled", "def f(ids, far, n, k):\n    ids[far] = n\n    m = ids == k", "", "    m = ids == n"),
    (
        "times",
        "def halved(n, layers=1):\n    for _ in range(layers):\n        n = n // 2\ndef f(convs, x, n):\n"
        "    for conv in convs:\n        x = conv(x)\n    return x, halved(n)",
        "",
        "    return x, halved(n, layers=len(convs))",
    ),
    (
        "uncut",
        "def f(u, x):\n    b = d(u, x[:, 1])",
        "appears to not have been used in the graph",
        "    b = d(u, x)[:, 1]",
    ),
    (
        "uncut",
        "a = torch.autograd.grad(x, s[:2], retain_graph=True)[0]",
        "appears to not have been used in the graph",
        "a = torch.autograd.grad(x, s, retain_graph=True)[0][:2]",
    ),
    ("detach", "self.kept = f(x)", "", "self.kept = f(x).detach()"),
    ("detach", "kept = [f(one) for one in x]", "", "kept = [f(one).detach() for one in x]"),
    ("detach", "for x in rows:\n    h = f(x, h)", "", "    h = f(x, h).detach()"),
    ("severed", "y, self.s = f(x, self.s)", "", "y, self.s = f(x, self.s)\nself.s = self.s.detach()"),
    (
        "severed",
        "for x in rows:\n    y, h = f(x, h)",
        "",
        "    y, h = f(x, h)\n    h = tuple(one.detach() for one in h)",
    ),
    ("sibling", "a = g(x, end=1)\nb = g(k)", "", "b = g(k, end=1)"),
    ("sibling", "a = {'lr': 1, 'decay': 0}\nb = {'lr': 2}", "", "b = {'lr': 2, 'decay': 0}"),
    ("literal", "NAMES = ['p', 'q', 'r']\nf(range(5))", "sizes 3 and 5", "f(range(len(NAMES)))"),
    ("keyword", "torch.bincount(x)", "shape '[8, 8]' is invalid for 60", "torch.bincount(x, minlength=c * c)"),
    ("keyword", "def up(a, extra=1): ...\nup(c)\nup(t)", "", "up(t, extra=0)"),
    ("rebound", "def made(x):\n    return Net(x)\nz = made(k)\ny = Net(t)", "", "y = made(x)"),
    ("indexed", "a, d = rows\nf(a[: t])\nf(d)", "", "f(d[: t])"),
    ("pattern", "einsum('bqhd,bkhd->bhqk', x, k)", "", "einsum('bhqd,bhkd->bhqk', x, k)"),
    ("derived", "p, q = split(x)\nf(x)", "", "f(q)"),
    ("prepared", "e = Encoder().fit(x)\nids = x", "", "ids = e.transform(x)"),
    ("prepared", "def dense(ids): ...\nf(x)", "", "f(dense(x))"),
    (
        "prepared",
        "class A:\n    @staticmethod\n    def left(n): ...\n    def f(self, n):\n        return n",
        "",
        "        return self.left(n)",
    ),
    ("registered", "class A:\n  def __init__(self):\n    self.t = f(3)", "", '    self.register_buffer("t", f(3))'),
    ("clone", "rows.append(x)", "", "rows.append(x.clone())"),
    ("order", "k = f(net)\nfreeze(net)", "", "freeze(net)\nk = f(net)"),
    ("order", "k, t = f(k), f(t)\nk = g(k)", "", "k = g(k)\nk, t = f(k), f(t)"),
    ("order", "n += b\nrows.append(x + n)", "", "rows.append(x + n)\nn += b"),
    ("element", "g((x, k))", "", "g((x, k, v))"),
    ("branched", "def f(k):\n    if k:\n        return g(k).mean(0)\n    return g(k)", "", "    return g(k).mean(0)"),
    ("reversed", "zip(ups, [s for s in kept])", "", "zip(ups, [s for s in reversed(kept)])"),
    ("reversed", "kept.pop(0)", "", "kept.pop()"),
    ("reversed", "f(g(n) for n in enumerate(c))", "", "f(g(n) for n in reversed(list(enumerate(c))))"),
    ("reversed", "for i in range(n):\n    y = up(kept[i])", "", "    y = up(kept[-i - 1])"),
    ("unflattened", "w = best % c\nrows = s[best]", "index 9 is out of bounds", "rows = s[best // c]"),
    (
        "unflattened",
        "_, best = x.view(b, -1).topk(3)\nrows = s[best]",
        "index 9 is out of bounds",
        "rows = s[best // x.size(-1)]",
    ),
    (
        "namesake",
        "g(x, dilation=c, padding=h(t))\ndef h(n, dilation=1): ...\ng(x, dilation=c, padding=h(t))",
        "",
        "g(x, dilation=c, padding=h(t, dilation=c))",
    ),
    ("keyword", "def h(n, mode='sum'):\n    return n if mode == 'last' else m\nh(x)", "", 'h(x, mode="last")'),
    ("sibling", "a = partial(g, end=1)\nb = g(k)", "", "b = g(k, end=1)"),
    (
        "value",
        "def h(n, mode='sum'):\n    return n if mode == 'last' else m\nh(x, mode='sum')",
        "",
        'h(x, mode="last")',
    ),
    ("measure", "f(len(ids) * c)", "", "f(len(rows) * c)"),
    (
        "multiple",
        "f(round(t * 0.7))",
        "num_channels (4) must be divisible by num_groups (8)",
        "f(round(t * 0.7 / c) * c)",
    ),
    ("multiple", "f(t * 3)", "num_channels (18) must be divisible by num_groups (4)", "f((t * 3) // b * b)"),
    ("call", "torch.stack(parts, 1)", "", "torch.cat(parts, 1)"),
    ("operator", "f(x / c)", "indices must be integers", "f(x // c)"),
    ("operator", "s * x", "", "s @ x"),
    ("unwrap", "f(x.transpose(1, 2))", "", "f(x)"),
    ("division", "f(c / 4)", "", "f(c // 4)"),
    ("condition", "f(k) if c == t else k", "", "f(k) if c != t else k"),
    ("condition", "f(k) if ready else k", "", "f(k) if not ready else k"),
    ("operator", "g((t + 1) / 2)", "", "g((t + 1) // 2)"),
    (
        "sides",
        "side = b // 2\nn = side ** 2",
        "sizes 4 and 6",
        "n = side * (t // 2)",
    ),
    ("sides", "g((b // 2) ** 2)", "sizes 4 and 6", "g((b // 2) * (t // 2))"),
    ("slice", "rows.append(x[:1])", "", "rows.append(x[0])"),
    ("dimension", "x.mean(dim=(1, 2))", "", "x.mean(dim=(1, 2, 3))"),
    ("literal", "Net(classes=4)", "a param of shape [3, 8], in this model [5, 8]", "Net(classes=2)"),
    ("literal", "Independent(d, 0)", "", "Independent(d, 1)"),
    ("drop", "torch.full((c, 1), 0.5)", "", "torch.full((c,), 0.5)"),
    ("value", "np.zeros(c, dtype=np.uint8)", "", "np.zeros(c, dtype=np.int64)"),
    ("division", "def windows(n, size, hop):\n    return n // hop", "", "    return (n - size) // hop + 1"),
    ("key", "nn.Linear(cfg['hidden'], 2)", "", "nn.Linear(cfg['width'], 2)"),
    ("indexed", "f(x[:, ids], k[:, ids], v)", "", "f(x[:, ids], k[:, ids], v[:, ids])"),
    ("indexed", "f(x[ids], k[ids], rows)", "", "f(x[ids], k[ids], tuple(one[ids] for one in rows))"),
    ("slice", "x[:, :t]", "", "x[:, :t + 1]"),
    ("slice", "x[:, :, 0]", "", "x[:, 0]"),
    ("slice", "s[t, 0]", "", "s[t]"),
    ("pattern", "einsum('bid,bdj->bij', x, k)", "", "einsum('bid,bjd->bij', x, k)"),
    ("pattern", "rearrange(x, 'b n (d h) -> b h n d', h=2)", "", "rearrange(x, 'b n (h d) -> b h n d', h=2)"),
    ("pattern", "rearrange(y, 'b h n d -> b n (h d)', h=h)", "", "rearrange(y, 'b n (h d) -> b h n d', h=h)"),
    ("pattern", "rearrange(y, 'b h n d -> b n h d')", "", "rearrange(y, 'b h n d -> b n (h d)')"),
    ("pattern", "reduce(x, 'b n d -> b n', 'mean')", "", "reduce(x, 'b n d -> b d', 'mean')"),
    ("sizes", "x.view(b, c, t)", "", "x.view(b, t, c)"),
    ("sizes", "x.reshape(b, t, heads, c)", "", "x.reshape(b, t, heads, c // heads)"),
    ("sizes", "x.permute(0, 1, 2)", "", "x.permute(0, 2, 1)"),
    ("layout", "x @ k", "", "x @ k.transpose(-2, -1)"),
    ("layout", "s + x", "", "s.unsqueeze(1) + x"),
    ("index", "f(rnn(x))", "'tuple' object has no attribute 'shape'", "f(rnn(x)[0])"),
    ("value", "torch.arange(t, dtype=torch.float)", "", "torch.arange(t, dtype=torch.long)"),
    ("value", "nn.GRU(c, t, batch_first=False)", "", "nn.GRU(c, t, batch_first=True)"),
    ("statement", "x = x.mean(1)", "", "pass"),
    ("parameter", "f(heads=b)", "", "f(heads=heads)"),
    ("reduction", "x + s", "", "x.sum(-1) + s"),
    ("stepped", "[f(x, 2) for i in range(len(s))]", "", "[f(x, s[i]) for i in range(len(s))]"),
    ("stepped", "[f(x, 2) for x, k in rows]", "", "[f(x, k) for x, k in rows]"),
    ("unpacked", "q, k = f(x)", "too many values to unpack (expected 2)", "q, k = f(x).chunk(2, dim=-1)"),
    ("unpacked", "q, k = x.chunk(3)", "too many values to unpack (expected 2)", "q, k = x.chunk(2)"),
    ("copied", "net = model.half()", "", "net = copy.deepcopy(model).half()"),
    ("copied", "def export(model):\n    model.half().eval()", "", "    model = copy.deepcopy(model).half().eval()"),
    ("shared", "def f(o):\n    kind = o.pop('kind')", "", "    o = dict(o)\n    kind = o.pop('kind')"),
    ("subset", "f(s)", "sizes 4 and 3", "f(s[rows])"),
    ("filtered", "f(sum(one.width for one in k if one.plain))", "", "f(sum(one.width for one in k))"),
    ("block", "torch.set_default_device('meta')", "", "pass"),
    ("block", "with torch.device('meta'):\n    y = f(x)\n    z = g(y)", "", "y = f(x)\nz = g(y)"),
    ("operator", "offsets = s.cumsum(0)", "", "offsets = s.cumsum(0) - s"),
    ("operator", "k = torch.cumsum(s, -1) > t", "", "k = torch.cumsum(s, -1) - s > t"),
    ("whole", "def f(a, e):\n    h(a * e)\n    w = a", "", "    w = a * e"),
    ("whole", "def f(k):\n    pad = (k - 1) * c\n    return g(k - 1)", "", "    return g(pad)"),
    ("rebound", "def g(k):\n    y = made(k)\n    return y\ndef made(t): ...\ny = f(x)", "", "y = made(k)"),
    ("dropped", "x.detach()", "", "x = x.detach()"),
    (
        "dropped",
        "for one in self.rows:\n    one.masked_fill(m, 0)",
        "",
        "self.rows = tuple(one.masked_fill(m, 0) for one in self.rows)",
    ),
    ("dropped", "x.to(device)", "", "x = x.to(device)"),  # a tensor, as its shape tells
    ("level", "for k in rows:\n    f(k)\n    tap.remove()", "", "for k in rows:\n    f(k)\ntap.remove()"),
    ("pattern", "rearrange(y, 'b h n d z -> b n (h d) z')", "", "rearrange(y, 'b h n d -> b n (h d)')"),
]


@pytest.mark.parametrize(("atom", "text", "message", "repaired"), REPAIRS, ids=lambda one: str(one)[:40])
def test_an_atom_offers_the_repair(atom, text, message, repaired):
    if atom == "keyword":
        pytest.importorskip("torch")  # its signatures
    assert repaired in offered(atom, text, message)


def test_a_default_device_is_kept_to_the_statement_that_needs_it():
    source = parsed_source("model.py", "torch.set_default_device(d)\nn = f(x)\n")
    spot = Spot(Place(source, source.tree.body[0].value), "crash", 0)
    found = [one.text for one in ATOMS["block"](spot, Evidence("", "en", sources=lambda _: source))]
    assert found == ["pass", "with torch.device(d):\n    n = f(x)"]


@pytest.mark.parametrize(
    ("devices", "moved"),
    [
        (("cuda:0",), {"f(x.cpu())"}),  # numpy, say, wants what lies on the CPU
        (("cpu", "cuda:0"), {"f(x.cpu())", "f(x.to(device))"}),
        ((), set()),
    ],
)
def test_a_value_is_moved_to_where_the_others_lie(devices, moved):
    source = parsed_source("model.py", "def g(x, device):\n    f(x)\n")
    spot = Spot(Place(source, source.tree.body[0].body[0].value), "crash", 0)
    crash = Step("f", (), (), (), (), (), None, devices=devices)
    evidence = Evidence("", "en", sources=lambda _: source, steps=[crash])
    assert {applied(one).strip() for one in ATOMS["moved"](spot, evidence)} == moved


def test_every_atom_has_examples_and_a_cost():
    assert set(ATOMS) == set(ATOM)
    apart = {
        "handed",
        "projection",
        "widening",
        "uncalled",
        "counted",
        "trimmed",
        "lengthened",
        "facing",
        "resampled",
        "before_next",
        "other_element",
        "widened",
        "started",
        "adjusted",
        "bound",
        "solved",
        "crop",
        "leading",
        "moved",
        "usual",
        "wrapped",
        "windowed",
        "unreturned",
        "likewise",
        "alongside",
        "shortened",
        "extended",
        "tail",
        "earlier",
        "paired",
        "expanded",
        "every_pair",
        "nonempty",
        "relabelled",
        "mapped",
        "placed",
        "window",
        "row",
        "marked",
        "drawn",
        "repeated",
        "folded",
        "recut",
        "seam",
        "meant",
        "recorded",
        "unrecorded",
        "again",
        "padded",
        "state",
        "guard",
        "kept",
        "encoded",
        "overlapping",
    }  # on their own
    assert set(ATOMS) - apart == {row[0] for row in REPAIRS}
    assert set(ATOMS) == {row[0] for row in ALONE}


def test_the_farther_place_of_the_same_edit_costs_more():
    spot, evidence = spot_of("x.sum(-1)")
    far = Spot(spot.place, "slice", 4, scope=SCOPE)
    near, other = next(ATOMS["keyword"](spot, evidence)), next(ATOMS["keyword"](far, evidence))
    assert cost(near) < cost(other)


def test_what_has_a_sign_of_its_own_costs_as_much_far_behind():
    spot, _ = spot_of("self.kept = f(x)[:, 1]")
    far = Spot(spot.place, "slice", 9, scope=SCOPE)
    near = Spot(spot.place, "slice", 1, scope=SCOPE)
    signed, plain = (
        [cost(Offer(atom, one, spot.place.node, "y")) for one in (near, far)] for atom in ("mapped", "size")
    )
    assert signed[0] == signed[1]
    assert plain[0] < plain[1]
