"""The prover the corpus is audited with."""
PROVER = None
