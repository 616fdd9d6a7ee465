"""What a watched run has shown so far, beside its notes: what else looks for findings remembers from call to call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

#: By an object's id, with a weak reference to it where it may be gone; by a place of the program; by a name.
ById = dict[int, Any]
ByPlace = dict[Any, Any]
ByName = dict[str, Any]


@dataclass(eq=False)
class Seen:
    """Each field is written by the module that is named behind it."""

    # Parameters and optimizers.
    weights: ById = field(default_factory=dict)  # holding: trained parameters, with their gradients
    strays: ById = field(default_factory=dict)  # holding: parameters in a graph that no optimizer holds
    orphans: ById = field(default_factory=dict)  # holding: what an optimizer holds and no model has any more
    ungraded: ById = field(default_factory=dict)  # holding: what an optimizer holds and no loss reaches
    collated: dict[Any, list[Any]] = field(default_factory=dict)  # collating: parts of batches that stand apart
    draws: dict[Any, dict[str, Any]] = field(default_factory=dict)  # draws: what generators gave, by place
    read: dict[Any, dict[str, Any]] = field(default_factory=dict)  # reading: weights behind numbers read, by place
    leaves: list[set[int]] = field(default_factory=list)  # inspect: of the last losses
    divided: ByPlace = field(default_factory=dict)  # inspect: by what a loss is divided before its backward
    clips: list[dict[str, Any]] = field(default_factory=list)  # rates: what gradients were clipped to
    versions: dict[int, int] = field(default_factory=dict)  # watcher: of a schedule's values, by optimizer
    begun: dict[int, float] = field(default_factory=dict)  # ranks: the size of parameters before the first step
    ranks: int = 0  # ranks: how many processes train together
    drift: Any = None  # drifting: how far copies on two processes are apart
    wrapped: bool = False  # ranks: a model stands in DistributedDataParallel
    # Models.
    placed: ById = field(default_factory=dict)  # models: in which module a parameter stands, as what
    given: ByPlace = field(default_factory=dict)  # models: where a module's attribute was set anew
    ties: list[Any] = field(default_factory=list)  # models: two attributes that share one parameter
    hooked: ByPlace = field(default_factory=dict)  # models: where hooks are registered, how often
    constants: ById = field(default_factory=dict)  # models: weights that were filled with one number
    copied: ById = field(default_factory=dict)  # models: deep copies
    filled: ById = field(default_factory=dict)  # models: what was loaded into a module, how often
    copies: ById = field(default_factory=dict)  # models: modules that follow another one
    states: list[Any] = field(default_factory=list)  # models: what state_dict() gave
    loaded: set[int] = field(default_factory=set)  # models: modules that a checkpoint was loaded into
    pretrained: set[int] = field(default_factory=set)  # models: parameters whose values came from a file
    trained_at: dict[int, int] = field(default_factory=dict)  # models: the step at which train() was called last
    # Data.
    seeds: ByPlace = field(default_factory=dict)  # data: where random numbers are seeded, how often
    counted: set[type] = field(default_factory=set)  # data: kinds of iterators that are counted
    iterators: ById = field(default_factory=dict)  # data: the loaders' that are under way
    datasets: ById = field(default_factory=dict)  # data: what they hold before each of the first passes
    reading: Any = None  # data: the iterator that a batch is waited for
    ran: dict[Any, tuple[Any, int]] = field(default_factory=dict)  # watcher: lines of the program, with code and phase
    sizes: dict[tuple[str, int, str], int] = field(default_factory=dict)  # deep: of tensors at a line, by name
    sources: Any = None  # sources: the program's files
    # What grows.
    past: list[Any] = field(default_factory=list)  # growth: earlier losses
    kept: dict[str, dict[str, Any]] = field(default_factory=dict)  # growth: names that keep graphs alive
    lists: ByName = field(default_factory=dict)  # growth: lists of tensors, with their lengths
    # Calls of torch.
    embedded: ById = field(default_factory=dict)  # sequences: rows that an embedding made, within one step
    tokens: list[Any] = field(default_factory=list)  # sequences: ids that were looked up
    future: list[Any] = field(default_factory=list)  # sequences: which positions attention sees
    ends: Any = None  # streams: what each row of the last batch was to predict last
    weighed: ByPlace = field(default_factory=dict)  # weighing: class weights, with how often each class was met
    rectified: dict[Any, dict[str, Any]] = field(default_factory=dict)  # dead: what units give
    lowly: list[Any] = field(default_factory=list)  # precision: parameters of low precision before a step
    fits: dict[Any, list[Any]] = field(default_factory=dict)  # fits: how well predictions fit, by place
    tallies: dict[Any, dict[int, int]] = field(default_factory=dict)  # fits: how often each class was the target
    # The loop.
    loop_of: str = ""  # watcher: the package whose loop trains
    orders: dict[Any, int] = field(default_factory=dict)  # watcher: the places of backwards, in their order
    between: bool = False  # watcher: a backward was called and no step since
    closures: bool = False  # watcher: an optimizer's step was given a closure
