"""A description as names and values for people: the same lines in the terminal and on the page."""

import datetime as dt
from collections.abc import Iterator
from typing import Any

Rows = list[tuple[str, str]]
Document = dict[str, Any]


def sections(document: Document) -> list[tuple[str, Rows]]:
    """Return titles with their lines; what is not known is left out."""
    made = (
        ("Trace", _trace(document)),
        ("Lengths and times", _lengths(document)),
        ("Arrivals", _arrivals(document)),
        ("Keys", _skew(document["keys"])),
        ("Models", [*_skew(document["models"]), *_models(document["models"])]),
        ("Users and models", _structure(document["structure"])),
        ("Prefix reuse", list(_prefix(document["prefix"]))),
    )
    return [(title, rows) for title, rows in made if rows]


def _trace(document: Document) -> Rows:
    rows = [
        ("format", document["format"]),
        ("requests", f"{document['requests']:,}"),
        ("left out (no prompt tokens)", f"{document['left_out']:,}" if document["left_out"] else ""),
        ("made up", document["made_up"]),
        ("time span", _seconds(document["seconds"])),
        ("from", _moment(document["first"]) if document["calendar"] else ""),
        ("prompt tokens", f"{document['prompt']['total']:,}"),
        ("output tokens", f"{document['output']['total']:,}" if document["output"] else "not known"),
    ]
    sessions = document["prefix"]["sessions"]
    for name, part in (("keys", document["keys"]), ("models", document["models"]), ("sessions", sessions)):
        rows.append((name, f"{part['count']:,}" if part else ""))
    return [row for row in rows if row[1]]


def _lengths(document: Document) -> Rows:
    rows = []
    for name, title in (("prompt", "prompt tokens"), ("output", "output tokens")):
        if document[name]:
            rows.append((f"{title}: mean, p50, p90, p99", _quantiles(document[name], "{:,.0f}")))
    for name, title in (
        ("output_over_prompt", "output / prompt"),
        ("duration", "duration, s"),
        ("ttft", "time to first token, s"),
    ):
        if document[name]:
            rows.append((f"{title}: mean, p50, p90, p99", _quantiles(document[name], "{:,.3g}")))
    return rows


def _arrivals(document: Document) -> Rows:
    burst = document["burstiness"]
    rows = [
        ("CV of gaps", _number(burst["cv_of_gaps"])),
        ("CV of gaps within a minute, mean", _number(burst["minutely_cv_of_gaps"])),
        ("autocorrelation of gaps, lag 1", _number(burst["lag_1_of_gaps"])),
        ("CV of requests a minute", _number(burst["cv_of_minute_counts"])),
        ("autocorrelation of requests a minute, lag 1", _number(burst["lag_1_of_minute_counts"])),
        ("busiest minute / mean", _number(burst["busiest_minute_over_mean"])),
        ("busiest hour / mean", _number(document["volume"]["busiest_hour_over_mean"])),
    ]
    months = document["volume"]["by_month"]
    if len(months) > 1:
        for name in ("prompt", "output"):
            first, last = (month[name]["p50"] for month in (months[0], months[-1]))
            rows.append(
                (
                    f"median {name} tokens, {months[0]['month']} and {months[-1]['month']}",
                    f"{first:,.0f}, {last:,.0f}",
                )
            )
    return [row for row in rows if row[1]]


def _skew(part: Document | None) -> Rows:
    if not part:
        return []
    rows = []
    for what in ("requests", "tokens"):
        one = part[what]
        rows.append((f"Gini of {what}", _number(one["gini"])))
        tops = [f"{n}: {_percent(share)}" for n, share in one["top"].items()]
        tops += [f"{n} %: {_percent(share)}" for n, share in one["top_percent"].items()]
        rows.append((f"share of {what} of the largest", ", ".join(tops)))
    rows.append(("have half of the requests", f"{part['requests']['for_half']:,}"))
    return rows


def _models(part: Document | None) -> Rows:
    if not part:
        return []
    rows = []
    if part["bursty_share"] is not None:
        rows.append(("models with CV of gaps above 1", _percent(part["bursty_share"])))
    if tail := part["long_tail"]:
        rows += [
            (
                "long tail: models, their share of requests",
                f"{tail['tail_models']:,}, {_percent(tail['tail_share'])}",
            ),
            ("active in, median of the tail", f"{_percent(tail['median_active_share'])} of the time"),
            ("could share a GPU", f"{tail['judged_models']:,} models on {tail['gpus']:,} GPUs"),
        ]
    return rows


def _structure(part: Document | None) -> Rows:
    if not part:
        return []
    return [
        ("pairs of user and model", f"{part['pairs']:,}"),
        ("users of a model: p50, p90, most", _spread(part["users_of_a_model"])),
        ("models of a user: p50, p90, most", _spread(part["models_of_a_user"])),
        ("users with one model", _percent(part["users_of_one_model_share"])),
        ("models mostly of one user", _percent(part["models_mostly_of_one_user_share"])),
    ]


def _prefix(part: Document) -> Iterator[tuple[str, str]]:
    if hits := part["hits"]:
        yield "token hit, as the engines said", _percent(hits["token_hit"])
        yield (
            "requests that miss, hit (from 90 %), between",
            ", ".join(_percent(hits[name]) for name in ("miss_share", "hit_share", "between_share")),
        )
        yield "bimodality coefficient (above 0.56: two modes)", _number(hits["bimodality_coefficient"])
    if times := part["reuse_times"]:
        yield (
            "a pair returns within",
            ", ".join(f"{name}: {_percent(one)}" for name, one in times["within"].items()),
        )
    if sessions := part["sessions"]:
        if sessions["reconstructed"]:
            yield "sessions", "guessed from lengths, the file names none: a bound, not a measurement"
        turns = sessions["turns"]
        yield (
            "turns of a session: mean, p50, p90, most",
            (f"{turns['mean']:.2f}, {turns['p50']:,}, {turns['p90']:,}, {turns['max']:,}"),
        )
        yield "sessions of one turn", _percent(sessions["single_turn_share"])
        yield "structural reuse ratio", _percent(sessions["structural_reuse_ratio"])
    if blocks := part["blocks"]:
        yield "hit of a cache without bounds, by blocks", _percent(blocks["unbounded_hit"])


def _quantiles(part: Document, form: str) -> str:
    return ", ".join(form.format(part[name]) for name in ("mean", "p50", "p90", "p99"))


def _spread(part: Document) -> str:
    return ", ".join(f"{part[name]:,.0f}" for name in ("p50", "p90", "max"))


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _seconds(seconds: float) -> str:
    for name, size in (("days", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.1f} {name}"
    return f"{seconds:,.1f} s"


def _moment(seconds: float) -> str:
    return dt.datetime.fromtimestamp(seconds, dt.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
