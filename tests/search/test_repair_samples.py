"""Samples that differ in size: where they parted, the places that follow from it, and what the atoms offer there."""

from __future__ import annotations

import pytest

from explainer.edits.evidence import Call, Evidence, Step
from explainer.edits.generators.collate import collated
from explainer.edits.generators.slices import parting
from explainer.edits.place import Place
from explainer.repair.atoms import ATOMS
from explainer.repair.space import space
from explainer.repair.spots import Spot, spots
from explainer.source import Source, parsed_source

RAGGED = "stack expects each tensor to be equal size, but got [6] at entry 0 and [4] at entry 1"

WINDOWS = """
class Windows:
    def __init__(self, rows, past, ahead, step):
        self.rows, self.past, self.ahead, self.step = rows, past, ahead, step

    def __len__(self):
        return {length}

    def __getitem__(self, i):
        at = i * self.step + self.past
        return self.rows[at:at + self.ahead]
"""

FILLED = """
class Clips:
    def fill(self, x):
        missing = self.size - {measured}
        if missing > 0:
            x = {filled}
        return x
"""

PIPELINE = """
class Trim:
    def __call__(self, x):
        return x[first:last]


steps = Compose([Fix(9), Trim()])
other = Trim
"""


def source_of(text: str) -> Source:
    return parsed_source("data.py", text)


def returned(source: Source, function: str) -> Place:
    """What a function of the only class returns."""
    method = next(one for one in source.tree.body[0].body if one.name == function)
    return Place(source, method.body[-1].value)


def step(shape: list[int], before: list[int], place: Place | None, source: int | None = None) -> Step:
    return Step("__getitem__", (place,) if place else (), (source,), ((before, "f"),), ((shape, "f"),), (), None)


def stacked(source: Source, shapes: list[list[int]], *steps: Step) -> Evidence:
    """A batch of samples that was stacked, each with the step that made it."""
    inputs = tuple(at if at <= len(steps) else None for at in range(1, len(shapes) + 1))
    before = tuple((shape, "f") for shape in shapes)
    crash = Step("stack", (), inputs, before, (), (), None)
    return Evidence(RAGGED, "en", [crash, *steps], sources=lambda _: source)


def offered(atom: str, place: Place, evidence: Evidence) -> set[str]:
    return {(one.edits()[0].after or "").strip() for one in ATOMS[atom](Spot(place, "returned", 1), evidence)}


@pytest.mark.parametrize(
    ("length", "repaired"),
    [
        ("len(self.rows) - self.past", {"len(self.rows) - self.past - self.ahead + 1"}),
        ("len(self.rows) - self.past + 1", {"len(self.rows) - self.past - self.ahead + 1"}),
        ("(len(self.rows) - self.past) // self.step", {"(len(self.rows) - self.past - self.ahead) // self.step + 1"}),
        ("len(self.rows) // self.step + 1", {"(len(self.rows) - self.ahead) // self.step + 1"}),
        ("len(self.rows) - self.past - self.ahead", set()),
        ("self.count", set()),
        ("len(self.starts) - self.past", set()),  # nothing is cut out of those
    ],
)
def test_a_length_leaves_room_for_what_only_the_samples_read(length, repaired):
    source = source_of(WINDOWS.replace("{length}", length))
    evidence = stacked(source, [[6], [4]])
    assert {f"return {one}" for one in repaired} <= offered("counted", returned(source, "__len__"), evidence)
    if not repaired:
        assert not offered("counted", returned(source, "__len__"), evidence)


def test_a_length_leaves_room_for_what_was_computed_and_is_read_nowhere():
    text = WINDOWS.replace("{length}", "len(self.rows) - self.past").replace("self.ahead", "self.later")
    text = text.replace("    def __len__", "        self.horizon = max(later)\n\n    def __len__", 1)
    new = offered("counted", returned(source_of(text), "__len__"), stacked(source_of(text), [[6], [4]]))
    assert "return len(self.rows) - self.past - self.horizon + 1" in new


