"""Cases derived from a spec, run on the twin and judged by the reference."""
