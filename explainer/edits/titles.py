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
    "present": {
        "en": "leave out of the batch the samples for which the dataset returns None, with a `collate_fn`",
        "ko": "데이터셋이 None을 돌려준 샘플을 `collate_fn` 함수로 배치에서 제외하기",
        "zh": "用 `collate_fn` 把数据集返回 None 的样本排除在批次之外",
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
    "folder": {
        "en": "make the folder first: `{new}`",
        "ko": "먼저 폴더 만들기: `{new}`",
        "zh": "先创建文件夹：`{new}`",
    },
    "nested": {
        "en": "move the tensors of a dict inside `{what}` to {device}, too",
        "ko": "`{what}` 안에 있는 딕셔너리의 텐서도 {device} 장치로 옮기기",
        "zh": "把 `{what}` 内层字典中的张量也移到 {device}",
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
}
