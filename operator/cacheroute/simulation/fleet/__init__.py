"""Step-level fleets: many engines in virtual time, compiled; each does exactly what ``engine_model`` does."""
