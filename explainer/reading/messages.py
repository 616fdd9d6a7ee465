"""Where a message ends: how many of the lines under an exception's own line still belong to it."""

from __future__ import annotations

from explainer.patterns import Pattern
from explainer.reading.block import HEADER, connective, frame_line, indent_of

#: First lines of messages that run over several unindented lines, from torch's and Python's own sources.
OPENINGS = Pattern(
    r"^(?:CUDA error: |CUDA driver error|CUDA kernel errors|NCCL (?:error|Error)|Weights only load failed|"
    r"torch\.utils\.checkpoint: |Data-dependent |Could not guard on|The following operation failed in the TorchScript|"
    r"Could not run '|Expected to have finished reduction|Caught \w+ in |backend='|Dynamo |Graph break|"
    r"Failed to trace|Attempted to |Unsupported |\w* ?when making fake tensor call|Error building extension"
    r"|Ninja is required|"
    r"Lists? differ|Sequences? differ|Tuples? differ|Dicts? differ|Tensor-likes are not|Scalars are not|"
    r"An attempt has been made to start a new process|Inconsistency detected|Detected that|Unexpected |"
    r"Ran into a kwarg|Found no NVIDIA driver|DistNetworkError|Cannot (?:re-initialize|copy)|HIP error: |MPS |"
    r"cuDNN (?:error|Frontend)|CUBLAS|CUDA Setup|Trying to create tensor with negative|\[enforce fail|"
    r"Constraints violated|Exporting the operator|Guard |Trying to backward|Can't load|Unable to load|Failed to import|"
    r"\d+ validation errors? for|Missing key|Found dtype|in user code|(?:CUDA )?backend )"
)
_STOP = Pattern(
    r"^(?:\s*```|\s*[╭┌][─-]|[❯➜λ](?: |$)|\s*\"\"\"|'''|-{20,}\s*$|={5,}|_{5,}|\*{10,}|In \[\d+\]:|>>> |\.\.\. ?$"
    r"|Process \S+:$|Exception (?:in thread|ignored in)|"
    r"\[?\d{4}-\d\d-\d\d[ T]\d\d:|\[?\d\d:\d\d:\d\d|[IWEFD]\d{4} \d\d:|(?:INFO|DEBUG|WARNING|ERROR"
    r"|CRITICAL)\b[:| \]]|\[(?:INFO|ERROR|WARNING|DEBUG|rank\d|W\d|E\d)|"
    r"wandb: |Set the environment variable HYDRA_|"
    r"\s+Friendly-traceback |\s+An? `\w+` (?:is|exception)|srun: |slurmstepd: "
    r"|\(\w[\w.-]*\) [\w.-]+@[\w.-]+:|[\w.-]+@[\w.-]+:\S*[$#] |[A-Z]:\\[^>]*>|PS [A-Z]:|"
    r"\$ |% |exit code |Exiting|Aborted|Killed|Segmentation fault|\[?[Pp]rocess exited|FAILED |ERROR "
    r"|Ran \d+ tests? in|"
    r"Command exited|make: \*\*\*|Script done|terminate called|\*\*\w+\*\* wrote|</?(?:details|pre|code|summary)\b|"
    r"\{(?:noformat|code)\}|\\end\{|----\s*$|\]\]>|</\w+>|section_end:|\[\d+\][+-]?\s+(?:Exit|Done|Killed|Terminated)\b|"
    r"real\s+\d+m[\d.]+s|\d{1,3}(?:\.\d{1,3}){3} - |\s+at [\w.$]+\([\w.$ ]+(?::\d+)?\)\s*$|\"\s*$)"
)
#: The last line of what torch adds to every error of CUDA.
_LAST = ("Compile with `TORCH_USE_CUDA_DSA`", "Compile with `TORCH_USE_HIP_DSA`")
#: Letters of a script in which no message of torch's is written.
_OTHER_SCRIPT = Pattern(r"[\u0370-\u1fff\u3040-\ud7ff]")
#: A line that says that the message goes on.
_GOES_ON = Pattern(r"(?:[,:(\[{\\]|\b(?:and|or|the|a|of|to|in|with|for|is|are))\s*$")
#: The beginning of a line in the middle of a sentence; what a program prints of its own has a colon or number early.
_LOWER = Pattern(r"[a-z]{2,12}(?: [a-z]{2,12}){2}\b")
#: Items of torch's lists, whose indentation may be lost.
_ITEM = Pattern(r"^(?:Missing key\(s\) in|Unexpected key\(s\) in|size mismatch for |While copying the parameter)")
#: The second line of what torch.compile says of a graph break.
_EXPLAINED = Pattern(r"\s*Explanation: ")
_NOTHING_MORE = 400


def stops(text: str) -> bool:
    """Whether a line cannot belong to the message above it."""
    return bool(_STOP.match(text) or HEADER.search(text) or connective(text))


def end_of_message(texts: list[str], at: int, first: str, base: int = 0) -> int:
    """The index after the last line of the message that begins with `first` on line `at`; `base` is its indentation."""
    widest = max((len(text) for text in texts[max(0, at - 40) : at + 1] if len(text) < 400), default=0)
    long = not first.strip() or bool(OPENINGS.match(first)) or bool(_EXPLAINED.match("".join(texts[at + 1 : at + 2])))
    end, blank, open_ = at + 1, False, _open(first) and not first.startswith("Error(s) in loading state_dict")
    for here in range(at + 1, min(len(texts), at + _NOTHING_MORE)):
        text = texts[here]
        if not text.strip():
            if not (long or open_):
                break
            blank = True
            continue
        if stops(text[base:] if not text[:base].strip() else text):
            break
        other = _OTHER_SCRIPT.search(text) and not _OTHER_SCRIPT.search(first)
        if other or texts[end - 1].lstrip().startswith(_LAST):
            break
        if indent_of(text) < base or not _belongs(text[base:], texts[here - 1], blank, long or open_, widest):
            break
        end, blank = here + 1, False
        open_ = open_ and here - at < 60
    return end


def _belongs(text: str, above: str, blank: bool, long: bool, widest: int) -> bool:
    """Whether a line that does not stop a message continues it."""
    if long:
        return True
    if blank or frame_line(text):
        return False
    if text[:1] in "\t " or _GOES_ON.search(above) or _ITEM.match(text):
        return True
    return _flows(above.rstrip(), text.rstrip(), widest)


def _flows(above: str, text: str, widest: int) -> bool:
    """Whether a line reads as the next of a text that was broken between words or sentences."""
    if above.endswith("."):
        return text[:1].isupper() and (text[-1:] in ".:!," or len(text) > 30)
    wide = len(above) > max(50, widest - 16)
    middle = above[-1:].isalnum() or above[-1:] == "," or (wide and _LOWER.match(text) is not None)
    return (wide or text[:1] == "(") and middle


def _open(first: str) -> bool:
    """Whether a bracket or a quotation is left open by the first line."""
    return first.count("(") > first.count(")") or first.count("[") > first.count("]") or first.rstrip().endswith(":")
