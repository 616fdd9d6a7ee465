"""Titles of the candidates that change settings, masks and the parts of a model, in the three languages. Data only."""

from __future__ import annotations

from collections.abc import Mapping

TITLES: Mapping[str, Mapping[str, str]] = {
    "other-key": {
        "en": "choose {new} for `{name}` in place of {old}: it stands for the {size} that arrive",
        "ko": "`{name}` 값으로 {old} 대신 {new} 선택: 들어오는 {size}에 해당",
        "zh": "`{name}` 选 {new} 而不是 {old}：它对应实际到来的 {size}",
    },
    "fewer-entries": {
        "en": "list only what arrives: `{new}`, not `{old}`",
        "ko": "들어오는 것만 나열하기: `{old}` 가 아니라 `{new}`",
        "zh": "只列出实际到来的：`{new}`，而不是 `{old}`",
    },
    "norm-of-replaced": {
        "en": "`{what}` was replaced by another width; replace the {layer} behind it as well, by a fresh one",
        "ko": "`{what}` 가 다른 폭의 층으로 교체되었으므로 그 뒤의 {layer} 도 새것으로 교체하기",
        "zh": "`{what}` 被换成了另一宽度的层，其后的 {layer} 也要换成新的",
    },
    "size-of-joined": {
        "en": "give `{what}` its own `{name}`, {value}: that of `{inner}`, {old}, is from before the join",
        "ko": "`{what}` 에 자체 `{name}` {value} 두기: 지금은 이어 붙이기 전인 `{inner}` 의 값 {old} 이 그대로 쓰임",
        "zh": "给 `{what}` 自己的 `{name}`（{value}）：现在取到的是拼接之前 `{inner}` 的 {old}",
    },
    "size-of-base": {
        "en": "give `{what}` its own `{name}`, {value}: that of its base, {old}, is from before the join",
        "ko": "`{what}` 에 자체 `{name}` {value} 두기: 부모 클래스의 값 {old} 은 이어 붙이기 전의 크기임",
        "zh": "给 `{what}` 自己的 `{name}`（{value}）：基类的 {old} 是拼接之前的大小",
    },
    "one-setting": {
        "en": "take the size from `{new}`, which what it meets is cut to, not from `{old}`",
        "ko": "크기를 `{old}` 대신, 함께 계산되는 텐서가 잘리는 `{new}` 에서 가져오기",
        "zh": "大小取自 `{new}`（与之相遇的张量按它截取），而不是 `{old}`",
    },
    "mask-over-cached": {
        "en": "let `{what}`, made for the {size} new tokens, show the {more} cached ones before them too: `{name}`",
        "ko": "새 토큰 {size}개용으로 만든 `{what}` 가 그 앞에 캐시된 {more}개도 보게 하기: `{name}`",
        "zh": "让为 {size} 个新 token 生成的 `{what}` 也允许看到前面缓存的 {more} 个：`{name}`",
    },
    "as-padding": {
        "en": "`{what}` marks the padding of each sample, not pairs of positions: `{new}`",
        "ko": "`{what}` 는 위치 쌍이 아니라 샘플마다의 패딩을 표시: `{new}`",
        "zh": "`{what}` 标记每个样本的填充，而不是位置对：`{new}`",
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
    "other-view": {
        "en": "row i belongs to the other view of the same sample, {rows} rows further or before: `{new}`",
        "ko": "i번째 행의 짝은 같은 샘플의 다른 뷰, 즉 {rows}행 뒤나 앞의 행: `{new}`",
        "zh": "第 i 行对应同一样本的另一个视图，即相隔 {rows} 行的那一行：`{new}`",
    },
    "views-apart": {
        "en": "compare `{one}` with `{other}` only: the targets count the rows of one of them",
        "ko": "`{one}` 와 `{other}` 만 서로 비교하기: 타깃은 한쪽의 행만 셈",
        "zh": "只比较 `{one}` 与 `{other}`：目标只数其中一方的行",
    },
}
