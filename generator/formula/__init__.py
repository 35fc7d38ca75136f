"""Formula text to index-notation IR, and back to text."""
