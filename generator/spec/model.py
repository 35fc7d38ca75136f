"""The typed operator spec: frozen pydantic models, one class per thing an author writes."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

DTypeName = Literal["float16", "bfloat16", "float32", "float64", "int8", "uint8", "int16", "int32", "int64", "bool"]
ProductName = Literal["Ascend910B", "Ascend910_93", "Ascend950"]
Status = Literal["PARAM_NULLPTR", "PARAM_INVALID", "RUNTIME_ERROR"]
Verdict = Literal["PROVED", "EXACT", "NUMERIC"]
FormatName = Literal["ND", "NCL", "NCHW", "NHWC", "NZ"]


def _size_text(value: object) -> object:
    """An integer where a size is written stands for its text."""
    return str(value) if type(value) is int else value


SizeText = Annotated[str, BeforeValidator(_size_text)]  # an integer expression over dims and int attributes


class Model(BaseModel):
    """Base of all spec models: frozen, unknown keys refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Text(Model):
    """A description in both languages of the documents."""

    en: str
    zh: str


class Dim(Model):
    """A symbolic size. ``where`` constrains it; ``value`` derives it, from attributes, dims or element counts
    (then it must come out exact); ``when_empty`` is its value when the division is by a size that is zero."""

    where: str | None = None
    value: SizeText | None = None
    when_empty: int | None = None
    about: Text | None = None


class Flat(Model):
    """A one-dimensional buffer with inner order: ``axes`` maps the formula's axes, in index order, to extents,
    ``order`` lists them slowest first, ``size`` is the buffer's element count. What is not mapped is undefined."""

    axes: dict[str, SizeText]
    order: list[str]
    size: SizeText


class When(Model):
    """A shape variant: taken when ``when`` holds; otherwise the parameter's plain ``shape`` stands."""

    when: str
    shape: list[SizeText]


class Param(Model):
    """One parameter of the aclnn call: a tensor when ``shape`` or ``flat`` is given, else an attribute."""

    symbol: str  # the formula's name
    name: str  # the graph's name
    aclnn: str  # the aclnn call's name
    io: Literal["in", "out", "inout", "attr"]
    about: Text
    ctype: str | None = None  # C type in the aclnn call; derived when absent
    # tensors
    shape: list[SizeText] | None = None
    ranks: list[list[SizeText | list[SizeText]]] = Field(default_factory=list)  # a nested list flattens to one canonical dim
    variants: list[When] = Field(default_factory=list)
    flat: Flat | None = None
    dtype: str | None = None  # a dtype, or a dtype variable named in `dtypes`
    formats: list[FormatName] = Field(default=["ND"])
    optional: bool = False
    optional_when: str | None = None  # may be null only when this holds
    aliases: str | None = None  # in-place: the input this output overwrites
    list_of: bool = False  # an aclTensorList
    fill: float | None = None  # outputs: value of elements the formula does not write
    # attributes
    type: Literal["float", "double", "int", "bool", "string", "int_list", "float_list"] | None = None
    default: float | int | bool | str | list[int] | list[float] | None = None
    where: str | None = None  # range of the attribute, e.g. "1 <= num_iters <= 100"
    aclnn_only: bool = False  # not an attribute of the graph operator


class Group(Model):
    """Optional parameters that are given all or none."""

    members: list[str]
    code: Status = "PARAM_INVALID"


class Flag(Model):
    """An attribute of the graph operator alone that says whether optional outputs are wanted; in the aclnn call their pointers do.
    Flags follow the other attributes, in order. Outputs not wanted have shape [0] in a graph."""

    name: str  # the graph's name
    outputs: list[str]  # one optional output, or outputs that one group ties together
    given: bool | int = 1  # the value when they are given
    absent: bool | int = 0  # the value when they are not, and the default
    about: Text | None = None


class Hf32(Model):
    """When the cube may multiply float32 numbers in HF32, which is float32 with a mantissa about as short as float16's: at these
    values of an int attribute, which the formula cannot name. Results at these values are judged as those of float16."""

    attr: str  # an int attribute of the graph operator
    values: list[int]  # at which sums of float32 products may be computed in HF32; at all others they are computed in float32


