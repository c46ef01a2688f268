"""What can go wrong before a test begins."""


class HarnessError(Exception):
    """The cluster, an image or a program failed; the message says which, where its log is, and what to do."""


class CannotRunError(HarnessError):
    """This machine lacks something the suite needs; the message names it and how to get it."""


class ServiceEndedError(HarnessError):
    """A service of a machine ended, so waiting for it is in vain; the message carries the end of its log."""
