"""What can go wrong before a test begins."""


class HarnessError(Exception):
    """The cluster, an image or a program failed; the message says which, where its log is, and what to do."""


class CannotRunError(HarnessError):
    """This machine lacks something the suite needs; the message names it and how to get it."""
