"""Titles of the candidates that change sizes, layouts and slices, in the three languages. Data only."""

from __future__ import annotations

from collections.abc import Mapping

TITLES: Mapping[str, Mapping[str, str]] = {
    "insert": {
        "en": "put `{method}` behind `{what}` {shape}",
        "ko": "`{what}` {shape} 뒤에 `{method}` 추가",
        "zh": "在 `{what}` {shape} 之后加上 `{method}`",
    },
    "sample": {
        "en": "give it `{new}`, {less} rows, in place of all {rows} of `{old}`",
        "ko": "`{old}` 전체 {rows}행 대신 `{new}` {less}행 주기",
        "zh": "传入 `{new}`（{less} 行），而不是 `{old}` 的全部 {rows} 行",
    },
    "begun": {
        "en": "give the state the dimension of its layers, [layers, batch, hidden]: `{new}`",
        "ko": "상태에 계층 차원을 넣어 [계층, 배치, 은닉] 모양으로 만들기: `{new}`",
        "zh": "给状态加上层数维，成为 [层, 批次, 隐藏]：`{new}`",
    },
    "undo": {
        "en": "leave out `{method}`, so that it stays {shape}: `{what}`",
        "ko": "`{method}` 빼고 {shape} 그대로 두기: `{what}`",
        "zh": "去掉 `{method}`，保持 {shape}：`{what}`",
    },
    "later": {
        "en": "compute `{what}` after the line that changes `{name}`",
        "ko": "`{name}` 값을 바꾸는 줄 다음에 `{what}` 계산하기",
        "zh": "在改变 `{name}` 的那一行之后再计算 `{what}`",
    },
    "kept": {
        "en": "leave out `{method}`, which takes dimensions away: `{what}`",
        "ko": "차원을 없애는 `{method}` 빼기: `{what}`",
        "zh": "去掉减少维度的 `{method}`：`{what}`",
    },
    "around": {
        "en": "move the {size} channels of `{what}` to where this layer reads them, and back",
        "ko": "이 계층이 읽는 위치로 `{what}` 텐서의 채널 {size}개를 옮기고 되돌리기",
        "zh": "把 `{what}` 的 {size} 个通道移到此层读取的位置，再移回来",
    },
    "squeeze": {
        "en": "keep the batch, `{new}`: a bare `squeeze()` drops it where it has one sample",
        "ko": "배치 차원 유지하기, `{new}`: 인자 없는 `squeeze()` 호출은 샘플이 하나인 배치 차원도 없앰",
        "zh": "保留批次维，用 `{new}`：不带参数的 `squeeze()` 会去掉只有一个样本的批次维",
    },
    "flatten": {
        "en": "flatten the feature maps before the linear layer: `{new}`",
        "ko": "선형 계층 앞에서 특성 맵 펼치기: `{new}`",
        "zh": "在线性层之前展平特征图：`{new}`",
    },
    "set": {
        "en": "let `{argument}` of {layer} be {size}, the size that arrives",
        "ko": "{layer} 계층의 `{argument}` 값을 들어오는 크기인 {size}(으)로 설정",
        "zh": "将 {layer} 的 `{argument}` 设为实际到来的大小 {size}",
    },
    "set-out": {
        "en": "let `{argument}` of {layer} be {size}, the size that is expected next",
        "ko": "{layer} 계층의 `{argument}` 값을 다음 단계가 기대하는 크기인 {size}(으)로 설정",
        "zh": "将 {layer} 的 `{argument}` 设为下一步所需的大小 {size}",
    },
    "literal": {
        "en": "change {old} to {new}, from which {what} = {value} follows",
        "ko": "{old} 값을 {new}(으)로 변경 ({what} = {value})",
        "zh": "把 {old} 改为 {new}，由此得到 {what} = {value}",
    },
    "neighbour": {
        "en": "change {old} to {new}, with which the sizes fit",
        "ko": "크기가 맞도록 {old} 값을 {new}(으)로 변경",
        "zh": "把 {old} 改为 {new}，使各大小相符",
    },
    "factor": {
        "en": "use `{new}` in place of the fixed number in `{old}`",
        "ko": "`{old}` 안의 고정된 수 대신 `{new}` 사용",
        "zh": "用 `{new}` 代替 `{old}` 中写死的数",
    },
    "advance": {
        "en": "let `{old}` be `{new}` for the next round of the loop",
        "ko": "다음 반복에서 `{old}` 값이 `{new}` 값이 되게 하기",
        "zh": "让 `{old}` 在下一轮循环中取 `{new}` 的值",
    },
    "batch-size": {
        "en": "take the batch size from the tensor, `{new}`, not a fixed {old}",
        "ko": "고정된 {old} 대신 텐서에서 배치 크기 `{new}` 가져오기",
        "zh": "从张量取批次大小 `{new}`，而不是固定的 {old}",
    },
    "keep-batch": {
        "en": "keep the batch dimension in the view, `{new}`, and build the layer for the {value} features that remain",
        "ko": "view에서 배치 차원을 유지하고(`{new}`) 남는 특성 {value}개에 맞게 계층 만들기",
        "zh": "在 view 中保留批次维（`{new}`），并按剩余的 {value} 个特征构建该层",
    },
    "padding": {
        "en": "give {layer} {argument}={new}, so that the sizes meet",
        "ko": "크기가 맞도록 {layer} 계층에 {argument}={new} 지정",
        "zh": "为 {layer} 设置 {argument}={new}，使大小一致",
    },
    "dim": {
        "en": "use dim={new} in place of {old}",
        "ko": "dim {old} 대신 {new} 사용",
        "zh": "把 dim 从 {old} 改为 {new}",
    },
    "one-more": {
        "en": "count one more: `{new}`",
        "ko": "하나 더 세기: `{new}`",
        "zh": "多算一个：`{new}`",
    },
    "count-as": {
        "en": "count as many as arrive: `{new}`",
        "ko": "들어오는 개수만큼 세기: `{new}`",
        "zh": "按实际到来的数量计数：`{new}`",
    },
    "more": {
        "en": "count the ones that are missing too: `{new}`",
        "ko": "빠진 것까지 세기: `{new}`",
        "zh": "把缺少的也算上：`{new}`",
    },
    "unfold": {
        "en": "let `{new}` count the windows that fit",
        "ko": "`{new}` 호출로 들어맞는 구간 수 계산",
        "zh": "用 `{new}` 计算放得下的窗口数",
    },
    "unfold-batch": {
        "en": "keep the samples of {shape} apart: no `{what}`",
        "ko": "{shape} 모양의 샘플을 따로 유지하기: `{what}` 호출 제거",
        "zh": "让 {shape} 的各个样本保持分开：去掉 `{what}`",
    },
    "join-otherwise": {
        "en": "join with `{new}` in place of `{old}`",
        "ko": "`{old}` 대신 `{new}` 함수로 잇기",
        "zh": "用 `{new}` 代替 `{old}` 来拼接",
    },
    "expanded": {
        "en": "repeat `{what}` for each sample of `{other}`: expand",
        "ko": "`{other}`의 샘플마다 `{what}` 반복하기: expand",
        "zh": "为 `{other}` 的每个样本重复 `{what}`：expand",
    },
    "turned": {
        "en": "exchange dimensions 0 and {at} of `{what}`, so that its size of 1 meets the batch",
        "ko": "크기 1이 배치와 만나도록 `{what}`의 0번과 {at}번 차원 바꾸기",
        "zh": "交换 `{what}` 的第 0 与第 {at} 维，使大小为 1 的一维对上批次",
    },
    "flat-batch": {
        "en": "flatten each sample, whatever its size: `{new}`",
        "ko": "크기와 상관없이 샘플마다 펼치기: `{new}`",
        "zh": "无论大小，逐个样本展平：`{new}`",
    },
    "alike": {
        "en": "prepare the input as line {line} does: `{new}`",
        "ko": "{line}번째 줄처럼 입력 준비하기: `{new}`",
        "zh": "像第 {line} 行那样准备输入：`{new}`",
    },
    "picked": {
        "en": "take the rows where both sides have them: `{new}`",
        "ko": "양쪽 모두 같은 행 고르기: `{new}`",
        "zh": "在两边都取相同的行：`{new}`",
    },
    "window": {
        "en": "give the model only the last {limit} of `{what}`, which grows with each step",
        "ko": "단계마다 길어지는 `{what}` 텐서의 마지막 {limit} 부분만 모델에 주기",
        "zh": "只把每步都会变长的 `{what}` 的最后 {limit} 个交给模型",
    },
    "ones": {
        "en": "create it with sizes of one behind, so that each sample of `{other}` gets its own value",
        "ko": "`{other}` 텐서의 샘플마다 값이 하나씩 적용되도록 뒤에 크기 1인 차원을 두어 만들기",
        "zh": "创建时在后面加上大小为一的维度，使 `{other}` 的每个样本对应各自的值",
    },
    "resize": {
        "en": "bring `{what}` to the size of the tensor beside it",
        "ko": "`{what}` 텐서를 옆 텐서의 크기에 맞추기",
        "zh": "把 `{what}` 调整到旁边张量的大小",
    },
    "pad-to": {
        "en": "pad `{what}` with zeros to the size of `{other}`",
        "ko": "`{what}` 텐서를 0으로 채워 `{other}` 텐서의 크기에 맞추기",
        "zh": "用零把 `{what}` 补齐到 `{other}` 的大小",
    },
    "crop-to": {
        "en": "crop `{what}` to the size of `{other}`",
        "ko": "`{what}` 텐서를 `{other}` 텐서의 크기로 자르기",
        "zh": "把 `{what}` 裁剪到 `{other}` 的大小",
    },
}
