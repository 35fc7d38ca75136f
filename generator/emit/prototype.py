"""The aclnn call of an operator: its parameters in order, with their C types, names and prototypes."""

from __future__ import annotations

from typing import Final

from generator.spec.model import OpSpec, Param

__all__ = ["ACL_DTYPES", "ACL_FORMATS", "ctype", "phases", "prototype"]

ACL_DTYPES: Final[dict[str, str]] = {
    "float16": "ACL_FLOAT16",
    "bfloat16": "ACL_BF16",
    "float32": "ACL_FLOAT",
    "float64": "ACL_DOUBLE",
    "int8": "ACL_INT8",
    "uint8": "ACL_UINT8",
    "int16": "ACL_INT16",
    "int32": "ACL_INT32",
    "int64": "ACL_INT64",
    "bool": "ACL_BOOL",
}
"""Dtype name -> ``aclDataType``."""

ACL_FORMATS: Final[dict[str, str]] = {
    "ND": "ACL_FORMAT_ND",
    "NCL": "ACL_FORMAT_NCL",
    "NCHW": "ACL_FORMAT_NCHW",
    "NHWC": "ACL_FORMAT_NHWC",
    "NZ": "ACL_FORMAT_FRACTAL_NZ",
}
"""Format name -> ``aclFormat``."""

_ATTRIBUTES: Final[dict[str, str]] = {
    "float": "float",
    "double": "double",
    "int": "int64_t",
    "bool": "bool",
    "string": "const char *",
    "int_list": "const aclIntArray *",
    "float_list": "const aclFloatArray *",
}


def ctype(p: Param) -> str:
    """The C type of a parameter of the aclnn call."""
    if p.ctype:
        return p.ctype
    if p.io == "attr":
        return _ATTRIBUTES[p.type or "float"]
    if p.list_of:
        return "const aclTensorList *"
    return "const aclTensor *" if p.io == "in" else "aclTensor *"


def _declared(kind: str, name: str) -> str:
    return f"{kind}{name}" if kind.endswith("*") else f"{kind} {name}"


def prototype(name: str, parameters: list[tuple[str, str]]) -> str:
    """A C declaration, one parameter a line, of (type, name) pairs."""
    inner = ",\n".join(f"  {_declared(kind, said)}" for kind, said in parameters)
    return f"aclnnStatus {name}(\n{inner})"


def phases(spec: OpSpec) -> tuple[str, str]:
    """The declarations of both phases, without a semicolon."""
    own = [(ctype(p), p.aclnn) for p in spec.params]
    plan = [*own, ("uint64_t *", "workspaceSize"), ("aclOpExecutor **", "executor")]
    run = [("void *", "workspace"), ("uint64_t", "workspaceSize"), ("aclOpExecutor *", "executor"), ("aclrtStream", "stream")]
    return prototype(f"aclnn{spec.name}GetWorkspaceSize", plan), prototype(f"aclnn{spec.name}", run)
