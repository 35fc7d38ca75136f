"""opwright: declarative operator specs to complete, verified Ascend operators."""

__version__ = "0.1.0"
