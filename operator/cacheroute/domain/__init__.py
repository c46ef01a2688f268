"""The words of the product as values, and the pure step that decides: no I/O, no clock, no randomness."""
