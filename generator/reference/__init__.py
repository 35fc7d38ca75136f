"""NumPy evaluation of resolved programs and the precision standard."""
