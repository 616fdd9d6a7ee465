"""Whose error is it? Decided by where it was raised, else by its type and the words of its message.

Right or silent: what may as well be numpy's, TensorFlow's, JAX's, Python's or the system's gets no reading.
"""

from __future__ import annotations

from explainer.crash import ALIASES, Crash, Raised
from explainer.grammar.vocabulary import lowered, words_of
from explainer.patterns import Pattern

#: Types of which torch's checks are; of any other one only what was raised in torch's own files is.
_CHECKED = frozenset(
    [
        "RuntimeError", "ValueError", "TypeError", "IndexError", "NotImplementedError", "AssertionError",
        "Unsupported",
    ]
)  # fmt: skip
#: Types that only torch has.
_ONLY_OURS = frozenset(
    [
        "GradcheckError", "CheckpointError", "OpCheckError", "UserError", "GuardOnDataDependentSymNode",
        "ConstraintViolationError", "DistError", "InductorError", "TorchRuntimeError", "BackendCompilerFailed",
        "InternalTorchDynamoError", "OnnxExporterError", "DistStoreError", "DistNetworkError", "DistBackendError",
        "LinAlgError", "TraceError", "RecompileError", "SpecViolationError",
    ]
)  # fmt: skip
#: Words of other frameworks.
_OTHERS = words_of(
    "tf tensorflow keras eagertensor kerastensor jax jaxlib jnp shapedarray sklearn estimator n_samples n_features "
    "n_splits dataframe pandas paddle mxnet cupy onnxruntime xgboost dmatrix openai matplotlib plt series ufunc "
    "__array_function__ sympy decimal scipy mpmath symbols polynomial"
)
#: Words that others use more often than torch's checks do.
_MAYBE_OTHERS = words_of(
    "numpy np ndarray array arrays json unicode codec url pickle protobuf proto http https sql regex csv axis "
    "tokenizer pil mismatch_is datetime arg kwarg iterator coordinates population bytes numerator"
)
#: Words that outweigh those.
_SURELY_OURS = words_of(
    "torch tensor tensors aten c10 autograd nn dataloader iterabledataset cuda scalartype torchscript"
)
#: Words that torch's checks use, and others hardly do; names are taken apart at `_`.
_OURS = words_of(
    "torch tensor tensors tensorbase aten c autograd grad grads gradient gradients cuda cudnn cublas mkldnn onednn "
    "fbgemm qnnpack magma scalartype bfloat complexfloat complexdouble dim dims ndim ndims stride strides strided "
    "kernel padding dilation channels embed hidden batch batches nn optimizer optimizers lr beta betas momentum "
    "decay weight bias biases normalized attn attention query conv convolution pool pooling maxpool sparse quantize "
    "quantized quantization dequantize vmap functorch meta backward forward inplace storage storages contiguous "
    "logits probs reduction dataloader dataset datasets sampler samplers worker workers rank nccl gloo torchscript "
    "jit dynamo inductor fx onnx export dtensor mesh fsdp ddp params module modules submodule schema cudagraph mps "
    "xpu fake symint elementwise numel dropout embedding loss lstm rnn gru offsets mask linalg fft window target "
    "targets logprob opoverload parametrization parametrizations checkpoint collate iterabledataset transforms "
    "dtensors groups fused foreach capturable cudagraphs datapipe shard shards sharded pipeline microbatch wishart "
    "distribution distributions event nested jagged bilinear bicubic nearest scalar scalars triton quantizer "
    "observer fbgemm histc vml prims namespace mutates mutated opcheck state_dict profiler datapipes tcpstore "
    "rendezvous backends slope scheduler upsample interpolate subgraph graphmodule wrapper"
)
#: Messages of TensorFlow, Keras and JAX, of which no word is enough.
_FOREIGN = Pattern(
    r"\{\{|\[Op:|[Nn]ode \S+ defined at|[Ll]ayer [\"'].*[\"']|operands could not be broadcast|[Tt]raced<"
)
#: An input, and what torch asks of it.
_INPUT = frozenset(["size", "dim", "dimension", "dimensions", "shape", "channels", "dtype", "length", "lengths"])
#: What Python itself says, in whatever program.
_PYTHON = (
    "' object is not ", "' object has no ", "' object does not ", "' object cannot ", "list index",
        "list assignment index",
    "tuple index", "string index", "pop index", "range object index", "values to unpack", "unsupported operand type",
    " missing 1 required", " missing 2 required", " missing 3 required", "takes from ", "positional argument but",
    "positional arguments but", "got an unexpected keyword", "got multiple values for argument", "invalid literal for",
    "could not convert string", "object of type '", "must be str, not", "must be real number", "must be integer, not",
    "not subscriptable", "cannot concatenate", "can only concatenate", "can't multiply", "indices must be integers",
    "index must be integers", "math domain", "dictionary changed", "dictionary update", "generator already",
    "generator raised", "substring not found", "is not in list", "arg is an empty", "' not supported between",
        "unhashable",
    "maximum recursion", "not all arguments converted", "descriptor '", "bad operand type", "invalid index to scalar",
    "expected str", "expected bytes", "max() arg", "min() arg", "exceeds the limit", "embedded null",
    "missing required argument", "argument after *", "is not a module, class", "module, class, method", "event loop",
    "new futures", "new thread", "changed size during", "mutated during", "application context", "asyncio", "coroutine",
    "lost sys", "unlocked lock", "current thread", "main thread", "Circular reference", "dictionary keys",
        "I/O operation",
    "write to closed", "No active exception", "exceptions must", "takes exactly", "takes no arguments",
)  # fmt: skip
_TORCH_FILE = Pattern(r"(?:^|/)torch/(?!.*(?:site|dist)-packages/)")
_LIBRARY = Pattern(r"(?:site|dist)-packages/(?!torch/)|(?:^|/)lib(?:64)?/python\d")
_ECOSYSTEM = Pattern(
    r"/(?:transformers|accelerate|peft|diffusers|timm|lightning|pytorch_lightning|torchvision|torchaudio|"
    r"torch_geometric|"
    r"torchmetrics|deepspeed|bitsandbytes|fairscale|ignite|fastai|ultralytics|vllm|trl|monai|einops|xformers|apex)/"
)
_RAISES = Pattern(r"\s*(?:raise\b|assert\b)")


