"""One vLLM engine in virtual time: prefix cache, continuous batching, step times. Deterministic and free of I/O."""
