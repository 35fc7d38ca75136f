"""The fixed words of documents, in Chinese and English, in the form operator documents have."""

from __future__ import annotations

from typing import Final, Literal

__all__ = ["IO", "LANGUAGES", "PRODUCTS", "WORDS", "Lang"]

Lang = Literal["zh", "en"]
LANGUAGES: Final[tuple[Lang, ...]] = ("zh", "en")

PRODUCTS: Final[dict[str, dict[Lang, str]]] = {
    "Ascend910B": {"zh": "Atlas A2 训练系列产品/Atlas A2 推理系列产品", "en": "Atlas A2 training and inference products"},
    "Ascend910_93": {"zh": "Atlas A3 训练系列产品/Atlas A3 推理系列产品", "en": "Atlas A3 training and inference products"},
    "Ascend950": {"zh": "Ascend 950PR/Ascend 950DT", "en": "Ascend 950PR/Ascend 950DT"},
}
"""Product of a spec -> its name in documents."""

IO: Final[dict[str, dict[Lang, str]]] = {
    "in": {"zh": "输入", "en": "input"},
    "out": {"zh": "输出", "en": "output"},
    "inout": {"zh": "输入/输出", "en": "input/output"},
    "attr": {"zh": "输入", "en": "input"},
}
"""Direction of a parameter in the aclnn call; attributes are inputs of it."""

