"""Characterises a trace as A Year in LLM Serving (arXiv 2608.13573) does: in one pass, with bounded memory."""
