"""Titles of the candidates that change sizes, layouts and slices, in the three languages. Data only."""

from __future__ import annotations

from collections.abc import Mapping

TITLES: Mapping[str, Mapping[str, str]] = {
    "starts": {
        "en": "offsets are where each part begins, 0 for the first, not the cumulative sum where it ends: `{new}`",
        "ko": "오프셋은 각 부분이 끝나는 누적합이 아니라 시작하는 위치이며 첫 부분은 0: `{new}`",
        "zh": "偏移量是每一部分的起点（第一个为 0），而不是累计和给出的终点：`{new}`",
    },
    "count-rows": {
        "en": "the offset of the next sample's indices counts what they point into, not `{old}`: `{new}`",
        "ko": "다음 샘플 인덱스의 오프셋은 `{old}` 값이 아니라 인덱스가 가리키는 대상의 개수: `{new}`",
        "zh": "下一个样本的索引偏移量应按索引所指的对象计数，而不是 `{old}`：`{new}`",
    },
    "count-rest": {
        "en": "let the size follow from what arrives: -1 in place of `{old}`",
        "ko": "들어오는 값에 따라 크기가 정해지도록 `{old}` 대신 -1 쓰기",
        "zh": "让该大小由实际输入决定：用 -1 代替 `{old}`",
    },
    "padded-size": {
        "en": "count the padding, as the layers do: `{new}`",
        "ko": "계층처럼 패딩도 계산에 넣기: `{new}`",
        "zh": "像各层那样把填充也计入：`{new}`",
    },
    "divided-alike": {
        "en": "divide by `{new}`, as for the other part of the position, not by `{old}`",
        "ko": "위치의 다른 부분처럼 `{old}` 대신 `{new}` 값으로 나누기",
        "zh": "与位置的另一部分一样除以 `{new}`，而不是 `{old}`",
    },
    "self-loops": {
        "en": "give the self loops weights too: `{new}`",
        "ko": "자기 루프에도 가중치 주기: `{new}`",
        "zh": "也给自环加上权重：`{new}`",
    },
    "class-numbers": {
        "en": "`{what}` holds codes from {low} to {high}: give each its number among those that occur",
        "ko": "`{what}` 에는 {low}부터 {high}까지의 코드가 있으므로 나타나는 코드마다 순서 번호를 주기",
        "zh": "`{what}` 存的是 {low} 到 {high} 的代码：换成各代码在出现的代码中的序号",
    },
    "insert": {
        "en": "put `{method}` behind `{what}` {shape}",
        "ko": "`{what}` {shape} 뒤에 `{method}` 추가",
        "zh": "在 `{what}` {shape} 之后加上 `{method}`",
    },
    "as-before-join": {
        "en": "`{joined}` makes {total} positions, {more} more than there are targets: `{new}`",
        "ko": "`{joined}` 식이 목표보다 {more}개 많은 위치 {total}개를 만듦: `{new}`",
        "zh": "`{joined}` 得到 {total} 个位置，比目标多 {more} 个：`{new}`",
    },
    "fitting-side": {
        "en": "give it images of side {new}, for which the network's layers are made, in place of {old}",
        "ko": "한 변이 {old} 대신 네트워크의 층에 맞는 {new} 크기의 이미지 주기",
        "zh": "输入边长为 {new} 的图像（网络各层为此设计），而不是 {old}",
    },
    "coarser": {
        "en": "put the layer at a coarser level, of fewer positions: `{what}` {new} in place of {old}",
        "ko": "위치가 더 적은 거친 단계에 층을 두기: `{what}` 값을 {old} 대신 {new} 로 설정",
        "zh": "把该层放到位置更少的粗层级：`{what}` 用 {new} 代替 {old}",
    },
    "longer-steps": {
        "en": "move the windows of {window} by {new} in place of {old}: each attends to every other",
        "ko": "길이 {window} 창을 {old} 대신 {new} 씩 옮기기: 창마다 다른 모든 창을 봄",
        "zh": "长度为 {window} 的窗口每次移动 {new} 而不是 {old}：每个窗口都与所有其他窗口做注意力",
    },
    "fewer-rows": {
        "en": "make room for {new} rows in place of {old}: {shape} is allocated at once",
        "ko": "{old} 대신 {new}행의 자리만 만들기: {shape} 전체가 한 번에 할당됨",
        "zh": "只为 {new} 行而不是 {old} 行留出空间：{shape} 会一次全部分配",
    },
    "larger-patches": {
        "en": "cut the images in patches of side {new} in place of {old}: each attends to every other",
        "ko": "이미지를 한 변 {old} 대신 {new} 크기의 패치로 나누기: 패치마다 다른 모든 패치를 봄",
        "zh": "把图像切成边长 {new} 而不是 {old} 的块：每块都与所有其他块做注意力",
    },
    "sample": {
        "en": "give it `{new}`, {less} rows, in place of all {rows} of `{old}`",
        "ko": "`{old}` 전체 {rows}행 대신 `{new}` {less}행 주기",
        "zh": "传入 `{new}`（{less} 行），而不是 `{old}` 的全部 {rows} 行",
    },
    "all-heads": {
        "en": "the `{heads}` heads are joined, so the width between layers is that of all of them: `{new}`",
        "ko": "헤드 `{heads}`개를 이어 붙이므로 계층 사이의 폭은 모든 헤드를 합친 값: `{new}`",
        "zh": "`{heads}` 个头的输出被拼接，因此各层之间的宽度是所有头之和：`{new}`",
    },
    "begun": {
        "en": "give the state the dimension of its layers, [layers, batch, hidden]: `{new}`",
        "ko": "상태에 계층 차원을 넣어 [계층, 배치, 은닉] 모양으로 만들기: `{new}`",
        "zh": "给状态加上层数维，成为 [层, 批次, 隐藏]：`{new}`",
    },
    "one-state": {
        "en": "take the state as one tensor, `{new}`, as a GRU or RNN gives it",
        "ko": "GRU 나 RNN 이 주는 대로 상태를 텐서 하나 `{new}` 로 받기",
        "zh": "GRU 或 RNN 的状态是一个张量，用 `{new}` 接收",
    },
    "fold": {
        "en": "fold the images of each sample in `{what}` into the batch, and unfold the result",
        "ko": "`{what}` 의 샘플마다 여러 장인 이미지를 배치에 합치고 결과를 다시 나누기",
        "zh": "把 `{what}` 中每个样本的多幅图像并入批，再把结果拆开",
    },
    "fold-mean": {
        "en": "fold the images of each sample in `{what}` into the batch, and take the mean of their results",
        "ko": "`{what}` 의 샘플마다 여러 장인 이미지를 배치에 합치고 결과의 평균 구하기",
        "zh": "把 `{what}` 中每个样本的多幅图像并入批，并对结果取平均",
    },
    "directions": {
        "en": "ask `{layer}` for the number of its directions: `{new}`",
        "ko": "`{layer}` 층에 방향의 수 묻기: `{new}`",
        "zh": "向 `{layer}` 询问方向数：`{new}`",
    },
    "as-layer": {
        "en": "give `{helper}` the kernel and stride with which the layer is built",
        "ko": "`{helper}` 에 층을 만들 때와 같은 커널과 스트라이드 주기",
        "zh": "把构造该层所用的核大小和步幅传给 `{helper}`",
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
    "for-all": {
        "en": "do it for all data, not in training alone: `{what}`",
        "ko": "학습만이 아니라 모든 데이터에 적용하기: `{what}`",
        "zh": "对所有数据都这样做，而不只在训练时：`{what}`",
    },
    "no-flag": {
        "en": "leave `{new}` out, as the other call of `{layer}` does",
        "ko": "다른 `{layer}` 호출처럼 `{new}` 빼기",
        "zh": "像另一处 `{layer}` 调用那样去掉 `{new}`",
    },
    "own-size": {
        "en": "take the size from the tensor itself: `{new}` in place of `{old}`",
        "ko": "크기를 텐서 자체에서 얻기: `{old}` 대신 `{new}`",
        "zh": "从张量本身取大小：用 `{new}` 代替 `{old}`",
    },
    "pad-batch": {
        "en": "pad `{what}` to {size}, which its longest may not reach",
        "ko": "가장 긴 것도 모자랄 수 있으므로 `{what}` 길이를 {size} 까지 채우기",
        "zh": "把 `{what}` 填充到 {size}，因为最长的也可能不够长",
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
    "reduced-too": {
        "en": "reduce `{what}` as `{other}` is reduced: `.{method}`",
        "ko": "`{other}` 처럼 `{what}` 텐서도 줄이기: `.{method}`",
        "zh": "像 `{other}` 那样也对 `{what}` 归约：`.{method}`",
    },
    "both-ways": {
        "en": "count both directions of {layer}: `{new}`",
        "ko": "{layer} 계층의 두 방향을 모두 세기: `{new}`",
        "zh": "把 {layer} 的两个方向都算上：`{new}`",
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
    "size-left-out": {
        "en": "tell {function} how many there are, it counts only up to the largest index it sees: `{new}`",
        "ko": "{function} 함수에 전체 개수를 알려주기, 보이는 가장 큰 인덱스까지만 셈: `{new}`",
        "zh": "把总数告诉 {function}，它只数到所见的最大索引：`{new}`",
    },
    "room-left": {
        "en": "cut to `[{new}]`: {added} more are put around what is cut",
        "ko": "`[{new}]` 까지 자르기: 자른 뒤에 {added}개가 더 붙음",
        "zh": "截断到 `[{new}]`：截断之后还要再加上 {added} 个",
    },
    "renumber-too": {
        "en": "`{what}` holds positions of all rows: those of the rows that are left, counted among them: `{new}`",
        "ko": "`{what}` 값은 모든 행에서 센 위치: 남은 행만, 그 안에서 다시 센 위치로: `{new}`",
        "zh": "`{what}` 是在全部行中的位置：只取留下的行，并按其中的次序重新编号：`{new}`",
    },
    "by-step": {
        "en": "count steps of `{name}`, which the function is given and does not use: `{new}`",
        "ko": "함수가 받고도 쓰지 않는 `{name}` 단위로 세기: `{new}`",
        "zh": "按函数收到却没有使用的 `{name}` 计数：`{new}`",
    },
    "three-channels": {
        "en": "load all pictures with three channels: `{new}`",
        "ko": "모든 이미지를 채널 3개로 불러오기: `{new}`",
        "zh": "把所有图片都按三个通道读入：`{new}`",
    },
    "at-most": {
        "en": "ask for {new} in place of {old}: there are {size}",
        "ko": "{old} 대신 {new} 요청: 모두 {size}개뿐임",
        "zh": "只要 {new} 个而不是 {old} 个：总共只有 {size} 个",
    },
    "zeros-filled-up": {
        "en": "where there are fewer than `{k}`, take all and fill up with zeros: `{new}`",
        "ko": "`{k}`개보다 적으면 모두 고르고 나머지를 0으로 채우기: `{new}`",
        "zh": "不足 `{k}` 个时取全部，其余用零补齐：`{new}`",
    },
    "count-part": {
        "en": "count `{new}` too: it is joined to the others",
        "ko": "`{new}` 크기도 더하기: 다른 값들과 함께 이어 붙여짐",
        "zh": "把 `{new}` 也计入：它与其他部分拼接在一起",
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
    "letters": {
        "en": "write `{new}`, with which every letter has one size",
        "ko": "글자마다 크기가 하나로 맞도록 `{new}` 사용",
        "zh": "写成 `{new}`，使每个字母只有一个大小",
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
    "full-length": {
        "en": "keep the full length of {new}, not only the longest of {old}: `{argument}`",
        "ko": "가장 긴 {old}이 아니라 전체 길이 {new} 유지: `{argument}`",
        "zh": "保留完整长度 {new}，而不是其中最长的 {old}：`{argument}`",
    },
    "header": {
        "en": "leave out {new} bytes, not {old}: {more} bytes of the header are read as numbers",
        "ko": "{old} 대신 {new} 바이트 건너뛰기: 헤더 {more} 바이트를 숫자로 읽음",
        "zh": "跳过 {new} 个字节而不是 {old}：文件头的 {more} 个字节被当作数值读取",
    },
    "slice-alike": {
        "en": "make it of `{new}`, which the program goes on with, not of all of `{what}`",
        "ko": "`{what}` 전체가 아니라 이후에 쓰는 `{new}` 부분으로 만들기",
        "zh": "用程序后面使用的 `{new}` 来生成，而不是整个 `{what}`",
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
    "other-end": {
        "en": "go through the list from its other end: `{new}`",
        "ko": "리스트를 반대쪽 끝에서부터 읽기: `{new}`",
        "zh": "从另一端遍历列表：`{new}`",
    },
    "last-layer": {
        "en": "take the state of the last layer, not of all {layers}: `{new}`",
        "ko": "{layers}개 층 전체가 아니라 마지막 층의 상태 사용: `{new}`",
        "zh": "取最后一层的状态，而不是全部 {layers} 层：`{new}`",
    },
    "surplus": {
        "en": "leave the surplus dimension of size 1 out of `{what}`",
        "ko": "`{what}` 에서 남는 크기 1 차원 빼기",
        "zh": "去掉 `{what}` 中多余的大小为 1 的维度",
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
    "join-state": {
        "en": "make one state of those of all directions or layers: `{new}`",
        "ko": "모든 방향이나 층의 상태를 하나로 만들기: `{new}`",
        "zh": "把各方向或各层的状态合成一个：`{new}`",
    },
    "swap-names": {
        "en": "take the sizes in the other order: `{new}`",
        "ko": "크기를 반대 순서로 받기: `{new}`",
        "zh": "按另一顺序取大小：`{new}`",
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
    "pad-to": {
        "en": "pad `{what}` with zeros to the size of `{other}`",
        "ko": "`{what}` 텐서를 0으로 채워 `{other}` 텐서의 크기에 맞추기",
        "zh": "用零把 `{what}` 补齐到 `{other}` 的大小",
    },
    "fit-target": {
        "en": "take of the value what the place `{what}` has room for",
        "ko": "`{what}` 자리에 들어갈 만큼만 값에서 취하기",
        "zh": "只取值中 `{what}` 容得下的部分",
    },
    "crop-to": {
        "en": "crop `{what}` to the size of `{other}`",
        "ko": "`{what}` 텐서를 `{other}` 텐서의 크기로 자르기",
        "zh": "把 `{what}` 裁剪到 `{other}` 的大小",
    },
    "resize": {
        "en": "bring `{what}` to the size of the tensor beside it",
        "ko": "`{what}` 텐서를 옆 텐서의 크기에 맞추기",
        "zh": "把 `{what}` 调整到旁边张量的大小",
    },
}