WORDS: Final[dict[str, dict[Lang, str]]] = {
    "products": {"zh": "产品支持情况", "en": "Supported products"},
    "product_columns": {"zh": "产品 | 是否支持", "en": "Product | Supported"},
    "function": {"zh": "功能说明", "en": "Function"},
    "purpose": {"zh": "接口功能：", "en": "Purpose: "},
    "formula": {"zh": "计算公式：", "en": "Formula:"},
    "symbols": {"zh": "其中{list}。", "en": "Here {list}."},
    "symbol": {"zh": "${symbol}$对应参数{name}", "en": "${symbol}$ is the parameter {name}"},
    "ranges": {
        "zh": "等号左边的下标逐一取遍该维；求和等运算的下标取遍所在张量的该维；循环按给出的顺序逐步执行，同名变量的新值覆盖旧值。",
        "en": "Indices on the left of an equation take every value of their dimension; the indices of a sum (maximum, mean) every value of "
        "the dimension they index; loops run in the order given, and a new value of a name replaces the old one.",
    },
    "merged": {
        "zh": "$(i, d)$形式的下标表示按行优先合并的一维。",
        "en": "An index of the form $(i, d)$ is one dimension, merged row-major.",
    },
    "packs": {
        "zh": "粗体下标$\\mathbf{{{pack}}}$代表前面的零个或多个维度。",
        "en": "The bold index $\\mathbf{{{pack}}}$ stands for zero or more leading dimensions.",
    },
    "segments": {"zh": "${axis}$轴由{list}依次拼接而成。", "en": "The axis ${axis}$ is the concatenation of {list}, in this order."},
    "outside": {
        "zh": "下标超出{name}范围的元素按{value}计。",
        "en": "Where an index leaves {name}, the element counts as {value}.",
    },
    "compute": {
        "zh": "中间结果以{dtype}计算，每个输出只在写出时舍入一次。",
        "en": "Intermediate results are computed in {dtype}; every output is rounded once, when it is stored.",
    },
    "hf32": {
        "zh": "{attr}为{values}时，FLOAT乘积之和在矩阵计算单元上可以HF32计算（尾数位数接近FLOAT16），以FLOAT累加；"
        "取其他值时均以FLOAT计算。",
        "en": "Where {attr} is {values}, sums of FLOAT products may be computed in HF32 on the cube (about as many bits of mantissa as "
        "FLOAT16), added in FLOAT; at other values they are computed in FLOAT.",
    },
    "verdict": {
        "zh": "经公式审计，{names}的上述公式{level}，与正向算子{forward}的梯度一致。",
        "en": "The audit of the formulas of {names} says that they are the gradients of {forward}, {level}.",
    },
    "PROVED": {"zh": "对所有尺寸、属性和输入均已证明（PROVED）", "en": "proved for all sizes, attributes and inputs (PROVED)"},
    "EXACT": {"zh": "在所列尺寸上为恒等式（EXACT）", "en": "identities at the sizes tried (EXACT)"},
    "NUMERIC": {"zh": "在随机点上以50位精度验证（NUMERIC）", "en": "to 50 digits at random points (NUMERIC)"},
    "prototype": {"zh": "函数原型", "en": "Prototype"},
    "phases": {
        "zh": "每个算子分为两段式接口，必须先调用“{first}”接口获取计算所需workspace大小以及包含了算子计算流程的执行器，"
        "再调用“{second}”接口执行计算。",
        "en": "An operator is called in two phases: first “{first}”, which gives the size of the workspace and the executor that holds the "
        "computation, then “{second}”, which runs it.",
    },
    "parameters": {"zh": "参数说明：", "en": "Parameters:"},
    "columns": {
        "zh": "参数名 | 输入/输出 | 描述 | 使用说明 | 数据类型 | 数据格式 | 维度(shape) | 非连续Tensor",
        "en": "Parameter | Input/output | Description | Usage | Data type | Format | Shape | Non-contiguous",
    },
    "run_columns": {"zh": "参数名 | 输入/输出 | 描述", "en": "Parameter | Input/output | Description"},
    "returns": {"zh": "返回值：", "en": "Return value:"},
    "status": {"zh": "aclnnStatus：返回状态码。", "en": "aclnnStatus: a status code."},
    "first_checks": {
        "zh": "第一段接口完成入参校验，出现以下场景时报错：",
        "en": "The first phase checks its arguments and reports:",
    },
    "code_columns": {"zh": "返回值 | 错误码 | 描述", "en": "Return value | Code | Condition"},
    "constraints": {"zh": "约束说明", "en": "Constraints"},
    "example": {"zh": "调用示例", "en": "Example"},
    "example_text": {
        "zh": "完整的示例代码见[{name}](../examples/{name})：构造输入，通过两段式接口执行算子，"
        "并将每个输出与程序中按公式以double计算的结果比较。编译和运行：",
        "en": "A complete program is [{name}](../examples/{name}): it makes inputs, runs the operator through both phases and compares "
        "every output with the formula, computed in double in the program itself. To compile and run it:",
    },
    # usage notes
    "optional_in": {"zh": "可选，可传入空指针，此时视为全{value}", "en": "optional; a null pointer stands for {value} in every element"},
    "optional": {"zh": "可选，可传入空指针", "en": "optional; may be a null pointer"},
    "optional_out": {"zh": "可选，传入空指针时不输出", "en": "optional; with a null pointer it is not computed"},
    "optional_when": {"zh": "仅当`{when}`时可传入空指针", "en": "may be a null pointer only when `{when}`"},
    "group": {"zh": "与{others}同时传入或同时为空指针", "en": "given together with {others} or not at all"},
    "flat": {
        "zh": "一维缓存，元素({axes})位于{place}，其余元素不读写",
        "en": "a flat buffer: element ({axes}) stands at {place}; the rest is neither read nor written",
    },
    "same_dtype": {"zh": "数据类型与{other}一致", "en": "same data type as {other}"},
    "alias": {"zh": "原地更新", "en": "updated in place"},
    "default": {"zh": "建议值{value}", "en": "usually {value}"},
    "range": {"zh": "取值满足`{where}`", "en": "must satisfy `{where}`"},
    "sizes": {"zh": "其中：", "en": "Sizes:"},
    "product_of": {"zh": "{dim} = {factors}", "en": "{dim} = {factors}"},
    "leading": {"zh": "`...`为零个或多个维度，各参数一致", "en": "`...` is zero or more dimensions, the same in every parameter"},
    "workspace": {"zh": "在Device侧申请的workspace内存地址", "en": "address of the workspace in device memory"},
    "workspace_size_out": {"zh": "返回需要在Device侧申请的workspace大小", "en": "size in bytes of the workspace to allocate on the device"},
    "executor_out": {"zh": "返回op执行器，包含了算子计算流程", "en": "the executor, which holds the computation"},
    "workspace_size": {
        "zh": "在Device侧申请的workspace大小，由第一段接口{first}获取",
        "en": "size of the workspace, as {first} gave it",
    },
    "executor": {"zh": "op执行器，包含了算子计算流程", "en": "the executor of the first phase"},
    "stream": {"zh": "指定执行任务的Stream", "en": "the stream to run on"},
    # return codes
    "null": {"zh": "传入的{names}是空指针", "en": "{names} is a null pointer"},
    "null_when": {"zh": "传入的{name}是空指针，且`{when}`不成立", "en": "{name} is a null pointer and `{when}` does not hold"},
    "dtype": {
        "zh": "{names}的数据类型不在支持的范围之内，或组合不是下列之一：{list}",
        "en": "the data type of {names} is not supported, or the combination is none of: {list}",
    },
    "dtype_one": {
        "zh": "{names}的数据类型不在支持的范围之内",
        "en": "the data type of {names} is not supported",
    },
    "rank": {"zh": "{names}的维度数不在支持的范围之内", "en": "the number of dimensions of {names} is not supported"},
    "agree": {"zh": "各参数的shape中{dims}的取值不一致", "en": "{dims} in the shapes of the parameters do not agree"},
    "form": {"zh": "{names}的维度形式不一致", "en": "{names} do not all have the same form of shape"},
    "count": {"zh": "{name}的元素个数不等于{size}", "en": "the number of elements of {name} is not {size}"},
    "holds": {"zh": "`{that}`不成立", "en": "`{that}` does not hold"},
    "group_code": {"zh": "{names}未同时传入或同时为空指针", "en": "some but not all of {names} are null pointers"},
    "format": {"zh": "{names}的数据格式不在支持的范围之内", "en": "the format of {names} is not supported"},
    "empty_refused": {"zh": "{names}为空Tensor", "en": "{names} has no elements"},
    "strided_refused": {"zh": "{names}为非连续Tensor", "en": "{names} is not contiguous"},
    "product": {"zh": "当前产品不在支持的范围之内", "en": "the product is not supported"},
    "inner": {
        "zh": "API内部错误：创建中间Tensor或计算切分失败，或未找到kernel",
        "en": "inner error: an intermediate tensor or tiling failed, or no kernel was found",
    },
    # constraints
    "deterministic": {"zh": "确定性计算：", "en": "Determinism: "},
    "always": {"zh": "{api}默认采用确定性实现。", "en": "{api} is deterministic."},
    "when_asked": {
        "zh": "{api}默认非确定性实现，支持通过aclrtCtxSetSysParamOpt开启确定性。",
        "en": "{api} is not deterministic by default; aclrtCtxSetSysParamOpt makes it so.",
    },
    "never": {"zh": "{api}为非确定性实现。", "en": "{api} is not deterministic."},
    "limits": {"zh": "规格约束：", "en": "Limits:"},
    "empty": {"zh": "空Tensor：", "en": "Empty tensors: "},
    "empty_success": {
        "zh": "输入为空且没有需要计算的输出元素时返回成功，workspace大小为0。",
        "en": "when inputs are empty and no output has elements, the call succeeds with a workspace of 0.",
    },
    "empty_refuse": {"zh": "不支持空Tensor，返回161002。", "en": "refused with 161002."},
    "empty_compute": {"zh": "支持，按公式计算。", "en": "allowed; the formula is computed."},
    "boundary": {"zh": "边界点：{list}。", "en": "Boundary points: {list}."},
    "note": {"zh": "说明：", "en": "Notes:"},
    "and": {"zh": "、", "en": ", "},
    "or": {"zh": "或", "en": " or "},
    "colon": {"zh": "：", "en": ": "},
    "comma": {"zh": "，", "en": ", "},
    "stop": {"zh": "；", "en": "; "},
    "yes": {"zh": "√", "en": "yes"},
    "no": {"zh": "×", "en": "no"},
}
"""Key -> text in each language, with named places."""
