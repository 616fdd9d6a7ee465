"""What a pasted text alone must lead to: the cause that its numbers or other lines show, or silence."""

from __future__ import annotations

import time

import pytest

import explainer
from explainer.reading import read_bytes

HEADER = "Traceback (most recent call last):\n"


def first(text):
    """The rule that speaks first of a text's first report, and its diagnosis; (None, None) where nothing is known."""
    reports = explainer.explain(text).reports
    found = reports[0].diagnoses if reports else ()
    return (found[0].rule, found[0]) if found else (None, None)


@pytest.mark.parametrize(
    "text",
    [
        HEADER + '  File "/srv/app/run.py", line 3, in <module>\n    resize(image)\n'
        "TypeError: resize() missing 1 required positional argument: 'size'\n",
        HEADER + '  File "/srv/venv/lib/python3.11/site-packages/tensorflow/python/eager/execute.py", line 53, in go\n'
        "    tensors = run(context)\nRuntimeError: CUDA error: out of memory\n",
        "cupy.cuda.memory.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n",
        "NotImplementedError: Streaming of archives in a remote input is not supported\n",
        'CUDA error at copy.cu:18 code=2(cudaErrorMemoryAllocation) "cudaMalloc(&buffer, bytes)"\n',
    ],
)
def test_what_other_code_raised_gets_no_diagnosis(text):
    """A user's function, another framework, a CUDA sample: their words resemble torch's."""
    assert first(text)[0] is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Bus error (core dumped)", False),
        ("$ ./simulate --steps 8\nBus error (core dumped)", False),
        ("$ python train.py --num-workers 8\n" + "step\n" * 50 + "Bus error (core dumped)", True),
        ("run.sh: line 3:  9 Bus error      (core dumped) python -m torch.distributed.run a.py", True),
    ],
)
def test_a_bus_error_is_told_where_something_beside_it_is_of_torch(text, told):
    rule, diagnosis = first(text)
    assert rule == ("bus-error" if told else None)
    assert not told or (diagnosis.certainty == "possible" and "/dev/shm" in diagnosis.cause)


@pytest.mark.parametrize("text", ["bad value {} here", "expected a value below 10 but got {}"])
def test_a_value_of_a_megabyte_costs_what_reading_it_costs(text):
    """Protects patterns that begin at each letter of a word: from 0.1 to 7 seconds."""
    short, long = (RuntimeError.__name__ + ": " + text.format("7" * digits) for digits in (10, 1_000_000))
    explainer.explain(short)
    begun = time.process_time()
    explainer.explain(long)
    assert time.process_time() - begun < 0.7


def test_an_argument_that_torch_s_own_constructor_lacks_is_named():
    text = HEADER + '  File "net.py", line 7, in __init__\n    self.head = nn.Linear(64)\n'
    text += "TypeError: Linear.__init__() missing 1 required positional argument: 'out_features'"
    rule, diagnosis = first(text)
    assert rule == "argument-type"
    assert "out_features" in diagnosis.headline


def test_numbers_of_a_full_card_tell_that_another_process_fills_it():
    """The pieces that torch names add up to 3 GiB of 24; the rest is not this process's."""
    rule, diagnosis = first(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 96.00 MiB. GPU 0 has a total capacity of"
        " 24.00 GiB of which 41.00 MiB is free. Process 77 has 20.50 GiB memory in use. Process 78 has 3.40 GiB"
        " memory in use. Of the allocated memory 2.90 GiB is allocated by PyTorch, and 120.00 MiB is reserved by"
        " PyTorch but unallocated."
    )
    assert rule == "cuda-out-of-memory"
    assert "other processes" in diagnosis.cause
    assert "Process 77 alone has 20.50 GiB" in diagnosis.cause


def test_a_c_plus_plus_exception_is_matched_as_the_python_error_it_would_become():
    """A watchdog ends the process through `terminate`: no Python traceback is printed."""
    rule, diagnosis = first(
        "terminate called after throwing an instance of 'c10::DistBackendError'\n"
        "  what():  [Rank 5] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=71, OpType=ALLGATHER,"
        " NumelIn=8, NumelOut=64, Timeout(ms)=600000) ran for 600240 milliseconds before timing out.\n"
    )
    assert rule == "collective-timeout"
    assert "600 s" in diagnosis.headline


def test_a_backend_s_message_without_frames_is_read_whole():
    """The inner error's line would otherwise be taken for an error of its own."""
    text = "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:\nKeyError: 'sm_999'\n"
    report = explainer.explain(text).reports[0]
    assert report.type.endswith("BackendCompilerFailed")
    assert "KeyError" in report.message


LAUNCHER = """torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
job.py FAILED
------------------------------------------------------------
Failures:
  <NO_OTHER_FAILURES>
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-01-02_03:04:05
  host      : node7
  rank      : 3 (local_rank: 3)
  exitcode  : {code} (pid: 4242)
  error_file: <N/A>
  traceback : {said}
============================================================
"""


