"""One program that makes calls of every operator's first phase: generated host code with address and undefined-behaviour sanitizers."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from generator.spec.model import Param
from generator.twin.build import build
from generator.twin.compile import INCLUDE, build_file, default_cache, sources_of
from generator.twin.package import _ACL, _INTERFACE, _RUNTIME, _Builder
from generator.twin.products import product
from tests.host.calls import ACL_DTYPES, ACL_FORMATS, Call, Tensor, View
from tests.host.common import OPERATORS, alone, folder, place, spec, written

SANITIZE = "address,undefined"
PRODUCT = "Ascend910B"
UNBUILT = "Ascend950"
"""A product that operators support, but for which no kernel is beside the program."""
FOREIGN = replace(product(PRODUCT), name="Ascend310P", soc="Ascend310P3")
"""A product that no operator supports, known to this program only."""
SECOND_PHASE = (161001, 161002, 161001, 361001, 0, 161002, 0, 0)
"""The statuses of the second phases that a call with ``results`` "misuse" makes."""

_MAIN = """
struct Arg {
  aclTensor *tensor = nullptr;
  int64_t integer = 0;
  double real = 0.0;
  std::string path;  // of the storage's bytes, which lie at `device`
  void *device = nullptr;
  std::vector<char> bytes;
};
typedef aclnnStatus (*First)(const std::vector<Arg> &a, uint64_t *size, aclOpExecutor **executor);
typedef aclnnStatus (*Second)(void *workspace, uint64_t size, aclOpExecutor *executor, aclrtStream stream);
struct Operator {
  First first;
  Second second;
};

static Arg Read(std::istringstream &in, bool allocate) {
  static char memory[64];
  Arg arg;
  std::string kind, word;
  in >> kind;
  if (kind == "i") in >> arg.integer;
  if (kind == "f") {
    in >> word;
    arg.real = std::strtod(word.c_str(), nullptr);
  }
  if (kind == "t") {
    int dtype = 0, format = 0;
    uint64_t rank = 0;
    in >> dtype >> format >> rank;
    std::vector<int64_t> dims(rank);
    for (int64_t &d : dims) in >> d;
    std::vector<int64_t> strides(rank, 1);
    for (uint64_t d = rank; d-- > 1;) {
      strides[d - 1] = static_cast<int64_t>(static_cast<uint64_t>(strides[d]) * static_cast<uint64_t>(dims[d]));
    }
    size_t bytes = 16;
    for (const int64_t d : dims) bytes *= allocate ? static_cast<size_t>(d) : 1;
    if (allocate && aclrtMalloc(&arg.device, bytes, ACL_MEM_MALLOC_HUGE_FIRST) != 0) std::exit(14);
    arg.tensor = aclCreateTensor(dims.data(), rank, static_cast<aclDataType>(dtype), strides.data(), 0,
                                 static_cast<aclFormat>(format), dims.data(), rank, allocate ? arg.device : memory);
  }
  if (kind == "v") {
    int dtype = 0;
    uint64_t rank = 0;
    int64_t offset = 0, elements = 0;
    in >> dtype >> rank;
    std::vector<int64_t> dims(rank), strides(rank);
    for (int64_t &d : dims) in >> d;
    for (int64_t &s : strides) in >> s;
    in >> offset >> elements >> arg.path;
    std::ifstream file(arg.path, std::ios::binary);
    arg.bytes.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    if (aclrtMalloc(&arg.device, arg.bytes.size(), ACL_MEM_MALLOC_HUGE_FIRST) != 0) std::exit(6);
    if (aclrtMemcpy(arg.device, arg.bytes.size(), arg.bytes.data(), arg.bytes.size(), ACL_MEMCPY_HOST_TO_DEVICE) != 0) std::exit(7);
    arg.tensor = aclCreateTensor(dims.data(), rank, static_cast<aclDataType>(dtype), strides.data(), offset, ACL_FORMAT_ND, &elements, 1,
                                 arg.device);
  }
  return arg;
}

// Runs what was planned and writes every storage back to its file.
static aclnnStatus Run(const Operator &op, std::vector<Arg> &args, uint64_t size, aclOpExecutor *executor) {
  aclrtStream stream = nullptr;
  void *workspace = nullptr;
  if (aclrtCreateStream(&stream) != 0) std::exit(8);
  if (size > 0 && aclrtMalloc(&workspace, size, ACL_MEM_MALLOC_HUGE_FIRST) != 0) std::exit(9);
  aclnnStatus status = op.second(workspace, size, executor, stream);
  const aclError done = aclrtSynchronizeStream(stream);
  status = status == 0 ? done : status;
  for (Arg &arg : args) {
    if (status != 0 || arg.device == nullptr) continue;
    if (aclrtMemcpy(arg.bytes.data(), arg.bytes.size(), arg.device, arg.bytes.size(), ACL_MEMCPY_DEVICE_TO_HOST) != 0) std::exit(10);
    std::ofstream(arg.path, std::ios::binary).write(arg.bytes.data(), static_cast<std::streamsize>(arg.bytes.size()));
  }
  if (workspace != nullptr && aclrtFree(workspace) != 0) std::exit(11);
  if (aclrtDestroyStream(stream) != 0) std::exit(12);
  return status;
}

