"""Titles of the search's candidates in the three languages. Data only."""

from __future__ import annotations

from collections.abc import Mapping

Texts = Mapping[str, str]

#: Titles of the search's candidates by generator.
TITLES: Mapping[str, Texts] = {
    "cast": {
        "en": "cast `{what}` with `.{method}`, where the {dtype} values come from",
        "ko": "{dtype} 값이 생기는 `{what}` 뒤에 `.{method}` 변환 추가",
        "zh": "在 {dtype} 值产生处用 `.{method}` 转换 `{what}`",
    },
    "as-built": {
        "en": "bring `{model}` back to float32 after its weights are loaded: `{model}.float()`",
        "ko": "가중치를 불러온 뒤 `{model}` 모델을 float32로 되돌리기: `{model}.float()`",
        "zh": "加载权重后把 `{model}` 恢复为 float32：`{model}.float()`",
    },
    "on-device": {
        "en": "make it where the model is: `device={device}` for `{what}`",
        "ko": "모델이 있는 장치에 만들기: `{what}` 호출에 `device={device}` 지정",
        "zh": "在模型所在的设备上创建：为 `{what}` 指定 `device={device}`",
    },
    "move": {
        "en": "move `{what}` to the model's device with `.to({device})`",
        "ko": "`{what}` 값을 `.to({device})` 호출로 모델의 장치로 옮기기",
        "zh": "用 `.to({device})` 把 `{what}` 移到模型所在的设备",
    },
    "insert": {
        "en": "put `{method}` behind `{what}` {shape}",
        "ko": "`{what}` {shape} 뒤에 `{method}` 추가",
        "zh": "在 `{what}` {shape} 之后加上 `{method}`",
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
    "invert": {
        "en": "invert the bool mask with `~`: {new}",
        "ko": "bool 마스크를 `~` 연산자로 반전: {new}",
        "zh": "用 `~` 反转 bool 掩码：{new}",
    },
    "widen-cast": {
        "en": "cast the whole of `{new}` to one dtype, not only `{old}`",
        "ko": "`{old}` 일부가 아니라 `{new}` 전체를 같은 dtype으로 변환",
        "zh": "把整个 `{new}` 转换为同一 dtype，而不只是 `{old}`",
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
    "rename": {
        "en": "use `{new}` in place of `{old}`",
        "ko": "`{old}` 대신 `{new}` 사용",
        "zh": "用 `{new}` 代替 `{old}`",
    },
    "flag": {
        "en": "pass {new} to {layer}",
        "ko": "{layer} 호출에 {new} 전달",
        "zh": "向 {layer} 传入 {new}",
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
    "more": {
        "en": "count the ones that are missing too: `{new}`",
        "ko": "빠진 것까지 세기: `{new}`",
        "zh": "把缺少的也算上：`{new}`",
    },
    "kept-objects": {
        "en": "keep in a list what cannot be stacked, with a `collate_fn`",
        "ko": "쌓을 수 없는 것은 `collate_fn` 함수로 리스트에 그대로 두기",
        "zh": "用 `collate_fn` 把无法堆叠的对象保留在列表中",
    },
    "after-loop": {
        "en": "do `{what}` once behind the loop, not in each pass of it",
        "ko": "반복문 안에서 매번 하지 않고 반복문 뒤에서 한 번 `{what}` 하기",
        "zh": "不在每次循环中、而在循环之后执行一次 `{what}`",
    },
    "then-crop": {
        "en": "bring all to one size behind `{old}`, which keeps the ratio of the sides: `{new}`",
        "ko": "가로세로 비를 유지하는 `{old}` 뒤에서 모두 같은 크기로 맞추기: `{new}`",
        "zh": "在保持长宽比的 `{old}` 之后统一大小：`{new}`",
    },
    "present": {
        "en": "leave out of the batch the samples for which the dataset returns None, with a `collate_fn`",
        "ko": "데이터셋이 None을 돌려준 샘플을 `collate_fn` 함수로 배치에서 제외하기",
        "zh": "用 `collate_fn` 把数据集返回 None 的样本排除在批次之外",
    },
    "letters": {
        "en": "write `{new}`, with which every letter has one size",
        "ko": "글자마다 크기가 하나로 맞도록 `{new}` 사용",
        "zh": "写成 `{new}`，使每个字母只有一个大小",
    },
    "fewer": {
        "en": "promise only the samples that `__getitem__` can give: `{new}`",
        "ko": "`__getitem__` 메서드가 줄 수 있는 샘플 수만 알리기: `{new}`",
        "zh": "只报告 `__getitem__` 能给出的样本数：`{new}`",
    },
    "inline": {
        "en": "read `{new}` where it is used: `{old}` was taken too early",
        "ko": "`{old}` 값은 너무 일찍 읽혔으므로 쓰는 곳에서 `{new}` 읽기",
        "zh": "在使用处读取 `{new}`：`{old}` 取值过早",
    },
    "shift": {
        "en": "count `{what}` from 0: its values run from {low} to {high}",
        "ko": "`{what}` 값을 0부터 세기: 현재 범위 {low}~{high}",
        "zh": "让 `{what}` 从 0 开始计数：其值为 {low} 到 {high}",
    },
    "term": {
        "en": "use `{new}`, a position that exists, in place of `{old}`",
        "ko": "`{old}` 대신 존재하는 위치 `{new}` 사용",
        "zh": "用存在的位置 `{new}` 代替 `{old}`",
    },
    "stop": {
        "en": "end the loop one step earlier, at `{new}`",
        "ko": "반복을 한 단계 먼저 끝내기: `{new}`",
        "zh": "让循环提前一步结束：`{new}`",
    },
    "clone": {
        "en": "give `{what}` memory of its own with `.clone()`",
        "ko": "`.clone()` 호출로 `{what}` 텐서에 자체 메모리 부여",
        "zh": "用 `.clone()` 让 `{what}` 拥有自己的内存",
    },
    "unfold": {
        "en": "let `{new}` count the windows that fit",
        "ko": "`{new}` 호출로 들어맞는 구간 수 계산",
        "zh": "用 `{new}` 计算放得下的窗口数",
    },
    "collate": {
        "en": "pad the samples of a batch to equal size in a collate_fn with `pad_sequence`",
        "ko": "collate_fn에서 `pad_sequence` 함수로 배치의 샘플을 같은 길이로 채우기",
        "zh": "在 collate_fn 中用 `pad_sequence` 把一个批次的样本补齐到相同长度",
    },
    "other-rows": {
        "en": "count the rows of `{new}`, {size}, which are indexed, not those of `{old}`",
        "ko": "`{old}` 행이 아니라 실제로 인덱싱하는 `{new}` 행 {size}개를 세기",
        "zh": "统计被索引的 `{new}` 的 {size} 行，而不是 `{old}` 的行数",
    },
    "pool-map": {
        "en": "pool the map to {side}x{side} before it is flattened: {features} features",
        "ko": "펼치기 전에 특성 맵을 {side}x{side} 크기로 풀링: 특성 {features}개",
        "zh": "展平之前把特征图池化到 {side}x{side}：{features} 个特征",
    },
    "sizes-not-counts": {
        "en": "`repeat` takes counts, not sizes: {shape} becomes what is wanted with `{new}`",
        "ko": "`repeat` 인자는 크기가 아니라 횟수: {shape} 텐서에 `{new}` 사용",
        "zh": "`repeat` 的参数是次数而不是大小：对 {shape} 使用 `{new}`",
    },
    "unfold-batch": {
        "en": "keep the samples of {shape} apart: no `{what}`",
        "ko": "{shape} 모양의 샘플을 따로 유지하기: `{what}` 호출 제거",
        "zh": "让 {shape} 的各个样本保持分开：去掉 `{what}`",
    },
    "all-classes": {
        "en": "count all {new} classes, not only the {old} that occur: `{argument}`",
        "ko": "나타난 {old}개만이 아니라 클래스 {new}개를 모두 세기: `{argument}`",
        "zh": "数全部 {new} 个类别，而不只是出现过的 {old} 个：`{argument}`",
    },
    "all-labels": {
        "en": "count the classes of all labels, `{new}`, not only those of `{old}`",
        "ko": "`{old}`만이 아니라 모든 레이블 `{new}`의 클래스를 세기",
        "zh": "统计全部标签 `{new}` 的类别，而不只是 `{old}` 的类别",
    },
    "unfold-position": {
        "en": "`{what}` counts through all {rows} rows of {columns}: `{new}`",
        "ko": "`{what}` 값은 {columns}개씩 {rows}행 전체에서 센 위치: `{new}`",
        "zh": "`{what}` 是在全部 {rows} 行、每行 {columns} 个中的位置：`{new}`",
    },
    "full-length": {
        "en": "keep the full length of {new}, not only the longest of {old}: `{argument}`",
        "ko": "가장 긴 {old}이 아니라 전체 길이 {new} 유지: `{argument}`",
        "zh": "保留完整长度 {new}，而不是其中最长的 {old}：`{argument}`",
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
    "one-hot": {
        "en": "`{what}` numbers the {count} classes: give each a column of its own, one-hot",
        "ko": "`{what}` 값은 클래스 {count}개의 번호: 클래스마다 열을 주기(원-핫)",
        "zh": "`{what}` 是 {count} 个类别的编号：改为每类一列（独热）",
    },
    "flat-batch": {
        "en": "flatten each sample, whatever its size: `{new}`",
        "ko": "크기와 상관없이 샘플마다 펼치기: `{new}`",
        "zh": "无论大小，逐个样本展平：`{new}`",
    },
    "swap-items": {
        "en": "take the parts of a sample in the order in which they come: `{new}`",
        "ko": "샘플의 각 부분을 나오는 순서대로 받기: `{new}`",
        "zh": "按样本各部分给出的顺序接收：`{new}`",
    },
    "other-end": {
        "en": "go through the list from its other end: `{new}`",
        "ko": "리스트를 반대쪽 끝에서부터 읽기: `{new}`",
        "zh": "从另一端遍历列表：`{new}`",
    },
    "unused": {
        "en": "use `{new}`, which was computed and is not used, in place of `{old}`",
        "ko": "`{old}` 대신, 계산만 하고 쓰지 않은 `{new}` 사용",
        "zh": "用算出却没有使用的 `{new}` 代替 `{old}`",
    },
    "last-layer": {
        "en": "take the state of the last layer, not of all {layers}: `{new}`",
        "ko": "{layers}개 층 전체가 아니라 마지막 층의 상태 사용: `{new}`",
        "zh": "取最后一层的状态，而不是全部 {layers} 层：`{new}`",
    },
    "per-head": {
        "en": "one mask for each head: `{new}`",
        "ko": "헤드마다 마스크 하나씩: `{new}`",
        "zh": "每个头一个掩码：`{new}`",
    },
    "longer-mask": {
        "en": "let `{what}` cover the {more} more that the sequence was joined with",
        "ko": "시퀀스에 이어 붙인 {more}개까지 `{what}` 마스크가 포함하게 하기",
        "zh": "让 `{what}` 也覆盖与序列拼接的 {more} 个",
    },
    "since": {
        "en": "count `{what}`, whose smallest value is {low}, from its start: `{new}`",
        "ko": "최솟값이 {low}인 `{what}` 값을 시작점부터 세기: `{new}`",
        "zh": "`{what}` 的最小值是 {low}，从起点开始计数：`{new}`",
    },
    "consecutive": {
        "en": "number the distinct values of `{what}` 0, 1, 2, ...: they are ids, not counts",
        "ko": "`{what}` 값은 개수가 아니라 id이므로 서로 다른 값에 0, 1, 2, ... 번호 매기기",
        "zh": "`{what}` 的值是 id 而不是计数：把不同的值编号为 0、1、2、…",
    },
    "sparse": {
        "en": "keep only the entries of `{what}` that are not zero, in a sparse tensor",
        "ko": "`{what}` 행렬에서 0이 아닌 원소만 희소(sparse) 텐서에 저장하기",
        "zh": "用稀疏（sparse）张量只保存 `{what}` 中非零的元素",
    },
    "plain": {
        "en": "save a plain value, `{new}`, not numpy's `{what}`",
        "ko": "numpy 값 `{what}` 대신 일반 값 `{new}` 저장하기",
        "zh": "保存普通的值 `{new}`，而不是 numpy 的 `{what}`",
    },
    "allow": {
        "en": "name {what} as safe before loading, if you trust the file",
        "ko": "파일을 신뢰한다면 불러오기 전에 {what} 클래스를 안전하다고 지정하기",
        "zh": "如果信任该文件，加载前声明 {what} 是安全的",
    },
    "trust": {
        "en": "load everything, if the file is your own: weights_only=False lets it run code",
        "ko": "직접 만든 파일이라면 모두 불러오기: weights_only=False 는 파일의 코드 실행을 허용함",
        "zh": "如果文件是你自己的，加载全部内容：weights_only=False 允许它执行代码",
    },
    "fitting": {
        "en": "load only the entries whose sizes are the model's: strict=False excuses keys, not sizes",
        "ko": "모델과 크기가 같은 항목만 불러오기: strict=False 는 키의 차이만 허용하고 크기는 허용하지 않음",
        "zh": "只加载大小与模型一致的条目：strict=False 容许键不同，不容许大小不同",
    },
    "known": {
        "en": "when the rest is not needed here: load only the entries that the model has",
        "ko": "나머지가 여기서 필요 없다면 모델에 있는 항목만 불러오기",
        "zh": "若这里不需要其余部分：只加载模型拥有的条目",
    },
    "import": {
        "en": "import the class where the pickle looks for it: `{new}`; better, save `state_dict()` from now on",
        "ko": "피클이 찾는 곳에서 클래스 가져오기: `{new}` (앞으로는 `state_dict()` 저장을 권장)",
        "zh": "在 pickle 查找的位置导入该类：`{new}`；以后最好保存 `state_dict()`",
    },
    "length": {
        "en": "let `__len__` tell how many samples there are: `{new}`",
        "ko": "`__len__` 메서드가 샘플 수를 알려 주게 하기: `{new}`",
        "zh": "让 `__len__` 给出样本数：`{new}`",
    },
    "as-tensors": {
        "en": "make tensors of what is given: `{new}`",
        "ko": "주어진 값을 텐서로 바꾸기: `{new}`",
        "zh": "把给出的值变为张量：`{new}`",
    },
    "all-parts": {
        "en": "name all parts of what the loop is given: `{new}`",
        "ko": "반복문이 받는 모든 부분에 이름 주기: `{new}`",
        "zh": "写出循环得到的所有部分：`{new}`",
    },
    "folder": {
        "en": "make the folder first: `{new}`",
        "ko": "먼저 폴더 만들기: `{new}`",
        "zh": "先创建文件夹：`{new}`",
    },
    "exchange-columns": {
        "en": "exchange the columns that the two lookups read: `{new}`",
        "ko": "두 조회가 읽는 열을 서로 바꾸기: `{new}`",
        "zh": "交换两次查找所读取的列：`{new}`",
    },
    "subset": {
        "en": "build the sampler for the samples of `{data}` alone: `{new}`",
        "ko": "`{data}` 데이터의 샘플만으로 샘플러 만들기: `{new}`",
        "zh": "只为 `{data}` 的样本构建采样器：`{new}`",
    },
    "nested": {
        "en": "move the tensors of a dict inside `{what}` to {device}, too",
        "ko": "`{what}` 안에 있는 딕셔너리의 텐서도 {device} 장치로 옮기기",
        "zh": "把 `{what}` 内层字典中的张量也移到 {device}",
    },
    "mark": {
        "en": "look up row 0 for the padding, which is marked by {low}: `{new}`",
        "ko": "{low} 값으로 표시된 패딩은 0번 행을 찾게 하기: `{new}`",
        "zh": "用 {low} 标记的填充改为查第 0 行：`{new}`",
    },
    "renumber": {
        "en": "turn the ids in `{what}` into positions in `{ids}`, whose rows alone were chosen",
        "ko": "`{what}` 의 id를 선택된 행인 `{ids}` 안의 위치로 바꾸기",
        "zh": "把 `{what}` 中的编号换成其在 `{ids}`（只选取了这些行）中的位置",
    },
    "surplus": {
        "en": "leave the surplus dimension of size 1 out of `{what}`",
        "ko": "`{what}` 에서 남는 크기 1 차원 빼기",
        "zh": "去掉 `{what}` 中多余的大小为 1 的维度",
    },
    "swap": {
        "en": "swap the arguments: `{new}`",
        "ko": "인자 순서 바꾸기: `{new}`",
        "zh": "交换参数：`{new}`",
    },
    "reset": {
        "en": "start with a fresh state here: `{new}`",
        "ko": "여기서 상태를 새로 시작하기: `{new}`",
        "zh": "在此处从新的状态开始：`{new}`",
    },
    "remake": {
        "en": "drop `{what}` where it is of a batch of another size",
        "ko": "`{what}` 상태가 다른 크기의 배치에서 온 것이면 버리기",
        "zh": "当 `{what}` 来自其他大小的批次时丢弃它",
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
