"""The seats that route tables name which proxies still have: their endpoints must suit them until they are replaced."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from cacheroute.domain.spec import PlanRef
from cacheroute.domain.table import RoutingTable, TableGroup

_MOST = 8
"""Versions remembered; a proxy that is behind by more has been stuck for many intervals."""
_Choices = Mapping[PlanRef, tuple[TableGroup, ...]]
"""Of each plan the groups without their keys, each once."""


@dataclass(slots=True)
class RouteHistory:
    """For one gateway: version of a route table → what its groups choose from, without their keys."""

    _choices: dict[str, _Choices] = field(default_factory=dict)

    def add(self, version: str, choices: _Choices, in_use: Collection[str]) -> None:
        """Note what the groups of a version choose from, and forget versions that no proxy uses."""
        kept = [(one, choices) for one, choices in self._choices.items() if one in in_use and one != version]
        self._choices = dict(kept[-(_MOST - 1) :])
        self._choices[version] = choices

    def former(
        self, tables: Sequence[RoutingTable], choices: _Choices, in_use: Collection[str]
    ) -> tuple[RoutingTable, ...]:
        """Return those tables that must differ, with all groups that routes in use may choose from.

        Args:
            tables: the newest.
            choices: of these tables.
            in_use: versions that proxies have.
        """
        widened = (self._widened(table, choices[table.ref], in_use) for table in tables)
        return tuple(wide for wide, table in zip(widened, tables, strict=True) if wide is not table)

    def _widened(
        self, table: RoutingTable, own: tuple[TableGroup, ...], in_use: Collection[str]
    ) -> RoutingTable:
        used = (choices.get(table.ref, ()) for version, choices in self._choices.items() if version in in_use)
        others = dict.fromkeys(group for groups in used if groups != own for group in groups)
        known = frozenset(own) if others else ()
        more = [group for group in others if group not in known]
        return replace(table, groups=(*table.groups, *more)) if more else table
