"""Whose error is it? Decided by where it was raised, else by its type and the words of its message.

Right or silent: what may as well be numpy's, TensorFlow's, JAX's, Python's or the system's gets no reading.
"""

from __future__ import annotations

from explainer.crash import ALIASES, Crash, Raised
from explainer.grammar import installed, ngrams, raises
from explainer.grammar.vocabulary import lowered, words_of
from explainer.grammar.weights import BIAS, WEIGHTS
from explainer.patterns import Pattern

#: Weights (in tenths) above which a message is torch's, also where it has few words, and above which its known words
#: may say so; above the last, few runs of words that torch's files hold are enough, or the installed torch.
SURE, CERTAIN, LIKELY, HARDLY, AGAINST = 4, 22, -10, -4, -20
FEW = 6
#: Types that any package raises.
_PYTHONS_TYPES = frozenset(
    [
        "RuntimeError", "ValueError", "TypeError", "IndexError", "NotImplementedError", "AssertionError",
        "AttributeError", "KeyError", "ImportError", "ModuleNotFoundError", "OSError", "Exception", "OverflowError",
        "MemoryError", "BufferError", "FileNotFoundError", "LookupError", "ArithmeticError", "ZeroDivisionError",
        "NameError", "SyntaxError", "PermissionError", "TimeoutError", "ConnectionError", "EOFError", "SystemError",
        "UnicodeDecodeError", "RecursionError", "StopIteration", "UnpicklingError",
    ]
)  # fmt: skip
#: Types of which torch's checks are; of any other one only what was raised in torch's own files is.
CHECKED = frozenset(
    [
        "RuntimeError", "ValueError", "TypeError", "IndexError", "NotImplementedError", "AssertionError",
        "Unsupported",
    ]
)  # fmt: skip
#: Types that only torch has.
_ONLY_OURS = words_of(
    "GradcheckError CheckpointError OpCheckError UserError GuardOnDataDependentSymNode ConstraintViolationError "
    "DistError InductorError TorchRuntimeError BackendCompilerFailed InternalTorchDynamoError OnnxExporterError "
    "DistStoreError DistNetworkError DistBackendError TraceError RecompileError SpecViolationError "
    "PipeliningMetadataError AOTIMinifierError SymbolicValueError UnsupportedNodeError TorchExportError "
    "TorchDynamoException LoweringException FakeTensorDeviceMismatchError DataDependentOutputException "
    "DynamicOutputShapeException CppCompileError UnsupportedFakeTensorException SubgraphLoweringException "
    "UncapturedHigherOrderOpError UnsafeScriptObjectError RendezvousError RendezvousStateError "
    "RendezvousConnectionError RendezvousTimeoutError RendezvousClosedError RendezvousGracefulExitError "
    "ProcessExitedException ProcessRaisedException _LinAlgError MetadataMismatchError FailOnRecompileLimitHit "
    "AsPythonConstantNotImplementedError BypassAOTAutogradCache BypassDynamoCacheEntry BypassFxGraphCache "
    "CannotStaticallyLaunchKernel ClosureConversionError CondOpArgsMismatchError FrontendTypeError "
    "CppWrapperCodegenError DeferredCudaCallError DeferredMtiaCallError GPUTooOldForTriton GraphConstructionError "
    "GraphMatchingException GuardInstallException InvalidCxxCompiler MissingOpProfile MissingOperatorWithDecomp "
    "MissingOperatorWithoutDecomp NoTritonConfigsError NoValidChoicesError ObservedAttributeError ObservedIndexError "
    "ObservedKeyError ObservedLookupError ObservedNotImplementedError ObservedRuntimeError ObservedTypeError "
    "PTXASError PendingUnbackedSymbolNotFound StrobelightCLIProfilerError TracingCheckError TritonMissing "
    "JITException UnsupportedAliasMutationException UnsupportedMutationAliasingException UnsupportedNNModuleError "
    "UnsupportedOperatorException UnsynchronizedAccessError malformed_input malformed_ir _BypassDispatchCache "
    "CUDACompileError CUDASanitizerErrors CantChunk CantSplit CompanionMismatch ExportPassBaseError "
    "FxNetMinimizerBadModuleError FxNetMinimizerResultMismatchError FxNetMinimizerRunFuncError "
    "FxNetSplitterInternalError NodeHashException NonzeroWorkspaceNotSupportedError ObservedException "
    "ObservedGeneratorExit ObservedUserStopIteration ResumePrologueTracingError SpeculationLogDivergence "
    "UnknownPropertiesDuringBackwardTrace _CuptiError _ShapeEnvGuardError _StridedShardNotDecodableError"
)
#: Words of other frameworks.
_OTHERS = words_of(
    "gufunc dot_general contracting tf tensorflow keras eagertensor kerastensor jax jaxlib jnp shapedarray sklearn "
    "estimator n_samples opkernel goroutine n_features "
    "n_splits multiclass metrics dataframe pandas paddle mxnet cupy onnxruntime xgboost dmatrix openai matplotlib "
    "plt series ufunc __array_function__ sympy decimal scipy mpmath symbols polynomial flax optax haiku"
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
#: Names of torch and of its parts.
_NAMES = words_of("torch pytorch aten c10 torchscript scalartype libtorch")
#: Sentences that only torch's own parsers and dispatchers make.
_OWN_FORM = Pattern(
    r"^\"\w+\" not implemented for '[A-Z]\w+'|\(\): argument '\w+' (?:\(position \d+\) )?must be |"
    r"\(\) received an invalid combination of arguments - got \("
)
#: Words that torch's checks use, and others hardly do; names are taken apart at `_`.
_OURS = words_of(
    "torch tensor tensors tensorbase aten c autograd grad grads gradient gradients cuda cudnn cublas mkldnn onednn "
    "fbgemm qnnpack magma scalartype bfloat complexfloat complexdouble dim dims ndim ndims stride strides strided "
    "kernel padding dilation channels embed hidden batch_size nn optimizer optimizers lr beta betas momentum "
    "decay weight bias biases normalized attn attention query conv convolution pool pooling maxpool sparse quantize "
    "quantized quantization dequantize vmap functorch meta backward forward inplace storage storages contiguous "
    "logits probs reduction dataloader dataset datasets sampler samplers worker workers rank nccl gloo torchscript "
    "jit dynamo inductor fx onnx export dtensor mesh fsdp ddp params module modules submodule schema cudagraph mps "
    "xpu fake symint elementwise numel dropout embedding loss lstm rnn gru offsets mask linalg fft window target "
    "targets logprob opoverload parametrization parametrizations checkpoint collate iterabledataset transforms "
    "dtensors groups fused foreach capturable cudagraphs datapipe shard shards sharded pipeline microbatch wishart "
    "distribution distributions event nested jagged bilinear bicubic nearest scalar scalars triton quantizer "
    "observer fbgemm histc vml prims namespace mutates mutated opcheck state_dict datapipes tcpstore "
    "rendezvous backends slope scheduler upsample interpolate subgraph graphmodule wrapper"
)
#: Messages of TensorFlow, Keras and JAX, of which no word is enough.
_FOREIGN = Pattern(
    r"\{\{|\[Op:|[Nn]ode \S+ defined at|[Ll]ayer [\"'].*[\"']|operands could not be broadcast|not aligned: \d|"
    r"to a single shape|[Tt]raced<|\(None, ?\d|(?<!cuda):0'|Attempt to convert a value|Failed to convert a NumPy|"
    r"Value passed to parameter '"
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
    "expected str instance", "expected string or", "expected bytes", "max() arg", "min() arg", "exceeds the limit",
    "embedded null", "Fatal Python error", "[Errno ",
    "missing required argument",
    "has no attribute '", "not JSON serializable", "argument after *",
    "is not a module, class", "module, class, method", "vent loop",
    "new futures", "new thread", "changed size during", "mutated during", "application context", "asyncio", "coroutine",
    "lost sys", "unlocked lock", "current thread", "main thread", "Circular reference", "dictionary keys",
        "I/O operation",
    "write to closed", "positional args tuple",
    "attempted relative import", "Python int too large", "isinstance() arg", "super()",
    "No active exception", "exceptions must", "takes exactly", "takes no arguments",
)  # fmt: skip
_TORCH_FILE = Pattern(r"(?:^|/)torch/(?!.*(?:site|dist)-packages/)")
_LIBRARY = Pattern(r"(?:site|dist)-packages/(?!torch/)|(?:^|/)lib(?:64)?/python\d")
_ECOSYSTEM = Pattern(
    r"/(?:transformers|accelerate|peft|diffusers|timm|lightning|pytorch_lightning|torchvision|torchaudio|"
    r"torch_geometric|"
    r"torchmetrics|deepspeed|bitsandbytes|fairscale|ignite|fastai|ultralytics|vllm|trl|monai|einops|xformers|apex)/"
)
_RAISES = Pattern(r"\s*(?:raise\b|assert\b)")


def is_torchs(error: Crash | Raised, text: str, operator: bool, detail: int, firm: bool) -> bool:
    """Whether torch, or a library built on it, made a check that failed with this message.

    `operator`: the message names one before its claim; `detail` counts what it gives besides its requirement: the
    operator, the actual value. `firm`: it states a requirement in the words of tensors.
    """
    if _OWN_FORM.search(text) or _has_own_type(error):
        return True
    if not lowered(text) or is_pythons(text):
        return False
    if error.frames and in_torch(error.frames[-1].file):
        return True
    if is_others(text):
        return False
    if error.frames:
        return _raised_there(error, text, operator, detail, firm)
    return "." not in error.type and _speaks_so(error, text, operator, detail, firm)


def _has_own_type(error: Crash | Raised) -> bool:
    """Whether only torch has an error's type: one without its module that a program raises itself may be its own."""
    if "." in error.type:
        return error.type.startswith(("torch.", "c10"))
    last = error.frames[-1] if error.frames else None
    return error.name in _ONLY_OURS and (last is None or in_torch(last.file) or not _RAISES.match(last.code))


def is_others(text: str) -> bool:
    """Whether a message has a word of another framework, or a sentence that Python itself says."""
    words = lowered(text)
    named = bool(words & _OTHERS) and not words & _NAMES
    return named or _FOREIGN.search(text) is not None or is_pythons(text)


def is_pythons(text: str) -> bool:
    """Whether a message has a sentence that Python itself says."""
    return any(map(text.__contains__, _PYTHON))


def evidence(kind: str, words: frozenset[str], operator: bool) -> frozenset[str]:
    """What the weights of `weights.py` are of: words, the type of the exception, an operator before the claim."""
    return words | {kind} | (set() if kind in _PYTHONS_TYPES else {"Other"}) | ({"op()"} if operator else set())


def _speaks_so(error: Crash | Raised, text: str, operator: bool, detail: int, firm: bool) -> bool:
    """Whether the words are torch's: by their weights, by what its checks are known by, or as its files have them.

    Few words may be anybody's: they need one that is torch's, or an operator. A RuntimeError that C++ raised in the
    user's own line is more often torch's than not.
    """
    words = lowered(text)
    weight = _weight(error.name, words, operator)
    if error.name not in _PYTHONS_TYPES and WEIGHTS.get(error.name, 0) <= 0 and not words & _SURELY_OURS:
        return _is_of_files(text) or (installed.has(text) and installed.defines(error.name))  # some package's own type
    known = bool(words & (_OURS | _SURELY_OURS))
    told = known or (bool(error.type) and (operator or len(words) > FEW))
    native = error.name == "RuntimeError" and bool(error.frames) and bool(error.frames[-1].code)
    if weight > (LIKELY if native else SURE if told else CERTAIN):
        return True
    if weight > HARDLY and _known_by(error.name, ALIASES.get(error.name, error.name), words, detail, firm):
        return True
    return _in_files(error.name, text, weight)


def _weight(kind: str, words: frozenset[str], operator: bool) -> int:
    told = evidence(kind, words, operator) & WEIGHTS.keys()
    return BIAS + sum(WEIGHTS[word] for word in told)


def _in_files(kind: str, text: str, weight: int) -> bool:
    """Whether torch's files have enough of a message's runs of words, or the installed torch has the message.

    Where the installed torch raises the same type with it, the words need not speak for torch.
    """
    held, runs = ngrams.known(text)
    enough = runs if weight < 0 and runs < 4 else min(2, runs - 1)
    if held > 2 or (weight > AGAINST and (0 < held >= enough or installed.has(text))):
        return True
    return kind in _PYTHONS_TYPES and raises.has(kind, text)


def _is_of_files(text: str) -> bool:
    """Whether a text of no type, or of an unknown one, is torch's files': most of its runs of words, and several."""
    held, runs = ngrams.known(text)
    return held > 3 and 2 * held >= runs


def _known_by(own_name: str, kind: str, words: frozenset[str], detail: int, firm: bool) -> bool:
    """Whether a checking type comes with words of torch's: of a RuntimeError one is enough, others raise the rest."""
    if kind not in CHECKED or (own_name != "RuntimeError" and words & _MAYBE_OTHERS and not words & _SURELY_OURS):
        return False
    own = len(words & _OURS) + len(words & _SURELY_OURS) + ("input" in words and bool(words & _INPUT))
    if kind == "RuntimeError":
        return own > 0 or detail > 1 or firm
    return own > 0 and own + detail + firm > 1


def _raised_there(error: Crash | Raised, text: str, operator: bool, detail: int, firm: bool) -> bool:
    """Whether C++ raised it in the user's own line, or a package that torch leads to, in the words of torch."""
    last = error.frames[-1]
    file = last.file.replace("\\", "/")
    known = last.user or file.startswith("<")
    if not _ECOSYSTEM.search(file) and (_LIBRARY.search(file) or not known or _RAISES.match(last.code)):
        # A package that torch's own files lead to is built on it: what it says of tensors and devices is torch's.
        below = bool(lowered(text) & _SURELY_OURS) and any(in_torch(frame.file) for frame in error.frames)
        return below and _speaks_so(error, text, operator, detail, firm)
    return _speaks_so(error, text, operator, detail, firm)


def says_so(error: Crash | Raised, text: str) -> bool:
    """Whether a message is surely torch's, whatever its form: its files raised it or have it, or the words tell."""
    if _has_own_type(error) or (error.frames and in_torch(error.frames[-1].file)):
        return True
    if error.name not in CHECKED or (error.frames and not error.frames[-1].user):
        return False
    weight = _weight(error.name, lowered(text), False)
    return weight > SURE + CERTAIN or _in_files(error.name, text, weight)


def in_torch(file: str) -> bool:
    """Whether a file is torch's own."""
    return _TORCH_FILE.search(file.replace("\\", "/")) is not None


def is_library(file: str) -> bool:
    """Whether a file is torch's or of a library that is built on it."""
    return (_TORCH_FILE.search(file) or _ECOSYSTEM.search(file)) is not None
