"""Made-up traffic: keys with skewed rates whose prompts share what the paper's do; drift, whales and bursts."""
