"""Titles of the search's candidates in the three languages. Data only."""

from __future__ import annotations

from collections.abc import Mapping

from explainer.edits import titles_sizes

Texts = Mapping[str, str]

#: Titles of the search's candidates by generator.
TITLES: Mapping[str, Texts] = {
    **titles_sizes.TITLES,
    "cast": {
        "en": "cast `{what}` with `.{method}`, where the {dtype} values come from",
        "ko": "{dtype} 값이 생기는 `{what}` 뒤에 `.{method}` 변환 추가",
        "zh": "在 {dtype} 值产生处用 `.{method}` 转换 `{what}`",
    },
    "cast-each": {
        "en": "cast `{what}` and the others that are made like it with `.{method}`: all of them are {dtype}",
        "ko": "`{what}` 및 같은 방식으로 만든 나머지에도 `.{method}` 변환 추가: 모두 {dtype} 값",
        "zh": "对 `{what}` 以及同样方式得到的其他张量都用 `.{method}` 转换：它们都是 {dtype}",
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
    "rename": {
        "en": "use `{new}` in place of `{old}`",
        "ko": "`{old}` 대신 `{new}` 사용",
        "zh": "用 `{new}` 代替 `{old}`",
    },
    "order": {
        "en": "put `{new}` before `{old}`",
        "ko": "`{new}` 코드를 `{old}` 앞에 두기",
        "zh": "把 `{new}` 放到 `{old}` 之前",
    },
    "block": {
        "en": "take `{new}` out of `{old}`",
        "ko": "`{new}` 코드를 `{old}` 블록 밖으로 꺼내기",
        "zh": "把 `{new}` 移到 `{old}` 块之外",
    },
    "flag": {
        "en": "pass {new} to {layer}",
        "ko": "{layer} 호출에 {new} 전달",
        "zh": "向 {layer} 传入 {new}",
    },
    "kept-objects": {
        "en": "keep in a list what cannot be stacked, with a `collate_fn`",
        "ko": "쌓을 수 없는 것은 `collate_fn` 함수로 리스트에 그대로 두기",
        "zh": "用 `collate_fn` 把无法堆叠的对象保留在列表中",
    },
    "present": {
        "en": "leave out of the batch the samples for which the dataset returns None, with a `collate_fn`",
        "ko": "데이터셋이 None을 돌려준 샘플을 `collate_fn` 함수로 배치에서 제외하기",
        "zh": "用 `collate_fn` 把数据集返回 None 的样本排除在批次之外",
    },
    "shift": {
        "en": "count `{what}` from 0: its values run from {low} to {high}",
        "ko": "`{what}` 값을 0부터 세기: 현재 범위 {low}~{high}",
        "zh": "让 `{what}` 从 0 开始计数：其值为 {low} 到 {high}",
    },
    "columns": {
        "en": "keep the {columns} columns of `{what}` where there are no rows",
        "ko": "행이 없을 때도 `{what}` 텐서의 열 {columns}개 유지하기",
        "zh": "没有行时也保留 `{what}` 的 {columns} 列",
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
    "collate": {
        "en": "pad the samples of a batch to equal size in a collate_fn with `pad_sequence`",
        "ko": "collate_fn에서 `pad_sequence` 함수로 배치의 샘플을 같은 길이로 채우기",
        "zh": "在 collate_fn 中用 `pad_sequence` 把一个批次的样本补齐到相同长度",
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
    "folder": {
        "en": "make the folder first: `{new}`",
        "ko": "먼저 폴더 만들기: `{new}`",
        "zh": "先创建文件夹：`{new}`",
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
        "en": "look up row {row} for the padding, which is marked by {low}: `{new}`",
        "ko": "{low} 값으로 표시된 패딩은 {row}번 행을 찾게 하기: `{new}`",
        "zh": "用 {low} 标记的填充改为查第 {row} 行：`{new}`",
    },
    "renumber": {
        "en": "turn the ids in `{what}` into positions in `{ids}`, whose rows alone were chosen",
        "ko": "`{what}` 의 id를 선택된 행인 `{ids}` 안의 위치로 바꾸기",
        "zh": "把 `{what}` 中的编号换成其在 `{ids}`（只选取了这些行）中的位置",
    },
    "swap": {
        "en": "swap the arguments: `{new}`",
        "ko": "인자 순서 바꾸기: `{new}`",
        "zh": "交换参数：`{new}`",
    },
    "signs": {
        "en": "the labels are -1 and 1: make them the classes 0 and 1 with `{new}`",
        "ko": "레이블이 -1과 1이므로 `{new}` 식으로 클래스 0과 1로 바꾸기",
        "zh": "标签是 -1 和 1：用 `{new}` 换成类别 0 和 1",
    },
}
