"""Reports made by hand for the tests of the renderers: what a diagnosis of each kind hands over."""

from explainer.diagnosis import Diagnosis, Edit, ErrorFrame, Evidence, Fix, FixSource, Label, Report, Span

TAGGER = """\
class Tagger(nn.Module):
    def __init__(self, words, tags):
        super().__init__()
        self.embed = nn.Embedding(words, 48)
        self.score = nn.Linear(64, tags)

    def forward(self, tokens):
        x = self.embed(tokens)
        x = x.mean(dim=1)
        return torch.log_softmax(self.score(x), dim=-1)
"""
GATE = """\
class Gate(nn.Module):
    def forward(self, x):
        kept = torch.tanh(self.inner(x))
        kept *= x
        return kept
"""


def lines_of(file, text):
    """A file's lines as `Report.source` has them."""
    return {(file, number): line for number, line in enumerate(text.split("\n"), 1)}


SHAPE_WORDS = {
    "en": {
        "headline": "score expects 64 features per row, but x has 48",
        "cause": "`embed` gives 48 numbers for each word and `mean` keeps them: [8, 48].\nLine 5 built score for 64.",
        "origin": "x was made on line 9 from the output of self.embed, [8, 20, 48];\n"
        "the tokens that went in were [8, 20].",
        "fix": "let score take the 48 numbers of each word",
        "said": "with this edit tagger(tokens) runs, on CPU",
        "or": "give each word 64 numbers in self.embed, as score expects",
    },
    "ko": {
        "headline": "score 입력은 행마다 64개 특성이어야 하는데 x 값은 48개입니다",
        "cause": "`embed` 층이 단어마다 숫자 48개를 내고 `mean` 연산이 이를 그대로 둡니다: [8, 48].\n"
        "5번째 줄은 score 층을 64에 맞춰 만들었습니다.",
        "origin": "x 텐서는 9번째 줄에서 self.embed 출력 [8, 20, 48]로 만들어졌습니다.",
        "fix": "score 층이 단어마다 숫자 48개를 받게 합니다",
        "said": "이 수정으로 tagger(tokens) 호출이 CPU에서 실행됩니다",
        "or": "self.embed 층이 단어마다 64개를 내도록 합니다",
    },
    "zh": {
        "headline": "score 每行需要 64 个特征，但 x 有 48 个",
        "cause": "`embed` 为每个词给出 48 个数，`mean` 保持不变：[8, 48]。\n"
        "第 5 行按 64 构造了 score，因此两者的最后一维不一致，矩阵乘法无法进行。",
        "origin": "x 在第 9 行由 self.embed 的输出 [8, 20, 48] 得到；输入的 tokens 是 [8, 20]。",
        "fix": "让 score 接收每个词的 48 个数",
        "said": "经此修改，tagger(tokens) 可在 CPU 上运行",
        "or": "让 self.embed 为每个词给出 64 个数，与 score 一致",
    },
}


def shape(language="en"):
    """A layer built for another size: the culprit is shown by the fix's own lines."""
    words = SHAPE_WORDS[language]
    lines = TAGGER.split("\n")
    edit = Edit("tagger.py", 5, 5, lines[4], lines[4].replace("64", "48"))
    other = Edit("tagger.py", 4, 4, lines[3], lines[3].replace("48", "64"))
    diagnosis = Diagnosis(
        rule="linear-input-size",
        family="shape",
        headline=words["headline"],
        cause=words["cause"],
        certainty="proved",
        origin=words["origin"],
        culprit=Span("tagger.py", 5, 22, 5, 41, "nn.Linear(64, tags)", "score"),
        evidence=(
            Evidence("x", "[8, 48] float32 cpu"),
            Evidence("self.score", "Linear(in_features=64, out_features=12)"),
        ),
        fixes=(Fix(words["fix"], "checked", words["said"], (edit,)), Fix(words["or"], "suggestion", None, (other,))),
        links=("https://pytorch.org/docs/stable/generated/torch.nn.Linear.html",),
    )
    return Report(
        "RuntimeError",
        "mat1 and mat2 shapes cannot be multiplied (8x48 and 64x12)",
        frames=(
            ErrorFrame("train.py", 31, "main", "loss = criterion(tagger(tokens), labels)", True),
            ErrorFrame("tagger.py", 10, "Tagger.forward", TAGGER.split("\n")[9].strip(), True, 34, 47),
            ErrorFrame("/lib/torch/nn/modules/linear.py", 125, "Linear.forward", "return F.linear(", False),
        ),
        diagnoses=(diagnosis,),
        language=language,
        source=lines_of("tagger.py", TAGGER),
    )


