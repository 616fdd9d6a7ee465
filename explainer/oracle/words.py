"""What is said of an edit's checks, in the three languages: what was tested, and what is in doubt."""

from __future__ import annotations

from explainer.oracle.judge import Judgement

Texts = dict[str, str]
MORE: Texts = {"en": "with {count} samples too", "ko": "샘플 {count}개로도 실행됨", "zh": "{count} 个样本时也可运行"}
APART: Texts = {"en": "samples stay independent", "ko": "샘플끼리 독립 유지", "zh": "样本之间保持独立"}
SHORTER: Texts = {"en": "other lengths run", "ko": "다른 길이도 실행됨", "zh": "其他长度也可运行"}
CAUSAL: Texts = {"en": "it stays causal", "ko": "인과성 유지", "zh": "保持因果性"}
DOUBTS: dict[str, Texts] = {
    "tied": {
        "en": "two dimensions have one size here, so another alignment runs too; see which is meant",
        "ko": "여기서는 두 차원의 크기가 같아 다른 정렬로도 실행됩니다. 의도한 쪽을 확인하세요",
        "zh": "这里两个维度大小相同，换一种对齐方式也能运行；请确认想要的是哪一种",
    },
    "data": {
        "en": "it runs, but only with other sizes of the data, which are as they are",
        "ko": "실행되지만 데이터의 크기를 바꿔야만 됩니다. 데이터는 주어진 그대로입니다",
        "zh": "可以运行，但只有改变数据的大小才行，而数据本是既定的",
    },
    "usual": {
        "en": "it runs, but changes what this line made of all other samples, which was right",
        "ko": "실행되지만 이 줄이 다른 샘플에서 올바르게 만들던 것까지 달라집니다",
        "zh": "可以运行，但这一行对其他样本原本正确的结果也会改变",
    },
    "saved": {
        "en": "it runs, but saves weights of other shapes: a file that was saved before would not load",
        "ko": "실행되지만 다른 모양의 가중치를 저장합니다. 전에 저장한 파일은 읽히지 않습니다",
        "zh": "可以运行，但保存的权重形状变了：之前保存的文件仍无法加载",
    },
    "picked": {
        "en": "it runs, but what the subscript picked is no longer picked",
        "ko": "실행되지만 인덱스로 고르던 것을 더 이상 고르지 않습니다",
        "zh": "可以运行，但不再选取下标原本选取的内容",
    },
    "spread": {
        "en": "it runs, but one entry then stands for all of them",
        "ko": "실행되지만 원소 하나가 전체를 대신합니다",
        "zh": "可以运行，但一个元素代替了全部元素",
    },
    "itself": {
        "en": "it runs, but a tensor then meets itself",
        "ko": "실행되지만 텐서가 자기 자신과 계산됩니다",
        "zh": "可以运行，但张量随后与自身运算",
    },
    "unreached": {
        "en": "it runs, but what failed is not called any more",
        "ko": "실행되지만 실패했던 부분이 더 이상 호출되지 않습니다",
        "zh": "可以运行，但原先出错的部分不再被调用",
    },
    "fewer": {
        "en": "it runs, but the model then lacks many of its layers",
        "ko": "실행되지만 모델의 층이 많이 빠집니다",
        "zh": "可以运行，但模型会缺少许多层",
    },
    "unread": {
        "en": "it runs, but the last part of an input no longer reaches the output",
        "ko": "실행되지만 입력의 마지막 부분이 더 이상 출력에 반영되지 않습니다",
        "zh": "可以运行，但输入的最后一部分不再影响输出",
    },
    "argument": {
        "en": "it runs, but what the argument did is left out with it",
        "ko": "실행되지만 그 인수가 하던 일도 함께 빠집니다",
        "zh": "可以运行，但该参数的作用也一并被去掉",
    },
    "still": {
        "en": "it runs, but every gradient is then zero",
        "ko": "실행되지만 모든 기울기가 0이 됩니다",
        "zh": "可以运行，但所有梯度都变为零",
    },
    "untrained": {
        "en": "with it some parameters get no gradient",
        "ko": "적용하면 기울기를 받지 못하는 파라미터가 있습니다",
        "zh": "应用后有些参数得不到梯度",
    },
    "outputs": {
        "en": "it changes how many results are returned",
        "ko": "반환되는 결과의 수가 달라집니다",
        "zh": "会改变返回结果的个数",
    },
    "values": {
        "en": "it changes what the model computed rightly",
        "ko": "올바르던 모델의 출력 값이 달라집니다",
        "zh": "会改变模型原本正确的输出",
    },
    "mixed": {
        "en": "it runs, but mixes the samples of a batch",
        "ko": "실행되지만 배치의 샘플들이 서로 섞입니다",
        "zh": "可以运行，但会混合同一批中的样本",
    },
    "scrambled": {
        "en": "it runs, but joins sizes that are not neighbours; undo the transpose first{turned}",
        "ko": "실행되지만 이웃하지 않은 차원을 합칩니다. 먼저 전치를 되돌리세요{turned}",
        "zh": "可以运行，但合并了不相邻的维度；请先撤销转置{turned}",
    },
    "batch": {
        "en": "it runs with this batch size only",
        "ko": "이 배치 크기에서만 실행됩니다",
        "zh": "只在当前批大小下可以运行",
    },
    "causal": {
        "en": "it runs, but earlier steps see later ones",
        "ko": "실행되지만 앞 시점이 뒤 시점을 보게 됩니다",
        "zh": "可以运行，但较早的时间步会看到较晚的",
    },
    "warned": {
        "en": "it runs, with a new warning at this place",
        "ko": "실행되지만 이 위치에서 새 경고가 나옵니다",
        "zh": "可以运行，但此处会出现新的警告",
    },
    "write": {
        "en": "what was written in place no longer reaches the tensor that is kept",
        "ko": "제자리 쓰기의 결과가 유지되는 텐서에 더 이상 닿지 않습니다",
        "zh": "原地写入的结果不再到达被保留的张量",
    },
    "unlikely": {
        "en": "it runs, as others do, and little speaks for it; look further up before you take it",
        "ko": "실행되지만 다른 수정도 실행되고 이것이라는 근거는 약합니다. 적용 전에 앞쪽 코드를 살펴보세요",
        "zh": "可以运行，但其他修改也可以，而且很少有迹象表明这是本意；采用前请先检查上游代码",
    },
    "number": {
        "en": "it runs, but the number is only what these data lacked; see what the length leaves out",
        "ko": "실행되지만 그 숫자는 이 데이터에 모자란 만큼일 뿐입니다. 길이에서 무엇이 빠졌는지 확인하세요",
        "zh": "可以运行，但这个数只是当前数据所缺的数量；请确认长度里漏算了什么",
    },
    "chance": {
        "en": "these sizes add up here; see whether they belong together",
        "ko": "여기서는 이 크기들의 합이 맞습니다. 서로 관련된 값인지 확인하세요",
        "zh": "这些大小之和在此处恰好相等；请确认它们确有关联",
    },
}


def tested(judgement: Judgement, language: str) -> str:
    """What was tested beside the run itself: `with 5 samples too; samples stay independent`; may be empty."""
    told = [(MORE, judgement.more > 0), (APART, judgement.apart), (CAUSAL, judgement.causal)]
    if not judgement.causal:
        told.append((SHORTER, judgement.shorter and not judgement.apart))
    parts = [texts.get(language, texts["en"]).format(count=judgement.more) for texts, holds in told if holds]
    return ("；" if language == "zh" else "; ").join(parts)


def doubt(judgement: Judgement, language: str) -> str:
    """Why an edit that ran is a suggestion; empty where it is in no doubt."""
    texts = DOUBTS[judgement.doubts[0]] if judgement.doubts else {"en": ""}
    turned = f" ({judgement.turned[0]}:{judgement.turned[1]})" if judgement.turned else ""
    return texts.get(language, texts["en"]).replace("{turned}", turned)
