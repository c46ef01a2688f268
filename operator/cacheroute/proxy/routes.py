"""The route table: keys grouped by choice, cold tails, and clear answers for all the rest."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence

from envoy.config.core.v3 import base_pb2
from envoy.config.route.v3 import route_components_pb2, route_pb2
from envoy.type.v3 import percent_pb2
from google.protobuf import duration_pb2, struct_pb2

from cacheroute.domain.keys import KeySource, KeySourceKind, canonical_key
from cacheroute.domain.spec import ANY_MODEL, PlanRef
from cacheroute.domain.table import Arm, RoutingTable, TableGroup
from cacheroute.proxy import names
from cacheroute.proxy.clusters import DESTINATION, HOST_METADATA, SET
from cacheroute.proxy.telemetry import (
    DECISION,
    DECISION_HEADER,
    DESTINATION_HEADER,
    EXPLAINED_VERSION,
    PLAN_HEADER,
)

MODEL_FIELD = "model"
MODELS_PATH = "/v1/models"

_ALL = 100
_DIGEST_DIGITS = 16

_SOURCE_FIELDS = {
    KeySourceKind.HEADER: "header",
    KeySourceKind.COOKIE: "cookie",
    KeySourceKind.BODY_FIELD: "field",
    KeySourceKind.JWT_CLAIM: "claim",
    KeySourceKind.CLIENT_CERTIFICATE: "certificate",
}
"""What the Lua script calls each kind of source."""

_Virtual = route_components_pb2.VirtualHost
_Fields = dict[str, struct_pb2.Value]


def common_routes(first: RoutingTable | None) -> route_pb2.RouteConfiguration:
    """Return the route table of one gateway without the entrance and the virtual hosts of its plans.

    Headers that explain are only ours: an engine's own are removed first, for one without a value is not added.

    Args:
        first: of the gateway's tables, None where it has no plan.
    """
    explaining = {
        DESTINATION_HEADER: f"%UPSTREAM_METADATA({HOST_METADATA}:{DESTINATION})%",
        DECISION_HEADER: DECISION,
        PLAN_HEADER: f"%METADATA(ROUTE:{names.NAMESPACE}:{EXPLAINED_VERSION})%",
    }
    return route_pb2.RouteConfiguration(
        name=names.ROUTES,
        vhost_header=names.KEY_HEADER,
        virtual_hosts=[_no_model(first)],
        request_headers_to_remove=[names.KEY_HEADER],
        response_headers_to_remove=explaining,
        response_headers_to_add=[_header(name, value) for name, value in explaining.items()],
    )


def entrance(tables: Sequence[RoutingTable]) -> route_components_pb2.VirtualHost:
    """Return where every request starts: it tells the Lua script what this gateway's plans are.

    The script converts that once for each ``digest``: crossings between Envoy and Lua are what a request costs.

    Args:
        tables: of all plans, at most one for each model; where two claim a model the first one has it.
    """
    plans = struct_pb2.Struct(fields=_plans(tables))
    digest = hashlib.sha256(plans.SerializeToString(deterministic=True)).hexdigest()[:_DIGEST_DIGITS]
    return _Virtual(
        name="unknown-model",
        domains=[names.ANYTHING],
        metadata=_metadata({"digest": _text(digest), "gateway": struct_pb2.Value(struct_value=plans)}),
        routes=[
            _answer(404, "No such model: no RoutingPlan on this gateway serves the model of this request.")
        ],
    )


def _plans(tables: Sequence[RoutingTable]) -> _Fields:
    """Return every plan, which models it has, and which body fields any of them looks at.

    ``unnamed``: the plan of requests without a model. ``only``: of every request, whatever its model.
    """
    fields = {MODEL_FIELD, *(field for table in tables for field in _body_fields(table))}
    unnamed = _unnamed(tables)
    whole = {"only": _text(str(tables[0].ref))} if _serves_all(tables) else {}
    return {
        "fields": _struct({field: _true() for field in sorted(fields)}),
        "plans": _struct({str(table.ref): _plan(table) for table in tables}),
        "models": _struct({model: _text(str(ref)) for model, ref in _models(tables).items()}),
        **({"unnamed": _text(str(unnamed.ref))} if unnamed else {}),
        **whole,
    }


def _plan(table: RoutingTable) -> struct_pb2.Value:
    """Return where a plan looks for keys, and how their virtual hosts are spelled."""
    sources = struct_pb2.ListValue(values=[_source(source) for source in table.key_sources])
    return _struct(
        {
            "prefix": _text(names.key_prefix(table.ref)),
            "max_length": struct_pb2.Value(number_value=table.max_key_length),
            "sources": struct_pb2.Value(list_value=sources),
        }
    )


def _body_fields(table: RoutingTable) -> Iterator[str]:
    return (source.name for source in table.key_sources if source.kind is KeySourceKind.BODY_FIELD)


def _models(tables: Iterable[RoutingTable]) -> dict[str, PlanRef]:
    """Return which plan has each model, by the spelling of the Lua script; the first one that claims it."""
    claims = ((names.model_name(model), table.ref) for table in tables for model in table.models)
    owners: dict[str, PlanRef] = {}
    for model, ref in claims:
        owners.setdefault(model, ref)
    return dict(sorted(owners.items()))


def _unnamed(tables: Sequence[RoutingTable]) -> RoutingTable | None:
    """Return the plan for requests without a model: the one for any model, or the only plan."""
    serving = [table for table in tables if ANY_MODEL in table.models] or (tables if len(tables) == 1 else ())
    return serving[0] if serving else None


def _serves_all(tables: Sequence[RoutingTable]) -> bool:
    return len(tables) == 1 and ANY_MODEL in tables[0].models


def _no_model(first: RoutingTable | None) -> route_components_pb2.VirtualHost:
    """Return what answers requests that name no model where no plan serves them."""
    routes = [_answer(400, "The request names no model: send a JSON object with the string member 'model'.")]
    if first:
        routes.insert(0, _models_list(first))
    return _Virtual(name="no-model", domains=[names.NO_MODEL], routes=routes)


def _models_list(table: RoutingTable) -> route_components_pb2.Route:
    """Let the first plan's engines list their models, for clients that ask a gateway with several plans."""
    route = _cold_route(table)
    route.match.CopyFrom(route_components_pb2.RouteMatch(path=MODELS_PATH))
    return route