// Second phases that must be refused, then one that runs, the same again, and one on the default stream; kernels are stand-ins.
static std::string Misuse(const Operator &op, const std::vector<Arg> &args, uint64_t size, aclOpExecutor *executor) {
  aclrtStream stream = nullptr;
  void *workspace = nullptr;
  int local = 0;
  if (aclrtCreateStream(&stream) != 0 || aclrtMalloc(&workspace, size, ACL_MEM_MALLOC_HUGE_FIRST) != 0) std::exit(15);
  std::vector<aclnnStatus> found;
  found.push_back(op.second(nullptr, size, executor, stream));
  found.push_back(op.second(workspace, size - 1, executor, stream));
  found.push_back(op.second(workspace, size, nullptr, stream));
  found.push_back(op.second(workspace, size, executor, &local));
  found.push_back(op.second(workspace, size, executor, stream));
  found.push_back(op.second(workspace, size, executor, stream));
  if (aclrtSynchronizeStream(stream) != 0 || op.first(args, &size, &executor) != 0) std::exit(16);
  found.push_back(op.second(workspace, size, executor, nullptr));
  found.push_back(aclrtSynchronizeStream(nullptr));
  if (aclrtFree(workspace) != 0 || aclrtDestroyStream(stream) != 0) std::exit(17);
  std::string text;
  for (const aclnnStatus status : found) text += (text.empty() ? "" : " ") + std::to_string(status);
  return text;
}

int main() {
  if (aclInit(nullptr) != 0 || aclrtSetDevice(0) != 0) return 2;
  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream in(line);
    size_t op = 0, count = 0;
    std::string results;
    in >> op >> count >> results;
    std::vector<Arg> args;
    for (size_t k = 0; k < count; ++k) args.push_back(Read(in, results == "m"));
    uint64_t size = 12345;
    aclOpExecutor *executor = nullptr;
    aclnnStatus status = kOperators[op].first(args, results == "s" ? nullptr : &size, results == "e" ? nullptr : &executor);
    const bool planned = executor != nullptr;
    if (results == "r" && status == 0) {
      status = Run(kOperators[op], args, size, executor);
      executor = nullptr;
    }
    const char *message = status == 0 ? "" : aclGetRecentErrMsg();
    std::string text = message == nullptr ? "" : message;
    if (results == "m" && status == 0) {
      text = Misuse(kOperators[op], args, size, executor);
      executor = nullptr;
    }
    for (char &c : text) c = c == '\\n' || c == '\\t' ? ' ' : c;
    std::cout << status << '\\t' << size << '\\t' << planned << '\\t' << text << '\\n';
    if (executor != nullptr && aclDestroyAclOpExecutor(executor) != 0) return 3;
    for (const Arg &arg : args) {
      if (arg.tensor != nullptr && aclDestroyTensor(arg.tensor) != 0) return 4;
      if (arg.device != nullptr && aclrtFree(arg.device) != 0) return 13;
    }
  }
  return aclrtResetDevice(0) != 0 || aclFinalize() != 0 ? 5 : 0;
}
"""


@dataclass(frozen=True)
class Answer:
    """What a call gave: its status, the workspace's size, whether there is an executor, and the message."""

    status: int
    workspace: int
    executor: bool
    message: str


def _source() -> str:
    """The program's text: every operator's host code, then a caller for each."""
    host = [p for n in OPERATORS for part in ("op_api", "op_host") for p in sorted((folder(n) / part).glob("*.cpp"))]
    lines = [f"#include <{h}>" for h in ("cstdlib", "fstream", "iostream", "iterator", "sstream", "string", "vector")]
    lines += ['#include "acl/acl.h"', *(f'#include "{p}"' for p in host)]
    main, phases = _MAIN.split("static Arg Read", 1)
    lines.append(main)
    for n in OPERATORS:
        args = ", ".join(_argument(k, p) for k, p in enumerate(spec(n).spec.params))
        lines.append(f"static aclnnStatus Call{n}(const std::vector<Arg> &a, uint64_t *size, aclOpExecutor **executor) {{")
        lines.append(f"  return aclnn{n}GetWorkspaceSize({args}, size, executor);\n}}")
    lines.append(f"static const Operator kOperators[] = {{{', '.join(f'{{Call{n}, aclnn{n}}}' for n in OPERATORS)}}};")
    return "\n".join([*lines, "static Arg Read" + phases])


