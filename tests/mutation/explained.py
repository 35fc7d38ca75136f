"""Mutants that change nothing any launch could show, each with the reason: the reviewed list of survivors.

A rule speaks of a mutant's words, ``kind: text -> change in statement``, of some operators (all when none are named).
What survives and has no rule is a hole: in the twin's law, in the settings, or a needless line in the kernel.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.mutation.mutators import Mutant

__all__ = ["RULES", "Rule", "explain"]

_MATRIX = ("MhcSinkhorn", "MhcSinkhornBackward")  # operators on matrices of 4, 6 or 8 rows and columns


@dataclass(frozen=True, slots=True)
class Rule:
    """``pattern`` is searched for in the mutant's words."""

    pattern: str
    why: str
    operators: tuple[str, ...] = ()


RULES = (
    # --- copies ---
    Rule(
        r"^field: .* \((srcStride|dstStride)\) in .*ExtParams\(1, ",
        "the copy has one block, and a stride lies between two",
    ),
    # --- how work is shared ---
    Rule(
        r"^definition: .*Per -> \+1 ",
        "a larger share for each core: every item still belongs to one core, the last core does less",
    ),
    Rule(
        r"^definition: .*JTile -> -1 ",
        "a chunk one column narrower: any chunk up to the buffers' length walks the whole row",
    ),
    Rule(
        r"^definition: CeilDiv\((s0\w+Tile_|rstdBTile_), (8|16)\) -> \+1 ",
        "only lengths of buffers depend on it, which become longer than they need be",
    ),
    # --- rounds of instruction limits ---
    Rule(
        r"^loop: (RoundUp\(.*, (8|16)\)|ceil\w+ \* (8|16)|\w+Pitch\d*|CeilDiv\(.*\) \* 2) -> -1 .*\+= (64|248|255)\) \{",
        "the bound is a multiple of 8, or of 2, and the step leaves no remainder of one: the same rounds",
    ),
    Rule(
        r"^loop: (RoundUp\(.*, (8|16)\)|ceil\w+ \* (8|16)|\w+Pitch\d*|D_|jCount) -> \+1  ?in .*\+= 64\) \{",
        "one more round where the bound is a multiple of 64, whose instruction has no lane: mask 0 is legal and does nothing",
    ),
    Rule(
        r"^(loop|limit): .*(strip\d* < CeilDiv\(|part\d*\[strip\d* \* 64\], MinOf\(255)",
        "one round for up to 2040 rows, whose accumulators of 256 bytes a row do not fit any unified buffer",
        ("RmsNorm",),
    ),
    Rule(
        r"^(loop|limit): .*(block\d* < (CeilDiv|ceil)|spread\d*\[block\d* \* 64\].*MinOf\(255)",
        "one round for up to 2040 rows: no tile has as many, because the accumulators of 256 bytes a row fill the buffer first",
        ("RmsNorm",),
    ),
    Rule(
        r"^(loop|limit): .*(start\d* < |MinOf\(255, .* - start\d*\))",
        "one round for rows of up to 16320 elements, which no unified buffer holds beside the other tiles",
        ("RmsNorm",),
    ),
    Rule(
        r"^(loop|limit): (?!tCount -> -1).*"
        r"((block|first)\d* < tCount|spread\d*\[block\d* \* 64\].*MinOf\(255|MinOf\(255, tCount - first|\+= 4095|MinOf\(4095)",
        "one round for up to 255 matrices (4095 rows) in a tile: no unified buffer holds as many beside the other tiles",
        _MATRIX,
    ),
    Rule(
        r"^loop: D_ -> \+1 .*jStart1 < .*\+= rstdJTile_\)",
        "one more chunk, without columns, where the chunk divides the row: its copies move nothing and its loops have no turn",
        ("RmsNorm",),
    ),
    # --- branches ---
    Rule(
        r"^condition: 2040 -> ",
        "pitches are multiples of 8, so the limit moves past none but 2040, where both branches are right",
    ),
    Rule(
        r"^condition: \w+ \* 64 -> ",
        "rows as repeats or one after another: either is right, and only the number of instructions differs",
    ),
    Rule(
        r"^condition: 0 -> -1 .*\* 64 > 0\)",
        "where no column remains, an instruction with mask 0, which is legal and does nothing",
    ),
    Rule(
        r"^condition: 0 -> \+1 .*(Pitch\d*|\* 8|\* 16) - .*\* 64 > 0\)",
        "what remains of a pitch is a multiple of 8: never one",
    ),
    # --- strides that nothing uses ---
    Rule(
        r"^field: .*RepStride\) in .*, 1, AscendC::BinaryRepeatParams\(",
        "the instruction has one repeat, and the stride lies between two",
    ),
    Rule(
        r"^count: (8|1) -> .1 \(BlockReduce\w+ (4|6)\) in .*(\[\w+ \* 8\], part\d*|part\d*), 1, 64, 1, 1, 8\)",
        "the instruction has one repeat, and the stride lies between two",
        _MATRIX,
    ),
    Rule(
        r"^field: .*BlkStride\) in .*, (n_|8), (n_|MinOf\(255, tCount - first\d*\)), AscendC::BinaryRepeatParams\(",
        "the lanes of a repeat are those of one block, and the stride lies between two",
        _MATRIX,
    ),
    # --- lanes that hold the neutral element ---
    Rule(
        r"^(offset: acc\d* -> \[8\]|field: 8 -> .1 \((dst|src1)RepStride\)) .*in \S+(Max|Add)\(acc\d*, .*, n_, n_, .*\(1, 1, 1, 8, 1, 8\)",
        "a row's values still meet only neutral elements among its own 64 lanes: up to 8 rows of one block",
        _MATRIX,
    ),
    Rule(
        r"^count: (64 -> -1 \(BlockReduce\w+ 3\)|8 -> -1 \(BlockReduce\w+ 6\)|1 -> -1 \(BlockReduceMax 5\)) in .*\(part\d*, acc\d*, 8, ",
        "the lanes left out, or read from the row before, hold the neutral element: up to 8 rows of one block",
        _MATRIX,
    ),
    Rule(
        r"^count: 64 -> -1 \(BlockReduce\w+ 3\) in .*\[t \* 8\], part\d*, 1, 64, ",
        "the lane left out belongs to the last block's padding: a row has one block of values and seven neutral ones",
        _MATRIX,
    ),
    Rule(
        r"^count: 512 -> -1 \(Duplicate 2\)",
        "the last lane of the buffer already holds the neutral element from its earlier use",
        _MATRIX,
    ),
    # --- the division of positions by a matrix's size ---
    Rule(
        r"^round mode: \S*CAST_RINT -> CAST_(CEIL|FLOOR|NONE|TRUNC) in AscendC::Cast\(quotient, position,",
        "positions are below 2^24, exact in float32 in every mode",
        _MATRIX,
    ),
    Rule(
        r"^(dropped call|count): .* in AscendC::Adds\(quotient, quotient, 0\.5f,",
        "one half keeps quotients off the integers; 1/16, 1/36 and 1/64 round to no less than themselves, so they need not be kept off",
        _MATRIX,
    ),
    Rule(
        r"^round mode: \S*CAST_FLOOR -> CAST_TRUNC in AscendC::Cast\(part\d*, quotient,",
        "the quotient is not negative",
        _MATRIX,
    ),
    # --- rounding of outputs ---
    Rule(
        r"^round mode: \S*CAST_RINT -> CAST_(CEIL|FLOOR|TRUNC) in AscendC::Cast\(\w+Out\d*, ",
        "rounding the wrong way errs by up to one unit in the last place, which rule (a) of the precision standard allows",
        ("RmsNorm",),
    ),
    # --- buffers that start as zeros ---
    Rule(
        r"^(dropped call|scalar|count): .* in AscendC::Duplicate<float>\(calc\d+Zero, 0\.0f,",
        "every buffer of a stage with padded rows starts as zeros; what is read from this one was written before, or pads a row",
        ("RmsNorm",),
    ),
)


def explain(operator: str, mutant: Mutant) -> Rule | None:
    """The rule that says why this mutant may live."""
    words = f"{mutant.kind}: {mutant.text} -> {mutant.change} in {mutant.statement}"
    for rule in RULES:
        if (not rule.operators or operator in rule.operators) and re.search(rule.pattern, words):
            return rule
    return None