def is_torchs(error: Crash | Raised, text: str) -> bool:
    """Whether torch, or a library built on it, made a check that failed with this message."""
    kind = ALIASES.get(error.name, error.name)
    words = lowered(text)
    if not words or words & _OTHERS or _FOREIGN.search(text):
        return False
    if kind != "RuntimeError" and words & _MAYBE_OTHERS and not words & _SURELY_OURS:
        return False
    if error.frames:
        return _raised_there(error, text, words, kind)
    if error.type.startswith(("torch.", "c10")) or kind in _ONLY_OURS:
        return True
    return (
        kind in _CHECKED
        and "." not in error.type
        and (kind == "RuntimeError" or _are_ours(words))
        and not _is_pythons(text)
    )


def _is_pythons(text: str) -> bool:
    return any(part in text for part in _PYTHON)


def _are_ours(words: frozenset[str]) -> bool:
    return bool(words & _OURS) or ("input" in words and bool(words & _INPUT))


def _raised_there(error: Crash | Raised, text: str, words: frozenset[str], kind: str) -> bool:
    """What a file of torch's raised is torch's; in the user's own line C++ may have, where the words are torch's."""
    last = error.frames[-1]
    file = last.file.replace("\\", "/")
    if _is_pythons(text):
        return False
    if _TORCH_FILE.search(file):
        return "/torch/_vendor/" not in file
    if _ECOSYSTEM.search(file):
        return _are_ours(words)
    if _LIBRARY.search(file) or not last.user or _RAISES.match(last.code):
        return False
    return kind in _CHECKED and _are_ours(words)
