"""A simulated vLLM server: the OpenAI API and vLLM's metrics around the engine model. CPU only."""
