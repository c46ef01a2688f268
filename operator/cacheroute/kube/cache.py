"""A dict fed by watch events and healed by lists."""

from collections.abc import Hashable, Mapping
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class WatchCache(Generic[K, V]):
    """Objects by key. A list may be older than events that came while it was read: those events win."""

    def __init__(self) -> None:
        self._objects: dict[K, V] = {}
        self._touched: set[K] | None = None

    @property
    def objects(self) -> Mapping[K, V]:
        """What is known now."""
        return self._objects

    def put(self, key: K, value: V) -> bool:
        """Take an added or changed object; tells whether that is news."""
        self._touch(key)
        news = self._objects.get(key) != value
        self._objects[key] = value
        return news

    def remove(self, key: K) -> bool:
        """Take a deletion; tells whether that is news."""
        self._touch(key)
        return self._objects.pop(key, None) is not None

    def begin_list(self) -> None:
        """Say that a list is being read; a list that failed is simply begun again."""
        self._touched = set()

    def end_list(self, listed: Mapping[K, V]) -> bool:
        """Replace everything but what events told since ``begin_list``; tells whether that is news."""
        touched, self._touched = self._touched or set(), None
        kept = {key: value for key, value in self._objects.items() if key in touched}
        fresh = {key: value for key, value in listed.items() if key not in touched} | kept
        news = fresh != self._objects
        self._objects = fresh
        return news

    def _touch(self, key: K) -> None:
        if self._touched is not None:
            self._touched.add(key)
