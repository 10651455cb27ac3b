# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Short lists of combinations in which all values of any few factors meet."""
import collections
import itertools


def meetings(combination, strength):
    """Every `strength` features of a combination, with their positions."""
    return frozenset(itertools.combinations(enumerate(combination), strength))


def covering(strength, factors, is_allowed=lambda *values: True):
    """A short list of allowed combinations in which any values of any `strength` factors meet, if they may at all.

    Greedy: the combination with the most new meetings wins, among equals the one whose pairs were met least.
    """
    combinations = [values for values in itertools.product(*factors) if is_allowed(*values)]
    offers = {values: meetings(values, strength) for values in combinations}
    pairs = {values: meetings(values, 2) for values in combinations}
    missing = set().union(*offers.values())
    chosen, uses = [], collections.Counter()
    while missing:
        best = max(combinations, key=lambda values: (len(offers[values] & missing),
                                                     -sum(uses[pair] for pair in pairs[values])))
        chosen.append(best)
        uses.update(pairs[best])
        missing -= offers[best]
    return chosen
