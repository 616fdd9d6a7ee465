"""Titles of the search's candidates in the three languages. Data only."""

from __future__ import annotations

from collections.abc import Mapping

Texts = Mapping[str, str]

#: Titles of the search's candidates by kind.
TITLES: Mapping[str, Texts] = {
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
    "behind": {
        "en": "add `{new}` behind `{old}`",
        "ko": "`{old}` 뒤에 `{new}` 추가",
        "zh": "在 `{old}` 之后加上 `{new}`",
    },
    "leave-out": {
        "en": "leave out `{old}`",
        "ko": "`{old}` 빼기",
        "zh": "去掉 `{old}`",
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
    "shift": {
        "en": "count `{what}` from 0: its values run from {low} to {high}",
        "ko": "`{what}` 값을 0부터 세기: 현재 범위 {low}~{high}",
        "zh": "让 `{what}` 从 0 开始计数：其值为 {low} 到 {high}",
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
        "en": "pad the samples of a batch to equal size in a collate_fn",
        "ko": "collate_fn에서 배치의 샘플을 같은 크기로 채우기",
        "zh": "在 collate_fn 中把一个批次的样本补齐到相同大小",
    },
    "plain": {
        "en": "save a plain value, `{new}`, not numpy's `{what}`",
        "ko": "numpy 값 `{what}` 대신 일반 값 `{new}` 저장하기",
        "zh": "保存普通的值 `{new}`，而不是 numpy 的 `{what}`",
    },
    "fitting": {
        "en": "load only the entries whose sizes are the model's: strict=False excuses keys, not sizes",
        "ko": "모델과 크기가 같은 항목만 불러오기: strict=False 는 키의 차이만 허용하고 크기는 허용하지 않음",
        "zh": "只加载大小与模型一致的条目：strict=False 容许键不同，不容许大小不同",
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
    "insert": {
        "en": "put `{method}` behind `{what}` {shape}",
        "ko": "`{what}` {shape} 뒤에 `{method}` 추가",
        "zh": "在 `{what}` {shape} 之后加上 `{method}`",
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
    "marked": {
        "en": "look up 0 in place of the mark {low}, which the program leaves out itself: `{new}`",
        "ko": "프로그램이 스스로 제외하는 표시 {low} 대신 0 찾기: `{new}`",
        "zh": "用 0 代替程序自己会排除的标记 {low} 来查找：`{new}`",
    },
    "outgrown": {
        "en": "read `{what}` after the line that changes `{name}`: it was {was} before, and is {now} when this fails",
        "ko": "`{name}` 값을 바꾸는 줄 다음에 `{what}` 읽기: 그 전에는 {was}, 오류가 날 때는 {now}",
        "zh": "在改变 `{name}` 的那一行之后再读取 `{what}`：之前是 {was}，出错时是 {now}",
    },
    "around": {
        "en": "move the {size} channels of `{what}` to where this layer reads them, and back",
        "ko": "이 계층이 읽는 위치로 `{what}` 텐서의 채널 {size}개를 옮기고 되돌리기",
        "zh": "把 `{what}` 的 {size} 个通道移到此层读取的位置，再移回来",
    },
    "present": {
        "en": "leave out of a sample what is None, such as `{what}`",
        "ko": "`{what}` 처럼 None 인 항목은 샘플에서 빼기",
        "zh": "样本中不放值为 None 的项，例如 `{what}`",
    },
    "column": {
        "en": "squeeze the last dimension of `{old}`: a column [{n}, 1] that meets a row makes a table of all pairs",
        "ko": "`{old}` 의 마지막 차원 없애기(squeeze): 열 [{n}, 1] 이 행과 만나면 모든 쌍의 표가 됨",
        "zh": "去掉 `{old}` 的最后一维（squeeze）：列 [{n}, 1] 与行相遇会得到所有配对的表",
    },
    "outgrows": {
        "en": "give the result of `{what}` memory of its own: it is larger than what it is written into",
        "ko": "`{what}` 결과를 새 메모리에 두기: 결과가 써 넣을 텐서보다 큼",
        "zh": "让 `{what}` 的结果另占内存：它比要写入的张量大",
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
    "mark": {
        "en": "let {layer} leave out label {value}, which marks what is unsure: `ignore_index={value}`",
        "ko": "불확실한 항목 표시인 레이블 {value} 값을 {layer} 이(가) 무시하게 하기: `ignore_index={value}`",
        "zh": "让 {layer} 忽略标记不确定项的标签 {value}：`ignore_index={value}`",
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
    "flat-batch": {
        "en": "flatten each sample, whatever its size: `{new}`",
        "ko": "크기와 상관없이 샘플마다 펼치기: `{new}`",
        "zh": "无论大小，逐个样本展平：`{new}`",
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
    "signs": {
        "en": "the labels are -1 and 1: make them the classes 0 and 1 with `{new}`",
        "ko": "레이블이 -1과 1이므로 `{new}` 식으로 클래스 0과 1로 바꾸기",
        "zh": "标签是 -1 和 1：用 `{new}` 换成类别 0 和 1",
    },
    "term": {
        "en": "use `{new}`, a position that exists, in place of `{old}`",
        "ko": "`{old}` 대신 존재하는 위치 `{new}` 사용",
        "zh": "用存在的位置 `{new}` 代替 `{old}`",
    },
    "unfold-batch": {
        "en": "keep the samples of {shape} apart: no `{what}`",
        "ko": "{shape} 모양의 샘플을 따로 유지하기: `{what}` 호출 제거",
        "zh": "让 {shape} 的各个样本保持分开：去掉 `{what}`",
    },
    "sparse": {
        "en": "keep only the entries of `{what}` that are not zero, in a sparse tensor",
        "ko": "`{what}` 행렬에서 0이 아닌 원소만 희소(sparse) 텐서에 저장하기",
        "zh": "用稀疏（sparse）张量只保存 `{what}` 中非零的元素",
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
}

#: What speaks for an edit of the search beside that it runs, by the kind of edit that is only made where it holds.
MEANINGS: Mapping[str, Texts] = {
    "uncalled": {
        "en": "the layer was made, and nothing calls it",
        "ko": "만들어 놓고 아무도 호출하지 않는 층",
        "zh": "这个层已创建，却从未被调用",
    },
    "unrecorded": {
        "en": "what is collected there is not trained through, and needs no graph",
        "ko": "거기서 모으는 값은 학습에 쓰이지 않으므로 그래프가 필요 없음",
        "zh": "在那里收集的值不参与训练，不需要计算图",
    },
    "tail": {
        "en": "padded on both sides, it is longer than what it was given",
        "ko": "양쪽에 패딩되어 입력보다 길어짐",
        "zh": "两侧都做了填充，因此比输入更长",
    },
    "extended": {
        "en": "the mask was made of less than what it is to cover",
        "ko": "마스크가 가려야 할 것보다 적은 것으로 만들어짐",
        "zh": "掩码所依据的内容少于它要覆盖的内容",
    },
    "earlier": {
        "en": "what is kept there is joined later with what was not made smaller",
        "ko": "거기 보관한 값은 나중에 줄어들지 않은 값과 합쳐짐",
        "zh": "在那里保存的值之后要与未缩小的值拼接",
    },
    "guard": {
        "en": "the condition leaves out what else the layer changes",
        "ko": "조건이 이 층이 바꾸는 다른 것을 빠뜨림",
        "zh": "条件遗漏了该层改变的其他内容",
    },
    "kept": {
        "en": "it was made once for whole batches, and a smaller one came",
        "ko": "온전한 배치에 맞춰 한 번 만들었는데 더 작은 배치가 들어옴",
        "zh": "它是按完整批次一次性创建的，而来了一个较小的批次",
    },
    "encoded": {
        "en": "they are class numbers, which are no features",
        "ko": "클래스 번호는 특징이 아님",
        "zh": "它们是类别编号，不是特征",
    },
    "overlapping": {
        "en": "the windows overlap, so that their size counts, too",
        "ko": "창이 겹치므로 창의 크기도 셈에 들어감",
        "zh": "窗口相互重叠，因此窗口大小也要计入",
    },
    "padded": {
        "en": "the layers of the file pad what they are given",
        "ko": "이 파일의 층들은 입력에 패딩을 더함",
        "zh": "该文件中的层会对输入做填充",
    },
    "registered": {
        "en": "a buffer goes where its module goes, a plain attribute stays",
        "ko": "버퍼는 모듈과 함께 옮겨지지만 일반 속성은 남음",
        "zh": "缓冲区随模块一起移动，普通属性则留在原处",
    },
    "again": {
        "en": "layers were added after the model was moved",
        "ko": "모델을 옮긴 뒤에 층이 추가됨",
        "zh": "模型移动之后又添加了层",
    },
    "seam": {
        "en": "that is where the parts meet that were joined",
        "ko": "이어 붙인 부분이 만나는 자리",
        "zh": "那里正是拼接的各部分相接之处",
    },
    "drawn": {
        "en": "what is added to the index must still fit",
        "ko": "인덱스에 더하는 값까지 들어가야 함",
        "zh": "加到索引上的值也必须放得下",
    },
}
