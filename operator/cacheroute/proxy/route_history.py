"""The seats that route tables name which proxies still have: their endpoints must suit them until they are replaced."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from cacheroute.domain.spec import PlanRef
from cacheroute.domain.table import RoutingTable, TableGroup

_MOST = 8
"""Versions remembered; a proxy that is behind by more has been stuck for many intervals."""
_Choices = dict[PlanRef, tuple[TableGroup, ...]]


@dataclass(slots=True)
class RouteHistory:
    """For one gateway: version of a route table → what its groups choose from, without their keys."""

    _choices: dict[str, _Choices] = field(default_factory=dict)

    def add(self, version: str, tables: Sequence[RoutingTable], in_use: Collection[str]) -> None:
        """Note the tables that a version was made of, and forget versions that no proxy uses."""
        kept = [(one, choices) for one, choices in self._choices.items() if one in in_use and one != version]
        self._choices = dict(kept[-(_MOST - 1) :])
        self._choices[version] = {table.ref: _without_keys(table.groups) for table in tables}

    def former(self, tables: Sequence[RoutingTable], in_use: Collection[str]) -> tuple[RoutingTable, ...]:
        """Return those tables that must differ, with all groups that routes in use may choose from."""
        widened = (self._widened(table, in_use) for table in tables)
        return tuple(wide for wide, table in zip(widened, tables, strict=True) if wide is not table)

    def _widened(self, table: RoutingTable, in_use: Collection[str]) -> RoutingTable:
        own = set(_without_keys(table.groups))
        used = (choices.get(table.ref, ()) for version, choices in self._choices.items() if version in in_use)
        more = dict.fromkeys(group for groups in used for group in groups if group not in own)
        return replace(table, groups=(*table.groups, *more)) if more else table


def _without_keys(groups: Sequence[TableGroup]) -> tuple[TableGroup, ...]:
    return tuple(dict.fromkeys(replace(group, keys=()) for group in groups))
