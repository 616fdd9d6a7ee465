"""Edits of restoring, on source alone: what they write, and where they keep their hands off."""

from __future__ import annotations

import ast
import textwrap

import pytest

from explainer.edits.borrowed import imports_for
from explainer.edits.kinds.choosing import choose_device
from explainer.edits.kinds.devices import give_device
from explainer.edits.kinds.restoring import always_add, build_and_load, load_apart
from explainer.edits.kinds.tables import save_table
from explainer.edits.lines import EditError, applied
from explainer.edits.place import Place
from explainer.source import parsed_source


def places(text, *pieces, file="a.py"):
    """The place of the outermost expression or statement that reads as each piece."""
    source = parsed_source(file, textwrap.dedent(text).strip("\n"))
    nodes = [node for node in source.nodes() if isinstance(node, (ast.expr, ast.If))]
    return [Place(source, next(node for node in nodes if source.text(node) == piece)) for piece in pieces]


def edited(place, edits):
    return applied("\n".join(place.source.lines), [one for one in edits if one.file.endswith(place.source.file)])


def test_a_load_within_a_longer_expression_keeps_the_rest_of_the_statement():
    (call,) = places("nets.append(make(3).load_state_dict(state))", "make(3).load_state_dict(state)")
    after = edited(call, load_apart((call,)))
    assert after == "model = make(3)\nmodel.load_state_dict(state)\nnets.append(model)"


def test_a_load_that_may_not_be_run_is_not_taken_out_of_its_choice():
    text = "net = make().load_state_dict(state) if state else make()"
    (call,) = places(text, "make().load_state_dict(state)")
    with pytest.raises(EditError):
        load_apart((call,))


def test_a_model_is_built_under_the_name_that_the_state_had():
    (at, kept) = places(
        "from nets import Net\nfirst = Net(3)\nself.net = torch.load(path)", "torch.load(path)", "Net(3)"
    )
    after = edited(at, build_and_load(at, kept, "weights"))
    assert after.endswith('self.net = Net(3)\nself.net.load_state_dict(torch.load(path)["weights"])')


def test_a_call_that_uses_names_of_another_function_is_not_borrowed():
    text = """
    def train(width):
        return Net(width)
    def restored(path):
        return torch.load(path)
    """
    at, kept = places(text, "torch.load(path)", "Net(width)")
    assert imports_for(at.source, at.span.line, kept.source, kept.node) is None
    with pytest.raises(EditError):
        build_and_load(at, kept)


def test_a_class_of_another_file_is_imported_as_that_file_imports_it_and_from_no_script():
    (kept,) = places("from nets import Net\nnet = Net(3)", "Net(3)", file="train.py")
    (at,) = places("net = load()", "load()")
    assert imports_for(at.source, 1, kept.source, kept.node) == "from nets import Net"
    script = "class Net: pass\nif __name__ == '__main__':\n    net = Net()"
    (kept,) = places(script, "Net()", file="main.py")
    assert imports_for(at.source, 1, kept.source, kept.node) is None


def test_the_choice_of_a_device_goes_into_the_test_that_is_there():
    for text, after in {
        'd = "cuda" if gpu else "cpu"': 'd = "cuda" if gpu and torch.cuda.is_available() else "cpu"',
        'd = "cpu" if a or b else "cuda"': 'd = "cpu" if (a or b) or not torch.cuda.is_available() else "cuda"',
        'd = torch.device("cuda")': 'd = torch.device("cuda" if torch.cuda.is_available() else "cpu")',
    }.items():
        (at,) = places(f"import torch\n{text}", '"cuda"')
        assert edited(at, choose_device(at)).splitlines()[-1] == after


def test_calls_of_cuda_share_one_device_with_a_name_that_is_free():
    text = "import torch\ndevice = 3\nnet = net.cuda()\nx = x.cuda(non_blocking=True)"
    each = places(text, "net.cuda()", "x.cuda(non_blocking=True)")
    lines = edited(each[0], choose_device(each=tuple(each))).splitlines()
    assert lines[-2:] == ["net = net.to(DEVICE)", "x = x.to(DEVICE, non_blocking=True)"]
    assert 'DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")' in lines


def test_factories_of_one_line_get_their_device_together():
    each = places("h, c = torch.zeros(2, 3,), torch.ones(2)", "torch.zeros(2, 3,)", "torch.ones(2)")
    after = edited(each[0], give_device(tuple(each), "x.device"))
    assert after == "h, c = torch.zeros(2, 3, device=x.device), torch.ones(2, device=x.device)"


def test_an_optional_layer_is_added_always():
    (at,) = places("if p > 0:\n    layers.append(nn.Dropout(p))", "if p > 0:\n    layers.append(nn.Dropout(p))")
    assert edited(at, always_add((at,))) == "layers.append(nn.Dropout(p))"


def test_a_table_is_saved_with_weights_that_were_saved_alone():
    text = """
    def fit(texts, path):
        words = listed(texts)
        torch.save(net.state_dict(), path)
    def use(texts, path):
        words = listed(texts)
        net.load_state_dict(torch.load(path))
    """
    kept, load, file = places(
        text, "torch.save(net.state_dict(), path)", "net.load_state_dict(torch.load(path))", "torch.load(path)"
    )
    made = [node for node in kept.source.nodes() if isinstance(node, ast.Call) and node.lineno == 5]
    after = edited(kept, save_table(kept.at(made[0]), kept, load, file, "words"))
    assert 'torch.save({"model": net.state_dict(), "words": words}, path)' in after
    tail = [
        "    checkpoint = torch.load(path)",
        '    words = checkpoint["words"]',
        '    net.load_state_dict(checkpoint["model"])',
    ]
    assert after.splitlines()[-3:] == tail
