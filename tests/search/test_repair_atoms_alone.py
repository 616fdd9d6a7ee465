"""Each atom on an expression that it leaves alone: what it does not know is offered nowhere, nothing is run."""

from __future__ import annotations

import pytest
from made_spots import offered

pytest.importorskip("torch")  # its signatures say what a call lacks

ALONE = [
    ("moved", "f(x)", ""),  # nothing lies elsewhere
    ("prepared", "e = Encoder().fit(s)\nids = x", ""),
    ("prepared", "def dense(ids): ...\ng(dense(s))\nf(x)", ""),
    ("prepared", "class A:\n    def forward(self, n):\n        return n", ""),  # torch calls it
    ("literal", "x[:, :3]", ""),  # a bound belongs to the slices
    ("dimension", "nn.Linear(3, 4)", ""),
    ("name", "f(b)", ""),
    ("solved", "f(32)", "32 and 50"),  # of nothing that was computed
    ("size", "f(x)", ""),
    ("swap", 'g(x, "mean")', ""),
    ("drop", "f(x)", ""),
    ("keyword", "x.sum(-1, keepdim=True)", ""),
    ("keyword", "range(3)", ""),  # Python's own
    ("cut", "f(b)", ""),
    ("crop", "f(x)", "index 5 with 9"),  # none is as short
    ("leading", "f(x, s)", ""),  # it never went well
    ("bound", "f(x)", "index 9 is out of bounds for dimension 0 with size 8"),  # an index from the start
    ("measure", "f(x)", ""),
    ("field", "def f(g):\n    g.reset()\n    n = g.edges.to(h)", ""),
    ("filled", "def f(ids, far, n, k):\n    ids[far] = n\n    m = ids == n", ""),
    (
        "times",
        "def halved(n, layers=1):\n    return n\ndef f(convs, x, n):\n    for conv in convs:\n        x = conv(x)\n"
        "    return x, halved(n)",
        "",
    ),
    ("detach", "self.layer = nn.Linear(3, 3)", ""),
    ("detach", "f([g(one) for one in x])", ""),  # read at once
    ("clone", "rows.append(x.clone())", ""),
    ("detach", "for x in rows:\n    s = f(x)", ""),  # of this step
    ("order", "k = f(net)\ng(net, k)", ""),  # reads what the other binds
    ("severed", "for x in rows:\n    y, h = f(x, k)", ""),  # of this step
    ("sibling", "a = g(x, end=1)\nb = h(k)", ""),
    ("sibling", "a = partial(h, end=1)\nb = g(k)", ""),
    ("reversed", "f(kept)", ""),  # nothing goes through it
    ("reversed", "kept.pop('name')", ""),
    ("unflattened", "rows = s[best]", "index 9 is out of bounds"),  # of no table that was one row
    ("unflattened", "w = best % c\nrows = s[best]", "sizes differ"),
    ("adjusted", "self.a = f(b)", ""),
    ("derived", "p, q = split(k)\nf(x)", ""),
    ("derived", "import t\nopt = f(t)\ng(t.zeros(3))", ""),  # a module's name
    ("registered", "class A:\n  def __init__(self):\n    self.t = nn.Linear(3, 3)", ""),
    ("element", "g(x)", ""),
    ("call", "f(x)", ""),
    ("operator", "f(x)", ""),
    ("unwrap", "f(x)", ""),
    ("division", "f(x / c)", ""),  # a tensor's
    ("condition", "f(k == c or k)", ""),
    ("value", "def f(x, wide):\n    if wide:\n        x = g(x)\nf(x, wide=True)", ""),
    ("condition", "f(k, c)", ""),
    ("key", "table[0]", ""),
    ("slice", "cfg['hidden']", ""),
    ("pattern", "f('b n d')", ""),
    ("sizes", "f(b, c)", ""),
    ("layout", "f(b)", ""),
    ("widening", "nn.Linear(4, 3)", ""),
    ("projection", "nn.Identity()", ""),  # nothing of two widths is added
    ("index", "f(rnn(x))", "shapes cannot be multiplied"),
    ("value", "f(x, 3)", ""),
    ("parameter", "f(heads=heads)", ""),
    ("shared", "def f(o):\n    o = o.pop_all()\n    g(o)", ""),
    ("subset", "f(s)", "sizes 4 and 5"),  # nothing of that length was chosen
    ("filtered", "f(sum(one.width for one in k))", ""),
    ("nonempty", "f([one[:-1] for one in k])", ""),  # none of them was empty
    ("relabelled", "f(x)", "index 5 is out of bounds"),  # no table of new numbers was made
    ("unpacked", "q, k = f(x)", "sizes differ"),
    ("uncalled", "f(x)", ""),
    ("reduction", "f(b)", ""),
    ("statement", "y = x.mean(1)", ""),
    ("copied", "model = model.half()", ""),  # what is changed is meant
    ("copied", "model.half()", ""),  # nobody else has it
    ("block", "with torch.device('cuda'):\n    y = f(x)", ""),  # the data are to follow
    ("block", "with open(path) as file:\n    y = f(x)", ""),
    ("counted", "len(x) - t", ""),  # no dataset's length
    ("trimmed", "x", ""),
    ("lengthened", "x[:3]", ""),
    ("resampled", "interpolate(x, scale_factor=2)", ""),  # no larger map is there
    ("other_element", "f(sum(a for a, _ in pairs))", ""),  # nothing says what the other one is called
    ("before_next", "f(x)\ng(k, x[:, 2:])", ""),  # other steps than the next ones
    ("facing", "F.pad(x, (0, t - len(x)))", "sizes 5 and 4"),  # no samples
    ("started", "x", ""),
    ("widened", "x", ""),
    ("usual", "f(x)", ""),  # as it always was
    ("handed", "torch.bincount(x)", "sizes 6 and 7"),  # no function that could be given more
    ("wrapped", "x[0:3] = s", ""),  # nothing counts round an end
    ("windowed", "x + s[:t, :t]", ""),  # nothing longer than it meets it
    ("unreturned", "def f(x):\n    y = x\n    return y", ""),  # its value is wanted where it failed
    ("likewise", "y = f(x)", ""),
    ("uncut", "a = d(x, s)", "appears to not have been used in the graph"),
    ("alongside", "x = x[keep]", "sizes 6 and 4"),  # nothing has the rows that it had
    ("indexed", "f(x[0], k[0], v)", ""),  # not by a name
    ("indexed", "f(x[:, ids], v)", ""),  # one alone
    ("sides", "g((b // 2) ** 2)", "sizes 11 and 13"),  # no two sides make so many
    ("whole", "def f(a, e):\n    return g(a * e)", ""),  # nothing else is computed of it
    ("rebound", "def g(k):\n    y = made(b, t)\n    return y\ny = f(x)", ""),  # of what is not there
    ("rebound", "y = f(k)\ny = f(x)", ""),  # made alike
    ("rebound", "def made(x):\n    return Net(x)\ny = Net(t)", ""),  # nothing calls it
    ("rebound", "def made(q):\n    return Net(q)\nz = made(k)\ny = Net(t)", ""),  # of what is not there
    ("sibling", "a = {'lr': 1, 'decay': 0}\nb = {'path': 2}", ""),  # other settings
    ("indexed", "a, d = rows\nf(a[: t], d[: 2])\nf(d)", ""),  # cut, too
    ("stepped", "[f(x, 2) for k in s]", ""),  # a count of turns, for all that is known
    ("stepped", "[f(x, 2) for k, x in enumerate(s)]", ""),
    ("stepped", "[f(k, 2) for k in s]", ""),  # each is read
    ("stepped", "[f(s[i], 2) + 1 for i in range(len(s))]", ""),  # there, too
    ("dropped", "y = x.detach()", ""),
    ("dropped", "model.to(device)", ""),  # which moves the model itself
    ("dropped", "x.add_(s)", ""),
    ("level", "for k in rows:\n    f(k)", ""),  # nothing would be left
    ("level", "for k in rows:\n    f(k)\n    optimizer.step()", ""),  # that would train less
    ("paired", "p = x + s", ""),
    ("branched", "def f(k):\n    if k:\n        return g(k).mean(0)\n    return g(k).mean(1)", ""),
    ("placed", "x.new_zeros(3)", ""),  # nothing lies elsewhere
    ("mapped", "vmap(f)(x, s)", ""),  # no mapped dimension is said to differ
    ("window", "nn.Conv2d(c, c, 3, stride=2)", "sizes 8 and 4"),  # nothing of these sizes meets
    ("expanded", "f(x)", ""),
    ("every_pair", "x - s", ""),  # nothing sums their features up
    ("shortened", "f(x)", ""),
    ("extended", "f(x)", ""),
    ("tail", "f(x)", ""),
    ("earlier", "y = f(g(x))\nrows.append(x)", ""),
    ("row", "zip(rows, x)", ""),  # whose entries are not known
    ("marked", "y = x[:t]", "sizes [6] and [4]"),
    ("drawn", "torch.randint(0, t, (b,))", ""),  # data
    ("repeated", "f(x, s)", "sizes 4 and 8"),  # of one length
    ("folded", "y = x.view(b, -1, c)", "sizes 6 and 7"),
    ("namesake", "def h(n, depth=1): ...\nh(x)", ""),  # nothing is called so
    ("recut", "x[:, :t]", ""),  # it cuts what is there
    ("seam", "x[:, :3]", "sizes 5 and 4"),  # nothing was joined
    ("meant", "self.encoder(x, s)", ""),  # no layer of torch's is known there
    ("state", "def f(x):\n    y, h = g(x)\n    return h[-1]", ""),  # a tensor, for all that is known
    ("padded", "(t - c) // 2 + 1", ""),  # no layer is padded
    ("again", "net = Net().to(device)\nf(x)", ""),  # nothing is added
    ("literal", "f(x, dim=2)", "sizes 2 and 3"),  # a dimension
    ("unrecorded", "value = act(x)", ""),  # nothing is to have it as an array
    ("recorded", "def f(x):\n    return g(x)", ""),  # recorded all the while
    ("overlapping", "t // stride", "sizes 3 and 5"),  # no layer has such windows
    ("guard", "z = f(x) if b != t else g(x)", ""),  # no layer is made there
    ("multiple", "f(round(t * 0.7))", ""),  # nothing is to divide it
    ("kept", "f(x, s)", "sizes 4 and 8"),  # what each call is given
    ("encoded", "torch.cat([s, x], 1)", ""),  # no class numbers
]


@pytest.mark.parametrize(("atom", "text", "message"), ALONE, ids=lambda one: str(one)[:40])
def test_an_atom_leaves_alone_what_it_does_not_know(atom, text, message):
    assert not offered(atom, text, message) - {""}
