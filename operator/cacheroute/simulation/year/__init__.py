"""The caching and routing figures of A Year in LLM Serving (arXiv 2608.13573) on made-up traces with its statistics."""