class Constraint(Model):
    """A condition on dims, attributes and element counts; violating it returns ``code``."""

    that: str
    code: Status = "PARAM_INVALID"
    about: Text | None = None


class Policies(Model):
    """How the operator treats the cases a formula does not settle."""

    empty: Literal["success", "refuse", "compute"] = "success"  # no elements: nothing to do | 161002 | run the formula
    noncontiguous: Literal["accept", "refuse"] = "accept"
    deterministic: Literal["always", "optional", "never"] = "always"
    boundary: dict[str, str] = Field(default_factory=dict)  # e.g. {"max": "first", "abs": "0"}


class Published(Model):
    """A formula some document publishes, to be audited; parsed with the relaxed rules."""

    source: str
    formula: str
    gradients: dict[str, str] = Field(default_factory=dict)  # tensor in this text -> forward input it is the gradient of
    cotangents: dict[str, str] = Field(default_factory=dict)  # upstream gradient's name -> forward output
    saved: dict[str, str] = Field(default_factory=dict)  # other names in this text -> forward tensor they hold
    open: dict[str, list[str]] = Field(default_factory=dict)  # a name this text leaves open -> what it may mean
    notes: Text | None = None


class Sizes(Model):
    """Sizes for tests and benchmarks: dims and int attributes by name. ``rank`` numbers the alternative ranks, 0 is the shape as
    written; ``dtypes`` are those of a combination, or of part of one. ``tiling_only``: tensors too large to run; the tiling function
    is called in full, the kernel on its last core alone."""

    sizes: dict[str, int]
    attrs: dict[str, float | int | bool] = Field(default_factory=dict)
    rank: int = 0
    dtypes: dict[str, DTypeName] = Field(default_factory=dict)
    tiling_only: bool = False


class Tests(Model):
    """What the shared suite is to cover beyond what it derives itself."""

    values: dict[str, list[int]] = Field(default_factory=dict)  # dim or int attribute -> values to cover pairwise
    attrs: dict[str, list[float | int | bool]] = Field(default_factory=dict)
    inputs: dict[str, Annotated[list[float], Field(min_length=2, max_length=2)]] = Field(default_factory=dict)  # value ranges
    from_forward: dict[str, str] = Field(default_factory=dict)  # input -> forward output it must be computed from
    cases: list[Sizes] = Field(default_factory=list)


class OpSpec(Model):
    """One operator."""

    name: str
    family: str
    summary: Text
    notes: list[Text] = Field(default_factory=list)
    forward: str | None = None  # name of the operator this is the gradient of
    binds: dict[str, str] = Field(default_factory=dict)  # our input or output -> what it is of the forward's
    products: list[ProductName] = Field(default=["Ascend910B", "Ascend910_93", "Ascend950"])
    dims: dict[str, Dim] = Field(default_factory=dict)
    segments: dict[str, dict[str, list[SizeText]]] = Field(default_factory=dict)  # K: {pre: [n], res: [n, n]}
    broadcast: list[str] | dict[str, list[str]] = Field(default_factory=list)  # packs with NumPy's rule: [b], or {b: [x, w]}
    params: list[Param]
    groups: list[Group] = Field(default_factory=list)
    flags: list[Flag] = Field(default_factory=list)
    dtypes: list[dict[str, DTypeName]] = Field(default_factory=list)  # one entry, one combination
    compute: Literal["float32", "float16", "bfloat16"] = "float32"
    hf32: Hf32 | None = None  # the int attribute that allows HF32 in sums of float32 products
    constraints: list[Constraint] = Field(default_factory=list)
    policies: Policies = Field(default_factory=Policies)
    formula: str
    audited: dict[str, Verdict] = Field(default_factory=dict)  # output -> what the audit has said of its formula, for documents
    published: list[Published] = Field(default_factory=list)
    tests: Tests = Field(default_factory=Tests)
    bench: list[Sizes] = Field(default_factory=list)
