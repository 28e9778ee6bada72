"""Seeded generators of subscriptions and events, most of them those of the papers, in numbered blocks.

A block depends on the seed and its number only: it is the same on every machine, and any process can make it.
"""

from tellwhen.workloads.abegen import ABEGen
from tellwhen.workloads.ad_trees import AdTrees
from tellwhen.workloads.ads import Ads
from tellwhen.workloads.base import BLOCK, ArrayWorkload, Workload, take_events, take_subscriptions
from tellwhen.workloads.begen import BEGen
from tellwhen.workloads.clauses import Clauses
from tellwhen.workloads.flights import Flights
from tellwhen.workloads.groups import Groups
from tellwhen.workloads.keywords import Keywords, QGrams
from tellwhen.workloads.mixed_conjunctions import Varied
from tellwhen.workloads.products import Catalogue, Prefixes, Products
from tellwhen.workloads.ranked import Ranked
from tellwhen.workloads.targeting import Targeting

WORKLOADS: dict[str, type[Workload]] = {
    "abegen": ABEGen,
    "ads": Ads,
    "adtrees": AdTrees,
    "begen": BEGen,
    "catalogue": Catalogue,
    "clauses": Clauses,
    "flights": Flights,
    "groups": Groups,
    "keywords": Keywords,
    "prefixes": Prefixes,
    "products": Products,
    "qgrams": QGrams,
    "ranked": Ranked,
    "targeting": Targeting,
    "varied": Varied,
}

__all__ = [
    "BLOCK",
    "WORKLOADS",
    "ABEGen",
    "AdTrees",
    "Ads",
    "ArrayWorkload",
    "BEGen",
    "Catalogue",
    "Clauses",
    "Flights",
    "Groups",
    "Keywords",
    "Prefixes",
    "Products",
    "QGrams",
    "Ranked",
    "Targeting",
    "Varied",
    "Workload",
    "take_events",
    "take_subscriptions",
]
