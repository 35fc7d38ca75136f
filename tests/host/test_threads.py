"""Generated operators called from many host threads at once under ThreadSanitizer: examples of several operators, each with data of
its thread's own and compared with its formula, on streams that the threads share."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

from generator.emit.names import snake
from generator.twin import compile as compiling
from generator.twin.build import kernel_entry
from generator.twin.compile import default_cache
from generator.twin.package import _ACL, _INTERFACE, _RUNTIME, _Builder
from generator.twin.products import product
from tests.host.common import folder, place, written
from tests.host.driver import PRODUCT
from tests.twin.acl.conftest import alone

OPERATORS = ("Softmax", "SwiGlu", "MhcSinkhorn")
"""One with reductions, one elementwise, one with loops, attributes and optional outputs: kernels that are built quickly."""

_SEEDED = "std::mt19937 generator(seed);"
_MAIN = """
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "acl/acl.h"

thread_local uint32_t salt = 0;  // what the drawn inputs depend on beside their seeds
@DECLARED@
typedef int (*Example)(aclrtStream);
static const Example kExamples[] = {@NAMES@};
static const int kCount = static_cast<int>(sizeof(kExamples) / sizeof(kExamples[0]));

// Eight threads, two streams: each thread calls one operator after another, beginning with another one than its neighbours.
static int Threads(aclrtStream (&streams)[2]) {
  std::vector<std::thread> threads;
  std::vector<int> failed(8, 0);
  for (int id = 0; id < 8; ++id) {
    threads.emplace_back([&, id] {
      if (aclrtSetDevice(0) != 0) failed[id] = 100;
      for (int round = 0; round < kCount; ++round) {
        salt = static_cast<uint32_t>(100 + 10 * id + round);
        failed[id] += kExamples[(id + round) % kCount](streams[id % 2]) != 0;
      }
      if (aclrtResetDevice(0) != 0) failed[id] += 100;
    });
  }
  for (std::thread &thread : threads) thread.join();
  int all = 0;
  for (const int f : failed) all += f;
  return all;
}

int main(int count, char **words) {
  aclrtStream streams[2] = {nullptr, nullptr};
  if (aclInit(nullptr) != 0 || aclrtSetDevice(0) != 0) return 100;
  if (aclrtCreateStream(&streams[0]) != 0 || aclrtCreateStream(&streams[1]) != 0) return 101;
  int failed = 0;
  if (count > 1 && std::strcmp(words[1], "race") == 0)
    failed = Race(streams[0], streams[1]);
  else
    failed = Threads(streams);
  for (aclrtStream stream : streams) failed += aclrtDestroyStream(stream) != 0;
  failed += aclrtResetDevice(0) != 0 || aclFinalize() != 0;
  std::printf("%d failed\\n", failed);
  return failed == 0 ? 0 : 1;
}
"""
# A call writes its result on one stream while another stream copies it, and no event orders the two.
_RACE = """
int Race(aclrtStream a, aclrtStream b) {
  DeviceTensor x, y;
  if (Upload(Array<double>({6, 64}, 1.0), {6, 64}, ACL_FLOAT, ACL_FORMAT_ND, x) != 0) return 1;
  if (Upload(Array<double>({6, 64}, 1.0), {6, 64}, ACL_FLOAT, ACL_FORMAT_ND, y) != 0) return 1;
  uint64_t size = 0;
  aclOpExecutor *executor = nullptr;
  void *workspace = nullptr;
  if (aclnnSoftmaxGetWorkspaceSize(x.tensor, y.tensor, &size, &executor) != 0) return 1;
  if (aclrtMalloc(&workspace, size, ACL_MEM_MALLOC_HUGE_FIRST) != 0) return 1;
  std::vector<char> host(y.bytes);
  if (aclnnSoftmax(workspace, size, executor, a) != 0) return 1;
  if (aclrtMemcpyAsync(host.data(), host.size(), y.data, y.bytes, ACL_MEMCPY_DEVICE_TO_HOST, b) != 0) return 1;
  const int waited = aclrtSynchronizeStream(a) != 0 || aclrtSynchronizeStream(b) != 0;
  Release(x);
  Release(y);
  return waited + (aclrtFree(workspace) != 0);
}
"""


def _caller(name: str) -> str:
    """An operator's host code and its example, whose inputs then differ from thread to thread."""
    host = [p for part in ("op_api", "op_host") for p in sorted((folder(name) / part).glob("*.cpp"))]
    example = (folder(name) / "examples" / f"test_aclnn_{snake(name)}.cpp").read_text(encoding="utf-8")
    assert _SEEDED in example
    salted = example.replace(_SEEDED, "std::mt19937 generator(seed + salt);").replace("int main()", "[[maybe_unused]] static int Alone()")
    lines = [*(f'#include "{p}"' for p in host), "#include <cstdint>", "#undef CHECK_RET", "extern thread_local uint32_t salt;", salted]
    run = f"int Run{name}(aclrtStream stream) {{ return Run(stream); }}"
    return "\n".join([*lines, run, _RACE if name == OPERATORS[0] else ""])


@cache
def program() -> Path:
    """The program beside its kernels, all of it under ThreadSanitizer."""
    chip = product(PRODUCT)
    builder = _Builder(default_cache(), (chip,), "thread", True)
    with alone():
        defines = [f'-DTWIN_PRODUCTS="{builder.table}"']
        objects = [builder.unit(_ACL / f"{n}.cpp", (), defines if n == "device" else ()) for n in (*_RUNTIME, *_INTERFACE)]
        for name in OPERATORS:
            folders = [folder(name) / part for part in ("op_api", "op_host", "op_kernel")]
            objects.append(builder.unit(written(f"threads_{snake(name)}.cpp", _caller(name)), folders))
        declared = "".join(f"int Run{n}(aclrtStream stream);\n" for n in OPERATORS) + "int Race(aclrtStream a, aclrtStream b);\n"
        main = _MAIN.replace("@DECLARED@", declared).replace("@NAMES@", ", ".join(f"Run{n}" for n in OPERATORS))
        objects.append(builder.unit(written("threads.cpp", main)))
        link = [*map(str, objects[1:]), *builder.options, "-ldl", "-rdynamic"]
        made = compiling.build_file(objects[0], link, objects[:1], "threads", "", default_cache(), Path("threads"))
        here = place() / f"{made.name}-run"
        kernels = here / "kernels" / str(chip.arch)
        kernels.mkdir(parents=True, exist_ok=True)
        for name in OPERATORS:
            kernel = folder(name) / "op_kernel" / f"{snake(name)}.cpp"
            built = compiling.kernel_library(kernel, kernel_entry(kernel), chip.arch, {}, builder.cache, True, builder.options)
            shutil.copy(built, kernels / f"{name}.so")
        shutil.copy(made, here / "threads")
        return here / "threads"


def run(*words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "TSAN_OPTIONS": "halt_on_error=1", "OPWRIGHT_LEAKS": "fail"}
    return subprocess.run([str(program()), *words], env=env, capture_output=True, text=True, check=False, timeout=300)


def test_eight_threads_on_two_streams_get_right_results_from_different_operators() -> None:
    done = run()
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    assert done.stdout.endswith("0 failed\n")
    assert done.stdout.count(" elements agree") >= 8 * len(OPERATORS)


def test_a_race_between_streams_is_found() -> None:
    """The check above can fail: what a call writes is copied by another stream without an event between them."""
    done = run("race")
    assert done.returncode != 0
    assert "ThreadSanitizer: data race" in done.stderr