@pytest.mark.parametrize(
    ("code", "said", "words"),
    [
        (-9, "Signal 9 (SIGKILL) received by PID 4242", "memory"),
        (-11, "Signal 11 (SIGSEGV) received by PID 4242", "SIGSEGV"),
        (1, "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html", "exit code 1"),
    ],
)
def test_a_launcher_s_report_alone_says_how_the_rank_ended(code, said, words):
    rule, diagnosis = first(LAUNCHER.format(code=code, said=said))
    assert rule == "rank-ended"
    assert words in diagnosis.headline
    assert "rank 3" in diagnosis.headline


def test_a_rank_s_own_error_comes_before_the_launcher_s_report():
    """What the launcher knows is the exit code; the traceback above it is the cause, also where no symptom knows it."""
    said = "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"
    text = HEADER + '  File "/srv/job.py", line 9, in <module>\n    read(paths["valid"])\nKeyError: \'valid\'\n'
    assert first(text + LAUNCHER.format(code=1, said=said))[0] is None


@pytest.mark.parametrize(
    ("encoding", "folder", "said"),
    [
        ("cp949", "학습", "오류가 나서 끝냅니다: 입력 크기를 확인하세요"),
        ("gbk", "训练", "训练异常退出，请检查输入数据的大小"),
        ("big5", "訓練", "訓練異常結束，請檢查輸入資料的大小"),
        ("cp932", "学習", "エラーで終了しました。データの大きさを確認してください"),
        ("utf-16-be", "학습", "오류가 나서 끝냅니다"),
    ],
)
def test_a_log_around_a_traceback_may_be_in_any_east_asian_encoding(encoding, folder, said):
    """The path of the user's file comes back as it was written, whatever else the encoding's bytes could mean."""
    text = HEADER + f'  File "/srv/{folder}/run.py", line 5, in <module>\n    y = w @ x\n'
    text += "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x3 and 8x2)\n"
    (found,) = read_bytes(f"{said}\n{text}{said}\n".encode(encoding))
    assert found.raised.frames[0].file == f"/srv/{folder}/run.py"


def test_a_broken_except_clause_does_not_hide_the_error_that_it_was_to_catch():
    """`except torch.OutOfMemoryError` fails on an older torch while another error is on its way."""
    text = (
        HEADER + '  File "/srv/fit.py", line 20, in step\n    y = head(x)\n'
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied (6x40 and 30x2)\n\n"
        "During handling of the above exception, another exception occurred:\n\n"
        + HEADER
        + '  File "/srv/fit.py", line 21, in step\n    except torch.OutOfMemoryError:\n'
        '  File "/srv/venv/lib/python3.11/site-packages/torch/__init__.py", line 1900, in __getattr__\n'
        "    raise AttributeError(f\"module '{__name__}' has no attribute '{name}'\")\n"
        "AttributeError: module 'torch' has no attribute 'OutOfMemoryError'\n"
    )
    assert first(text)[0] == "matmul-shapes"


TENSOR = "OpType=ALLREDUCE, TensorShape=[4], TensorDtypes=Float, TensorDeviceTypes=TensorOptions(device=cpu))"


@pytest.mark.parametrize(("first_one", "second"), [(TENSOR, "OpType=BARRIER)"), ("OpType=BARRIER)", TENSOR)])
@pytest.mark.parametrize("language", ["en", "ko", "zh"])
def test_a_collective_without_a_tensor_is_set_against_the_other_rank_s(first_one, second, language):
    ranks = [f"Rank {at} is running collective: CollectiveFingerPrint(SequenceNumber=7, {one}" for at, one in
             enumerate((first_one, second))]  # fmt: skip
    text = f"RuntimeError: Detected mismatch between collectives on ranks. {', but '.join(ranks)}."
    (report,) = explainer.explain(text, lang=language).reports
    assert report.diagnoses[0].rule == "collective-arguments"
    said = report.diagnoses[0].headline
    assert all(word in said for word in ("BARRIER", "ALLREDUCE", "[4] Float"))
    assert "[4]" in said[said.index("ALLREDUCE") :].split(",")[0].split("，")[0]


@pytest.mark.parametrize(
    ("line", "told"),
    [("out = [a + b for a, b in zip(xs, ys)]", False), ("if x in seen:", True), ("out = a + b", False)],
)
def test_a_look_up_in_a_list_is_told_of_where_the_line_may_be_one(line, told):
    for message in (
        "The size of tensor a (16) must match the size of tensor b (10) at non-singleton dimension 1",
        "Boolean value of Tensor with more than one value is ambiguous",
    ):
        text = f'{HEADER}  File "a.py", line 3, in <module>\n    {line}\nRuntimeError: {message}\n'
        (report,) = explainer.explain(text).reports
        assert ("same object" in str(report.diagnoses[0].to_dict())) == told
