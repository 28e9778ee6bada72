"""Alerts on a stream of measurements: rules come and go while events are matched. `python examples/alerts.py`"""

import random
import threading

import tellwhen as tw


def main() -> None:
    rng = random.Random(2)
    rules = tw.Index(
        schema=tw.Schema({"host": "string", "load": "float", "free_mb": "int", "errors": "int"}, strict=True)
    )
    rules.add("busy", "load > 0.95", payload={"mail": "ops@example.com"})
    rules.add("full", "free_mb < 100 AND host LIKE 'db-%'", payload={"mail": "data@example.com"})
    rules.add("errors", "errors * 2 > load * 100", payload={"mail": "dev@example.com"})

    (mistake,) = rules.add_many({"typo": "lod > 0.9"}, errors="quarantine")
    print(f"refused: {mistake.reason}")

    def subscribe() -> None:
        """Someone adds rules of their own while others match."""
        for number in range(500):
            rules.add(f"mine-{number}", f"host = 'web-{number % 40}' AND load > {rng.uniform(0.5, 1):.3f}")

    other = threading.Thread(target=subscribe)
    other.start()
    sent: dict[str, int] = {}
    for _ in range(3_000):
        event = {
            "host": f"{rng.choice(['web', 'db'])}-{rng.randint(0, 39)}",
            "load": rng.random(),
            "free_mb": rng.randint(50, 9_000),
            "errors": rng.choice([0, 0, 0, 1, 60]),
        }
        for _, payload in rules.match(event, payload=["mail"]):
            mail = payload["mail"] or "whoever added it"
            sent[mail] = sent.get(mail, 0) + 1
    other.join()
    print(f"{len(rules)} rules; mails to {', '.join(sorted(sent))}")
    print(f"rules that look at load: {len(rules.mentioning('load'))}")

    # A host was renamed in what is sent: nothing would match, and nobody would know.
    print(rules.unmatched_attributes([{"hostname": "db-1", "load": "0.5", "free_mb": 7, "errors": 0}]))


if __name__ == "__main__":
    main()
