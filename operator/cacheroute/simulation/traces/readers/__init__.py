"""Files of requests: each reader yields checked parts of bounded size; every complaint names file, row and column."""