def test_a_range_of_starts_ends_where_a_whole_sample_is_left():
    text = WINDOWS.replace("= rows, past, ahead, step", "= rows, past, ahead, list(range(0, len(rows) - past))")
    source = source_of(text)
    end = source.tree.body[0].body[0].body[0].value.elts[3].args[0].args[1]
    new = offered("counted", Place(source, end), stacked(source, [[6], [4]]))
    assert any("range(0, len(rows) - past - ahead + 1)" in one for one in new)


CROP = """
class Crop:
    def __call__(self, x):
        top = {draw}
        left = int(torch.randint(0, x.size(1), (1,)))
        return x[top:top + {size}, left:left + self.size]
"""


@pytest.mark.parametrize(
    ("draw", "size", "repaired"),
    [
        ("random.randint(0, x.size(0))", "self.size", "top = random.randint(0, x.size(0) - self.size)"),
        ("randrange(x.size(0))", "9", "top = randrange(x.size(0) - 9 + 1)"),
        ("start", "self.size", ""),
    ],
)
def test_a_draw_leaves_room_for_what_is_cut_out(draw, size, repaired):
    source = source_of(CROP.replace("{draw}", draw).replace("{size}", size))
    method = source.tree.body[0].body[0]
    spot = Place(source, method.body[1].value.args[0])
    (new,) = offered("started", spot, stacked(source, [[6], [4]]))
    assert "left = int(torch.randint(0, x.size(1) - self.size + 1, (1,)))" in new
    assert new.startswith(repaired or "left")
    assert not offered("started", Place(source, method.body[1].value), stacked(source, [[6], [4]]))


@pytest.mark.parametrize(
    ("measured", "filled", "repaired"),
    [
        ("x.size(0)", "torch.cat([x, x.new_zeros(missing)])", {"return x[:self.size]"}),
        ("x.shape[-1]", "F.pad(x, (0, missing))", {"return x[..., :self.size]"}),
        ("len(x)", "f(x)", set()),  # nothing is filled up
        ("self.low", "F.pad(x, (0, missing))", set()),
    ],
)
def test_what_is_filled_up_to_a_size_is_cut_to_it(measured, filled, repaired):
    source = source_of(FILLED.replace("{measured}", measured).replace("{filled}", filled))
    assert offered("trimmed", returned(source, "fill"), stacked(source, [[6], [4]])) == repaired


CUT = """
class Texts:
    def __getitem__(self, at):
        ids = self.rows[at][{cut}]
        return {sample}
"""


@pytest.mark.parametrize(
    ("cut", "sample", "repaired"),
    [
        (":6", "torch.tensor(ids), at", "return torch.tensor(ids + [0] * (6 - len(ids))), at"),
        ("at:at + 6", "ids", "return torch.nn.functional.pad(ids, (0, 6 - ids.size(-1)))"),
        (
            ":self.most",
            '{"ids": torch.tensor(ids), "mask": torch.ones(len(ids))}',
            'return {"ids": torch.tensor(ids + [0] * (self.most - len(ids))), '
            '"mask": torch.nn.functional.pad(torch.ones(len(ids)), (0, self.most - len(ids)))}',
        ),
        (":9", "ids", ""),  # to another size than the longest
        ("3:", "ids", ""),  # to no size
        (":6", "len(ids)", ""),
        (":6", "ids + [0] * (6 - len(ids))", ""),  # filled up
    ],
)
def test_what_is_cut_to_the_size_of_the_longest_is_filled_up_to_it(cut, sample, repaired):
    source = source_of(CUT.replace("{cut}", cut).replace("{sample}", sample))
    evidence = stacked(source, [[6], [4]])
    new = offered("lengthened", returned(source, "__getitem__"), evidence)
    assert repaired in new if repaired else not new
    assert not offered("lengthened", returned(source, "__getitem__"), Evidence("", "en", sources=lambda _: source))


@pytest.mark.parametrize(
    ("pairs", "repaired"),
    [
        ("(0, missing)", {"x = F.pad(x, (0, 0, 0, missing))"}),
        ("(0, 0, 0, missing)", {"x = F.pad(x, (0, missing))"}),
        ("(1, 0, 0, missing)", set()),
        ("missing", set()),
    ],
)
def test_another_dimension_is_filled_up(pairs, repaired):
    source = source_of(FILLED.replace("{measured}", "len(x)").replace("{filled}", f"F.pad(x, {pairs})"))
    call = source.tree.body[0].body[0].body[1].body[0].value
    assert offered("facing", Place(source, call), stacked(source, [[6, 2], [6, 3]])) == repaired


