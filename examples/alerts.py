"""Alerts on a stream: people's rules come and go while measurements are matched. `python examples/alerts.py`

The guide to it is docs/howto/alerts.md.
"""

import random
import tempfile
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import tellwhen as tw

SCHEMA = tw.Schema({"host": "string", "load": "float", "free_mb": "int", "errors": "int"}, strict=True)
RULES, EVENTS = 500, 3_000
PAUSE = 600
"""Events for which nobody is told again of the same rule and host."""

Event = dict[str, Any]


def first_rules() -> tw.Index:
    """Rules whose payloads say who is told, and how."""
    rules = tw.Index(schema=SCHEMA)
    rules.add("busy", "load > 0.95", payload={"by": "pager", "to": "ops"})
    rules.add("full", "free_mb < 100 AND host LIKE 'db-%'", payload={"by": "mail", "to": "data"})
    rules.add("failing", "errors > load * 50", payload={"by": "chat", "to": "dev"})
    return rules


def make_measurement(rng: random.Random) -> Event:
    """Return one random measurement."""
    return {
        "host": f"{rng.choice(['web', 'db'])}-{rng.randint(0, 39)}",
        "load": rng.random(),
        "free_mb": rng.randint(50, 9_000),
        "errors": rng.choice([0, 0, 0, 1, 60]),
    }


def is_acceptable(rules: tw.Index, text: str, recent: list[Event]) -> bool:
    """Return whether a rule can be added; print what its author should know before."""
    report = tw.validate({"yours": text}, index=rules)
    for finding in report.findings:
        print(f"  {finding.kind}: {finding.reason}")
    if report.get_findings("error"):
        return False
    (count,) = tw.Index(schema=SCHEMA).add("yours", text).count_by_subscription(recent).to_pydict()["count"]
    print(f"  it is true of {count} of the last {len(recent)} measurements")
    return True


def subscribe(rules: tw.Index, seed: int) -> None:
    """People add rules, and take some back, while others match."""
    rng = random.Random(seed)
    for number in range(RULES):
        rules.add(
            f"own-{number}",
            f"host = 'web-{number % 40}' AND load > {rng.uniform(0.5, 1):.3f}",
            payload={"by": "mail", "to": f"person {number % 9}"},
        )
        if number % 5 == 4:
            rules.remove(f"own-{number - 2}")


def watch(rules: tw.Index, rng: random.Random) -> Counter[str]:
    """Match measurements; returns how many messages went out, by how they did."""
    sent: Counter[str] = Counter()
    last: dict[tuple[Any, str], int] = {}
    for number in range(EVENTS):
        event = make_measurement(rng)
        for rule, payload in rules.match_with_payloads(event, fields=["by"]):
            key = (rule, event["host"])
            if number - last.get(key, -PAUSE) >= PAUSE:
                last[key] = number
                sent[payload["by"]] += 1
    return sent


def main() -> None:
    rng = random.Random(2)
    rules = first_rules()
    recent = [make_measurement(rng) for _ in range(1_000)]
    for text in ("lod > 0.9", "load > 0.9 AND load < 0.5", "load > 0.4"):
        print(f"may this be added: {text}")
        print(f"  {'yes' if is_acceptable(rules, text, recent) else 'no'}")

    other = threading.Thread(target=subscribe, args=(rules, 3))
    other.start()
    sent = watch(rules, rng)
    other.join()
    print(f"{len(rules)} rules, {EVENTS} measurements: {', '.join(f'{n} by {by}' for by, n in sorted(sent.items()))}")

    quiet = {"host": "db-3", "load": 0.2, "free_mb": 120}
    print(f"why was nobody told that a disk is full, with {quiet}?")
    print(rules.explain("full", quiet))

    print("the agents send something new:")
    print(rules.inspect.check_attributes([{"hostname": "db-1", "load": "0.5", "free_mb": 7, "errors": 0}]))

    with tempfile.TemporaryDirectory() as folder:
        rules.save(Path(folder) / "rules")
        again = tw.Index.load(Path(folder) / "rules")
        print(f"loaded {len(again)} rules; {len(again.inspect.find_mentions('load'))} of them look at load")


if __name__ == "__main__":
    main()