def _source(source: KeySource) -> struct_pb2.Value:
    provider = {"provider": _text(source.provider)} if source.provider else {}
    return _struct({_SOURCE_FIELDS[source.kind]: _text(source.name), **provider})


def plan_hosts(table: RoutingTable) -> Iterator[route_components_pb2.VirtualHost]:
    """Yield the virtual hosts of a plan: one for each group of keys, and one for all other keys."""
    prefix = names.key_prefix(table.ref)
    for index, (keys, routes) in enumerate(_choices(table)):
        domains = [prefix + key for key in keys if canonical_key(key, table.max_key_length) == key]
        if domains:
            yield _Virtual(name=f"{prefix}{index}", domains=domains, routes=routes)
    yield _Virtual(
        name=prefix + names.ANYTHING,
        domains=[prefix + names.ANYTHING],
        routes=[_cold_route(table)],
    )


def _choices(table: RoutingTable) -> Iterator[tuple[tuple[str, ...], list[route_components_pb2.Route]]]:
    """Yield keys with their routes: by plan, each request by lot, or for all keys together by power of two choices."""
    flat = _cold_route(table, arm=Arm.FLAT)
    if table.planned_percent == 0:
        yield tuple(key for group in table.groups for key in group.keys), [flat]
        return
    for group in table.groups:
        planned = _group_route(table, group)
        if table.planned_percent == _ALL:
            yield group.keys, [planned]
        else:
            planned.match.runtime_fraction.CopyFrom(_fraction(table.planned_percent))
            yield group.keys, [planned, flat]


