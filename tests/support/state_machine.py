"""The finding of the Hypothesis state machine alone for a fault."""

from __future__ import annotations

from functools import cache

from groupcheck.model.classic.profiles import PROFILES
from groupcheck.properties.findings.finding import Finding
from groupcheck.properties.generators.machine import lockstep
from support.faults import faulty_port

SEEDS = range(1, 9)


class _AllBut:
    """Contains every key but these, or none if there are none."""

    def __init__(self, keys: frozenset[tuple[str, ...]]) -> None:
        self._keys = keys

    def __contains__(self, key: object) -> bool:
        return bool(self._keys) and key not in self._keys


@cache
def found_by_the_state_machine(
    fault: str, keys: frozenset[tuple[str, ...]] = frozenset()
) -> Finding:
    """The finding by the first seed that finds one, with one of these keys if given.

    The examples of a seed depend on the version of Hypothesis and on the loaded modules, whose
    constants it tries: some seeds find nothing in 500 examples.
    """
    port = faulty_port(fault)
    by_each = (
        lockstep(
            port,
            PROFILES["2.7"],
            examples=500,
            steps=30,
            seed_number=seed,
            known=_AllBut(keys),
            tally=lambda _steps: None,
        )
        for seed in SEEDS
    )
    found = next(filter(None, by_each), None)
    assert found is not None, f"{fault}: not found by any of {len(SEEDS)} seeds"
    return found
