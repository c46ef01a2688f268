"""The driver: feeds observations to the pure step and carries out what it decides."""
