"""Settings of all pure tests."""

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
"""No test is a timed one: on a busy machine an example may take as long as it will."""