def inplace():
    """The culprit is in another file than the crash: two places, the labelled one first."""
    edit = Edit("gate.py", 4, 4, "        kept *= x", "        kept = kept * x")
    source = FixSource("rule", "inplace-saved-value/out-of-place", "gate.py", 4, 9)
    diagnosis = Diagnosis(
        rule="inplace-saved-value",
        family="inplace",
        certainty="proved",
        headline="`kept *= x` overwrote a value that backward needs",
        cause="The gradient of tanh is 1 - kept * kept, so autograd keeps kept itself. "
        "`*=` changes it in place; what was kept is gone when backward runs.",
        origin="loss.grad_fn says which value is stale: TanhBackward0, result.",
        culprit=Span("gate.py", 4, 9, 4, 18, "kept *= x", "kept"),
        labels=(
            Label("gate.py", 3, "tanh kept this result for backward", 16, 41),
            Label("gate.py", 4, "this wrote over it (version 0 -> 1)", 9, 18),
        ),
        evidence=(
            Evidence("kept", "[16, 128] float32 cpu requires grad, output of Tanh"),
            Evidence("x", "[16, 128] float32 cpu"),
        ),
        fixes=(Fix("make a new tensor", "checked", "with this edit loss.backward() runs, on CPU", (edit,), source),),
        notes=("net.gates.0 is also a Gate: the one edit repairs both.",),
    )
    return Report(
        "RuntimeError",
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        "[torch.FloatTensor [16, 128]], which is output 0 of TanhBackward0, is at version 1; "
        "expected version 0 instead. "
        "Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True).",
        frames=(ErrorFrame("train.py", 44, "step", "loss.backward()", True, 5, 20),),
        diagnoses=(diagnosis,),
        source=lines_of("gate.py", GATE) | {("train.py", 44): "    loss.backward()"},
    )


def symptom():
    """Only the symptom speaks: a log's line, no frame, no edit."""
    diagnosis = Diagnosis(
        rule="cuda-out-of-memory",
        family="oom",
        specific=True,
        certainty="possible",
        headline="the GPU has 120 MiB free, and 2.50 GiB more were asked for",
        cause="All of the memory is taken.\n- activations that wait for backward: a batch that is too large\n"
        "- losses kept in a list before backward ran on them, each with its whole graph and all of "
        "its activations",
        fixes=(
            Fix("halve the batch where activations are the largest part", "suggestion"),
            Fix("keep `loss.item()` where the list is only for printing", "suggestion"),
        ),
    )
    return Report(
        "torch.OutOfMemoryError",
        "CUDA out of memory. Tried to allocate 2.50 GiB.",
        diagnoses=(diagnosis,),
        input="train.log",
        line=4012,
        count=12,
        rank=3,
        remarks=("rank 3 failed first; ranks 0 to 2 waited for it",),
    )


def unknown():
    """No rule matched: torch's sentence, the user's frame, the operands."""
    return Report(
        "RuntimeError",
        "a sentence that no symptom knows",
        frames=(ErrorFrame("odd.py", 7, "Odd.forward", "return torch.strange(x, self.table[0])", True, 16, 47),),
        operands=(Evidence("x", "[4, 3] float64 cpu"), Evidence("self.table[0]", "[4] int64 cuda:0")),
        source={
            ("odd.py", 6): "    def forward(self, x):",
            ("odd.py", 7): "        return torch.strange(x, self.table[0])",
        },
    )


def far():
    """The culprit is in another function and no fix shows it: two places."""
    diagnosis = Diagnosis(
        rule="labels-out-of-range",
        family="index",
        certainty="likely",
        headline="label 10 is out of range: 10 classes, 0 to 9",
        cause="The head has 10 outputs; the labels count from 1 to 10.",
        culprit=Span("data.py", 12, 9, 12, 30, "label = int(name)"),
        evidence=(Evidence("labels", "[64] int64 cpu, 1 to 10"),),
        fixes=(Fix("subtract 1 where the labels are read, if they count from 1", "suggestion"),),
    )
    return Report(
        "IndexError",
        "Target 10 is out of bounds.",
        frames=(ErrorFrame("train.py", 120, "main", "loss = F.cross_entropy(model(images), labels)", True, 16, 54),),
        diagnoses=(diagnosis,),
        source={
            ("train.py", 119): "        images, labels = batch",
            ("train.py", 120): "        loss = F.cross_entropy(model(images), labels)",
            ("data.py", 11): "        name = path.parent.name",
            ("data.py", 12): "        label = int(name)",
        },
    )


SAMPLES = {
    "shape-en": lambda: [shape("en")],
    "shape-ko": lambda: [shape("ko")],
    "shape-zh": lambda: [shape("zh")],
    "inplace": lambda: [inplace()],
    "symptom": lambda: [symptom()],
    "unknown": lambda: [unknown()],
    "far": lambda: [far()],
}
