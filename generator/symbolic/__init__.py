"""Symbolic work on formulas: the only folder that imports SymPy."""
