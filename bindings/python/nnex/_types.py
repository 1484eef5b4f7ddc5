"""What nnex tells of models: plain tuples with names."""

from __future__ import annotations

import enum
import os
from typing import Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple, TypedDict, Union

from ._nnex import Graph


Symbols = Mapping[str, int]
Carry = Union[bool, Mapping[str, str], Sequence[Tuple[str, str]]]


class Settings(TypedDict, total=False):
    """How a model is read and compiled, beside the keywords that `load` tells; None is as if it were not there."""

    cache: Union[str, "os.PathLike[str]", None]
    memory_limit: Optional[int]
    exact: Optional[bool]
    portable: Optional[bool]
    optimize: Optional[bool]
    isa: Optional[str]
    external_folder: Union[str, "os.PathLike[str]", None]
    map: Optional[str]
    archive_ratio: Optional[int]
    archive_limit: Optional[int]
    dialect: Optional[str]
    weight_seed: Optional[int]
    expand_compounds: Optional[bool]
    quantized: Optional[bool]
    cvm_answers: Optional[str]
    timeout: Optional[float]


class Options(Settings, total=False):
    """Those of `load`, for what compiles nothing."""

    symbols: Optional[Symbols]
    shapes: Optional[Mapping[str, Iterable[int]]]
    carry: Optional[Carry]
    custom_ops: Union[CustomOp, Iterable[CustomOp], None]


class Port(NamedTuple):
    """An input, output or state of a model, or any tensor of a graph.

    type: "f32[N,3,224,224]". dtype: 'float32', as NumPy calls it. shape: numbers, symbols as texts, and None for
    extents that nobody knows; None where the rank is not known.
    """

    name: str
    type: str
    dtype: str
    shape: Optional[Tuple[Union[int, str, None], ...]]


class Node(NamedTuple):
    """One operation of a graph. domain: of an operator that nnex lacks, else ''. place: where the author's file has it."""

    op: str
    domain: str
    place: str
    inputs: Tuple[Optional[Port], ...]
    outputs: Tuple[Optional[Port], ...]
    attributes: Dict[str, Any]
    blocks: Tuple[Block, ...]


class Block(NamedTuple):
    """Nodes that a node repeats or chooses."""

    nodes: Tuple[Node, ...]
    parameters: Tuple[Optional[Port], ...]
    results: Tuple[Optional[Port], ...]


class Severity(enum.IntEnum):
    """How bad a finding is."""

    ERROR = 0
    WARNING = 1
    NOTE = 2


class Finding(NamedTuple):
    """What a check found. code: 'invalid model' and the like; rule, found and needed may be ''."""

    severity: Severity
    code: str
    where: str
    message: str
    rule: str
    found: str
    needed: str

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return f"{self.severity.name.lower()}: {place}{self.message}"


class Report(NamedTuple):
    """What `check` says. It is true where the model is sound."""

    sound: bool
    findings: Tuple[Finding, ...]

    def __bool__(self) -> bool:
        return self.sound

    def __str__(self) -> str:
        return "\n".join(map(str, self.findings)) or "sound"


class Inspection(NamedTuple):
    """What is known of a model without compiling it. multiply_adds: a number, or a formula of symbols. domain, doc,
    graph_doc and model_version: of ONNX, '' and 0 where the file says none. activation_bytes: the most that live at once, node after node in the file's order; None where extents are not known."""

    format: str
    graph_name: str
    producer: str
    producer_version: str
    metadata: Dict[str, str]
    symbols: List[str]
    inputs: List[Port]
    outputs: List[Port]
    states: List[Port]
    operators: Dict[str, int]
    nodes: int
    parameters: int
    parameter_bytes: int
    multiply_adds: str
    activation_bytes: Optional[int]
    domain: str = ""
    doc: str = ""
    graph_doc: str = ""
    model_version: int = 0


class NodeTime(NamedTuple):
    """How long a node took in the last run, in microseconds."""

    place: str
    op: str
    kernel: str
    start_us: float
    us: float


class Compared(NamedTuple):
    """Two tensors that were compared: their names in a and b, and how far they are apart.

    by: what tells that they are the same tensor ('port', 'name', 'value', 'structure'; 'none': b has no such tensor).
    mismatch: why their elements could not be set beside each other, else ''; the distances are NaN then. worst: the row-major index of the largest
    difference, and the elements there; -1: there is none.
    """

    a: str
    b: str
    op: str
    place: str
    type: str
    by: str
    same: bool
    mismatch: str
    elements: int
    differing: int
    max_absolute: float
    max_relative: float
    cosine: float
    sqnr_db: float
    worst: int
    worst_a: str
    worst_b: str


class Comparison(NamedTuple):
    """What `compare` found. It is true where all outputs are the same.

    first: the first tensor inside that differs, and cause: the nodes that lie between it and the last equal ones.
    isolated: whether what was written for `isolate` differs again, and a note; None: nothing was written.
    """

    same: bool
    outputs: List[Compared]
    layers: List[Compared]
    only_a: List[str]
    only_b: List[str]
    first: Optional[Compared]
    cause: List[str]
    isolated: Optional[Tuple[bool, str]]

    def __bool__(self) -> bool:
        return self.same


class QuantizedLayer(NamedTuple):
    """A product or sum. kept_float: why it stays float, else ''. sqnr_db: against the float network; None: not judged."""

    name: str
    op: str
    kept_float: str
    weight_bytes: int
    sqnr_db: Optional[float]


class QuantizedOutput(NamedTuple):
    """agreed: of rows along the last axis, those whose largest element stands where the float network has it."""

    name: str
    sqnr_db: Optional[float]
    rows: int
    agreed: int


class Quantized(NamedTuple):
    """What `quantize` made: the graph, by what it can be made again, and how near and how fast it is."""

    graph: Graph
    recipe: str
    layers: List[QuantizedLayer]
    outputs: List[QuantizedOutput]
    notes: List[str]
    float_bytes: int
    bytes: int
    float_us: Optional[float]
    us: Optional[float]


class CustomOp:
    """An operator that nnex lacks, computed by Python (one that it has is computed by nnex).

    run(inputs, attribute): inputs are arrays (None: absent), attribute(name) is an attribute of the node or None; it
    returns the output, or several in a tuple or a list of arrays, which are copied; None is no output. infer(types, attribute) gives their types as texts
    ("f32[N,3]") from those of the inputs; without it they are known when `run` has made them. It may be called from several threads. pure: equal
    inputs give equal outputs, so that nnex may compute it ahead.
    """

    def __init__(self, name: str, run: Callable[..., Any], *, domain: str = "", infer: Optional[Callable[..., Any]] = None, since: int = 0, until: int = 0,
                 pure: bool = False) -> None:
        if not isinstance(name, str) or not isinstance(domain, str):
            raise TypeError(f"CustomOp: found the name {name!r} and the domain {domain!r}; needed texts")
        if not callable(run) or not (infer is None or callable(infer)):
            raise TypeError(f"CustomOp {name!r}: found run={run!r}, infer={infer!r}; needed functions")
        self.name, self.domain, self.run, self.infer = name, domain, run, infer
        self.since, self.until, self.pure = since, until, pure

    def __repr__(self) -> str:
        return f"<nnex.CustomOp {f'{self.domain}:' if self.domain else ''}{self.name}>"
