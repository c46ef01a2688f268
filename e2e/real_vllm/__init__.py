"""Real vLLM on a CPU: what the gateway and the simulated engine are compared with. Optional (`make e2e-vllm`)."""
