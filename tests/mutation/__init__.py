"""Mutation test: faults planted one at a time in emitted kernels, each of which the twin or the comparison must report."""
