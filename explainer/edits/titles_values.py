"""Titles of the candidates that change values, not sizes, in the three languages. Data only."""

from __future__ import annotations

from collections.abc import Mapping

TITLES: Mapping[str, Mapping[str, str]] = {
    "as-logarithms": {
        "en": "`{old}` counts, and `{function}` is meant for logarithms: `{new}`",
        "ko": "`{old}` 값은 개수인데 `{function}` 함수는 로그를 위한 것: `{new}`",
        "zh": "`{old}` 是计数，而 `{function}` 针对的是对数：`{new}`",
    },
    "signs": {
        "en": "the labels are -1 and 1: make them the classes 0 and 1 with `{new}`",
        "ko": "레이블이 -1과 1이므로 `{new}` 식으로 클래스 0과 1로 바꾸기",
        "zh": "标签是 -1 和 1：用 `{new}` 换成类别 0 和 1",
    },
    "pairs-together": {
        "en": "lay the pairs of `{what}` side by side in memory first: `.{method}`",
        "ko": "먼저 `{what}` 쌍을 메모리에 나란히 놓기: `.{method}`",
        "zh": "先把 `{what}` 的数对在内存中排在一起：`.{method}`",
    },
    "within-cut": {
        "en": "no length beyond what `{cut}` leaves of `{what}`: `{new}`",
        "ko": "`{what}` 에서 `{cut}` 뒤에 남는 것보다 길지 않게 하기: `{new}`",
        "zh": "长度不超过 `{cut}` 截取后 `{what}` 剩下的部分：`{new}`",
    },
    "below": {
        "en": "look in the folders below too, where the files lie: `{new}`",
        "ko": "파일이 있는 하위 폴더까지 찾기: `{new}`",
        "zh": "文件在下一级文件夹中，也要查找那里：`{new}`",
    },
    "filled-up": {
        "en": "fill up to {count} with repeats where fewer are left to draw: `{new}`",
        "ko": "뽑을 것이 모자라면 반복해서 {count}개까지 채우기: `{new}`",
        "zh": "可抽取的不够时重复补足到 {count} 个：`{new}`",
    },
    "suffixed": {
        "en": "the files are called otherwise: `{new}` in place of `{old}`",
        "ko": "파일 이름이 다름: `{old}` 대신 `{new}`",
        "zh": "文件名的写法不同：用 `{new}` 代替 `{old}`",
    },
    "output-lengths": {
        "en": "input_lengths counts steps of the output: the strides of {what} make {long} of them {short}: `{new}`",
        "ko": "input_lengths 는 출력의 단계 수: {what} 의 stride 가 {long} 단계를 {short} 단계로 줄임: `{new}`",
        "zh": "input_lengths 是输出的步数：{what} 的步幅把 {long} 步变成 {short} 步：`{new}`",
    },
    "long-enough": {
        "en": "`{what}` of {old} is shorter than the reflected ends of `{window}`: at least {new}",
        "ko": "`{what}` 값 {old} 은 `{window}` 의 반사 패딩보다 짧으므로 적어도 {new}",
        "zh": "`{what}` 为 {old}，短于 `{window}` 两端的反射填充：至少 {new}",
    },
    "smaller-windows": {
        "en": "`{what}`: windows whose half is shorter than the {old} samples: {new}",
        "ko": "`{what}`: 절반이 샘플 {old}개보다 짧은 윈도 {new}",
        "zh": "`{what}`：一半短于 {old} 个样本的窗口 {new}",
    },
    "zero-ends": {
        "en": "fill the ends with zeros, not with a reflection: {new}",
        "ko": "끝을 반사 대신 0으로 채우기: {new}",
        "zh": "两端用零而不是反射填充：{new}",
    },
}