def _fraction(percent: int) -> base_pb2.RuntimeFractionalPercent:
    """Return a lot that Envoy draws once for each request, by its stream's random number, and keeps for it."""
    share = percent_pb2.FractionalPercent(
        numerator=percent, denominator=percent_pb2.FractionalPercent.HUNDRED
    )
    return base_pb2.RuntimeFractionalPercent(default_value=share)


def _group_route(table: RoutingTable, group: TableGroup) -> route_components_pb2.Route:
    """Route to the planned seats, then to each standby, then to the whole fleet."""
    planned, standby = names.set_name(group.seats), names.set_name(group.standbys)
    sets = (planned, *(names.set_name((seat,)) for seat in group.standbys))
    fallbacks = struct_pb2.ListValue(values=[*(_struct({SET: _text(name)}) for name in sets), _struct({})])
    action = _action(table)
    action.metadata_match.CopyFrom(_match({"fallback_list": struct_pb2.Value(list_value=fallbacks)}))
    return _route(table, action, _choice(planned, standby, Arm.PLAN))


def _cold_route(table: RoutingTable, arm: str = "") -> route_components_pb2.Route:
    """Route by power of two choices over the whole fleet."""
    return _route(table, _action(table), _choice(arm=arm))


def _route(
    table: RoutingTable, action: route_components_pb2.RouteAction, choice: _Fields
) -> route_components_pb2.Route:
    return route_components_pb2.Route(
        match=route_components_pb2.RouteMatch(prefix="/"),
        route=action,
        metadata=_metadata({**(_explained(table) if table.explain else {}), **choice}),
    )


def _explained(table: RoutingTable) -> _Fields:
    return {EXPLAINED_VERSION: _text(table.version)}


def _choice(planned: str = "", standby: str = "", arm: str = "") -> _Fields:
    """Return what the counters and headers are told of a route's choice: names of its sets, and the arm."""
    return {"planned": _text(planned), "standby": _text(standby), "arm": _text(arm)}


def _action(table: RoutingTable) -> route_components_pb2.RouteAction:
    """Route to the plan's cluster, whose retry policy holds for all its routes."""
    return route_components_pb2.RouteAction(
        cluster=names.cluster_name(table.ref),
        timeout=duration_pb2.Duration(),
    )


def _answer(status: int, text: str) -> route_components_pb2.Route:
    """Answer by ourselves; the listener wraps the text into the OpenAI error shape."""
    return route_components_pb2.Route(
        match=route_components_pb2.RouteMatch(prefix="/"),
        direct_response=route_components_pb2.DirectResponseAction(
            status=status, body=base_pb2.DataSource(inline_string=text)
        ),
    )


def _header(name: str, value: str) -> base_pb2.HeaderValueOption:
    return base_pb2.HeaderValueOption(
        header=base_pb2.HeaderValue(key=name, value=value),
        append_action=base_pb2.HeaderValueOption.OVERWRITE_IF_EXISTS_OR_ADD,
    )


def _match(criteria: _Fields) -> base_pb2.Metadata:
    return base_pb2.Metadata(filter_metadata={HOST_METADATA: struct_pb2.Struct(fields=criteria)})


def _metadata(fields: _Fields) -> base_pb2.Metadata:
    return base_pb2.Metadata(filter_metadata={names.NAMESPACE: struct_pb2.Struct(fields=fields)})


def _struct(fields: _Fields) -> struct_pb2.Value:
    return struct_pb2.Value(struct_value=struct_pb2.Struct(fields=fields))


def _text(text: str) -> struct_pb2.Value:
    return struct_pb2.Value(string_value=text)


def _true() -> struct_pb2.Value:
    return struct_pb2.Value(bool_value=True)