def test_samples_part_where_one_size_became_several():
    source = source_of(PIPELINE)
    place = returned(source, "__call__")
    trimmed = stacked(source, [[6], [4]], step([6], [9], place), step([4], [9], place))
    assert parting(trimmed) is trimmed.steps[1]
    assert parting(stacked(source, [[6], [4]], step([6], [9], place), step([4], [8], place))) is None
    one = step([90], [3], None)
    tail = [step(size, [90], place, 4) for size in ([6], [6], [4])]
    assert parting(stacked(source, [[6], [6], [4]], *tail, one)) is not None  # the last reaches past the end
    rows = [step(size, [90], place, 4) for size in ([5], [6], [4])]
    assert parting(stacked(source, [[5], [6], [4]], *rows, one)) is None  # each has its own length


def test_a_crop_of_samples_of_several_sizes_parts_those_that_it_reaches_past_the_end_of():
    source = source_of(PIPELINE)
    place = returned(source, "__call__")
    rows = [step([6], [9], place), step([6], [8], place), step([4], [7], place)]
    crops = stacked(source, [[6], [6], [4]], *rows)
    assert parting(crops) is crops.steps[3]
    kept = [step([6], [6], place), step([6], [6], place), step([4], [4], place)]  # nothing is cut here
    assert parting(stacked(source, [[6], [6], [4]], *kept)) is None


def test_one_channel_is_widened_and_never_padded():
    source = source_of(
        "class Scans:\n    def __getitem__(self, i):\n        return self.scans[i] - 0.5, self.labels[i]"
    )
    place = returned(source, "__getitem__")
    scans = stacked(source, [[3, 8, 8], [1, 8, 8]])
    assert "return (self.scans[i] - 0.5).expand(3, -1, -1), self.labels[i]" in offered("widened", place, scans)
    assert not offered("widened", place, stacked(source, [[3, 8, 8], [1, 8, 9]]))
    assert not list(collated(scans))


def test_a_function_in_a_row_of_functions_is_a_place():
    source = source_of("def trim(x):\n    return x[a:b]\n\n\nSTEPS = [fix, trim]\ntwo = max(fix, trim)")
    place = Place(source, source.tree.body[0].body[0].value)
    evidence = stacked(source, [[6], [4]], step([6], [9], place), step([4], [9], place))
    assert [one.place.text for one in spots(evidence) if one.role == "made"] == ["[fix, trim]"]
    undone = {one.candidate.edits[0].after for one in space(evidence) if one.atom == "slice"}
    assert not undone  # samples are trimmed on purpose


COLLATED = """
def collate(batch):
    return torch.stack(batch)


rows = [encode(text)[:12] for text in texts[:40]]
loader = DataLoader(rows, batch_size=8{given})
for batch in loader:
    pass
"""


@pytest.mark.parametrize(("given", "some"), [(", collate_fn=collate", False), ("", True)])
def test_fewer_or_other_data_are_no_repair_of_samples(given, some):
    source = source_of(COLLATED.replace("{given}", given))
    inner, outer = source.tree.body[0].body[0].value, source.tree.body[-1].iter
    evidence = stacked(source, [[6], [4]])
    evidence.frames += [Call(Place(source, outer), {}, "<module>"), Call(Place(source, inner), {}, "collate")]
    assert any(one.atom in ("literal", "slice", "drop") for one in space(evidence)) is some
    assert not {one.atom for one in space(evidence, family="dataloader")} & {"literal", "slice", "drop"}


def test_an_object_whose_method_samples_went_through_is_a_place_beside_others():
    source = source_of(PIPELINE)
    place = returned(source, "__call__")
    evidence = stacked(source, [[6], [4]], step([6], [9], place), step([4], [9], place))
    made = {one.place.text for one in spots(evidence) if one.role == "made"}
    assert made == {"[Fix(9), Trim()]"}
    assert "steps = Compose([Trim(), Fix(9)])" in {
        (offer.edits()[0].after or "") for one in spots(evidence) if one.role == "made"
        for offer in ATOMS["swap"](one, evidence)
    }  # fmt: skip
