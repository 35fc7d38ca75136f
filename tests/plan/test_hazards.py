"""Where barriers go: before every dependent vector instruction, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator

from generator.plan.hazards import insert_barriers
from generator.plan.tree import Access, Alloc, Barrier, Call, Cond, If, Loop, Node
from generator.spec.integer import IntExpr, const, sym


def whole(tensor: str) -> Access:
    return Access(tensor, tensor, (None,))


def row(tensor: str, index: IntExpr | int) -> Access:
    return Access(tensor, tensor, (index if isinstance(index, IntExpr) else const(index),))


def op(writes: Access, *reads: Access) -> Call:
    return Call("Add", (), "V", (), None, reads, (writes,))


def loop(var: str, *body: Node) -> Loop:
    return Loop(var, const(0), sym("n"), const(1), body)


def shape(nodes: tuple[Node, ...]) -> list[object]:
    """The tree with barriers as "|" and calls as the tensor they write."""
    out: list[object] = []
    for n in nodes:
        if isinstance(n, Barrier):
            out.append("|")
        elif isinstance(n, Call):
            out.append(n.writes[0].tensor)
        elif isinstance(n, Loop):
            out.append(shape(n.body))
        elif isinstance(n, If):
            out.append((shape(n.then), shape(n.orelse)))
    return out


def barriers(*nodes: Node) -> list[object]:
    return shape(insert_barriers(nodes))


def test_independent_instructions_need_none() -> None:
    assert barriers(op(whole("a"), whole("x")), op(whole("b"), whole("x"))) == ["a", "b"]


def test_read_after_write_write_after_read_and_write_after_write_each_need_one() -> None:
    assert barriers(op(whole("a"), whole("x")), op(whole("b"), whole("a"))) == ["a", "|", "b"]
    assert barriers(op(whole("a"), whole("x")), op(whole("x"))) == ["a", "|", "x"]
    assert barriers(op(whole("a")), op(whole("a"))) == ["a", "|", "a"]


def test_one_barrier_serves_all_that_wait_for_it() -> None:
    assert barriers(op(whole("a")), op(whole("b")), op(whole("c"), whole("a")), op(whole("d"), whole("b"))) == ["a", "b", "|", "c", "d"]


def test_rows_indexed_by_the_loop_variable_are_independent_over_its_turns() -> None:
    assert barriers(loop("i", op(row("a", sym("i")), row("x", sym("i"))))) == [["a"]]


def test_an_accumulator_waits_for_the_turn_before() -> None:
    assert barriers(loop("i", op(whole("acc"), whole("acc"), row("x", sym("i"))))) == [["|", "acc"]]


def test_a_loop_that_starts_with_its_own_barrier_needs_none_before_it() -> None:
    assert barriers(op(whole("acc")), loop("i", op(whole("acc"), whole("acc")))) == ["acc", ["|", "acc"]]


def test_a_loop_over_disjoint_rows_of_what_was_just_written_waits_once_before_it() -> None:
    assert barriers(op(whole("x")), loop("i", op(row("a", sym("i")), row("x", sym("i"))))) == ["x", "|", ["a"]]


def test_rows_are_not_disjoint_between_two_loops_with_one_variable_name() -> None:
    first = loop("i", op(row("a", sym("i"))))
    second = loop("i", op(row("b", sym("i")), row("a", sym("i"))))
    assert barriers(first, second) == [["a"], "|", ["b"]]


def test_a_shifted_row_is_another_row_in_one_turn_but_not_over_turns() -> None:
    assert barriers(op(row("a", sym("k"))), op(row("b", 0), row("a", sym("k") + 1))) == ["a", "b"]
    assert barriers(loop("i", op(row("a", sym("i") + 1), row("a", sym("i"))))) == [["|", "a"]]


def test_rows_fixed_over_the_turns_of_a_loop_meet_again() -> None:
    assert barriers(loop("i", op(row("a", sym("j")), row("x", sym("i"))))) == [["|", "a"]]


def test_a_fresh_queue_buffer_has_no_past() -> None:
    assert barriers(op(whole("q")), Alloc("queue", "q", "float"), op(whole("q"))) == ["q", "q"]


def test_after_a_branch_both_of_its_sides_are_remembered() -> None:
    choice = If((Cond("<", sym("n"), const(4)),), (op(whole("a")),), (op(whole("b")),))
    assert barriers(choice, op(whole("c"), whole("b"))) == [(["a"], ["b"]), "|", "c"]


def test_nested_loops_keep_rows_of_the_inner_one_apart_within_one_turn_of_the_outer() -> None:
    body = loop("i", op(row("acc", sym("i")), row("acc", sym("i")), row("x", sym("i"))))
    assert barriers(loop("j", body)) == [["|", ["acc"]]]


def test_every_dependence_of_a_random_straight_line_program_is_ordered() -> None:
    import random

    rng = random.Random(3)
    for _ in range(300):
        nodes = [op(whole(rng.choice("abcd")), *(whole(rng.choice("abcd")) for _ in range(rng.randint(0, 2)))) for _ in range(8)]
        done = insert_barriers(tuple(nodes))
        assert _ordered(done)
        for k, n in enumerate(done):  # each barrier is needed
            if isinstance(n, Barrier):
                assert not _ordered(done[:k] + done[k + 1 :])


def _ordered(nodes: tuple[Node, ...]) -> bool:
    since: list[Call] = []
    for n in nodes:
        if isinstance(n, Barrier):
            since.clear()
            continue
        assert isinstance(n, Call)
        if any(set(_touch(o)[1]) & (set(_touch(n)[0]) | set(_touch(n)[1])) or set(_touch(o)[0]) & set(_touch(n)[1]) for o in since):
            return False
        since.append(n)
    return True


def _touch(c: Call) -> tuple[list[str], list[str]]:
    def names(accesses: tuple[Access, ...]) -> Iterator[str]:
        return (a.tensor for a in accesses)

    return list(names(c.reads)), list(names(c.writes))