def _argument(k: int, p: Param) -> str:
    """Argument ``k`` of a call in C++."""
    if p.io != "attr":
        return f"a[{k}].tensor"
    integer = p.type in ("int", "bool")
    kind = p.ctype or {"int": "int64_t"}.get(p.type or "", p.type)
    return f"static_cast<{kind}>(a[{k}].{'integer' if integer else 'real'})"


@cache
def program() -> Path:
    """The built program."""
    with alone():
        return _program()


def _program() -> Path:
    builder = _Builder(default_cache(), (FOREIGN, product(PRODUCT)), None, True)
    defines = [f'-DTWIN_PRODUCTS="{builder.table}"']
    objects = [builder.unit(_ACL / f"{n}.cpp", (), defines if n == "device" else ()) for n in (*_RUNTIME, *_INTERFACE)]
    source = written("driver.cpp", _source())
    folders = [folder(n) / part for n in OPERATORS for part in ("op_api", "op_host", "op_kernel")]
    include = [INCLUDE, INCLUDE / "aclnn"]
    flags = [f"-fsanitize={SANITIZE}", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer", "-g1", "-O0", "-DFUNC_VISIBILITY"]
    arguments = [*flags, *(f"-I{p}" for p in include), *map(str, objects), "-ldl", "-rdynamic"]
    made = build_file(source, arguments, [*sources_of([source], [*include, *folders]), *objects], "driver", "", place(), source)
    _kernels(place() / "kernels" / str(product(PRODUCT).arch))
    return made


@cache
def runner(name: str) -> Path:
    """The program beside the kernel's library of an operator, so that its calls can be run."""
    made = program()
    built = build(folder(name), PRODUCT, quick=True).kernel_library
    here = place() / f"run-{made.stem}-{built.stem}"
    kernels = here / "kernels" / str(product(PRODUCT).arch)
    with alone():
        kernels.mkdir(parents=True, exist_ok=True)
        for target, link in ((built, kernels / f"{name}.so"), (made, here / "driver")):
            if not link.exists():
                shutil.copy(target, link)
    return here / "driver"


def _kernels(here: Path) -> None:
    """Stand-ins for the kernels' libraries, which the first phase looks for and does not run."""
    here.mkdir(parents=True, exist_ok=True)
    for n in OPERATORS:
        count = sum(1 + (p.io == "inout") for p in spec(n).spec.params if p.io != "attr") + 2
        names = ("TwinRun", "TwinBreachCount", "TwinBreachAt", "TwinFree")
        text = f"int TwinParameters(void) {{ return {count}; }}\n" + "".join(f"void *{f}(void) {{ return 0; }}\n" for f in names)
        target = here / f"{n}.so"
        source = target.with_suffix(".c")
        if not target.is_file() or not source.is_file() or source.read_text(encoding="utf-8") != text:
            source.write_text(text, encoding="utf-8")
            subprocess.run(["cc", "-shared", "-fPIC", str(source), "-o", str(target)], check=True)


def _line(call: Call) -> str:
    checked = spec(call.op)
    results = {"no size": "s", "no executor": "e", "run": "r", "misuse": "m"}.get(call.results, "b")
    words = [str(list(OPERATORS).index(call.op)), str(len(checked.spec.params)), results]
    for p in checked.spec.params:
        value = call.args[p.symbol]
        if isinstance(value, Tensor):
            words += ["t", str(ACL_DTYPES[value.dtype]), str(ACL_FORMATS[value.format]), str(len(value.shape)), *map(str, value.shape)]
        elif isinstance(value, View):
            words += ["v", str(ACL_DTYPES[value.dtype]), str(len(value.shape)), *map(str, value.shape), *map(str, value.strides)]
            words += [str(value.offset), str(value.elements), str(value.path)]
        elif value is None:
            words.append("n")
        else:
            words += ["i", str(int(value))] if p.type in ("int", "bool") else ["f", repr(float(value))]
    return " ".join(words)


def make(calls: Iterable[Call], program: Callable[[], Path] = program, on: str = PRODUCT) -> list[Answer]:
    """The answers to ``calls`` on a product, in order. AssertionError with the sanitizers' report when the program does not end well."""
    text = "".join(f"{_line(c)}\n" for c in calls)
    env = {**os.environ, "OPWRIGHT_SOC": on, "ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0", "UBSAN_OPTIONS": "print_stacktrace=1"}
    done = subprocess.run([str(program())], input=text, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, f"exit {done.returncode}\n{done.stderr[-4000:]}"
    answers = []
    for line in done.stdout.splitlines():
        status, size, executor, message = line.split("\t", 3)
        answers.append(Answer(int(status), int(size), executor == "1", message))
    assert len(answers) == text.count("\n")
    return answers
