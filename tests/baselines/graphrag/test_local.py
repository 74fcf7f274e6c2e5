"""Local search on the prisms: which rows are shown, in which order, and under which budget."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from clwqa_baselines.graphrag.config import GraphRagConfig
from clwqa_baselines.graphrag.index import Index
from clwqa_baselines.graphrag.local import Local, Selection
from clwqa_bench.systems import SettingError, load_system
from tests.baselines.culture import graph
from tests.baselines.graphrag.prisms import SMALL, index, resources
from tests.baselines.worlds import world


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return index(tmp_path_factory.mktemp("prisms"))


def local(made: Index, **settings: Any) -> Local:
    return Local(made, SMALL.model_copy(update=settings))


def nodes(made: Index, names: str) -> list[int]:
    return [made.tables.number[name] for name in names.split()]


def edges(made: Index, numbers: Iterable[int]) -> str:
    return " ".join(made.tables.triple(e).head + made.tables.triple(e).tail for e in numbers)


def members(made: Index, rows: Iterable[int]) -> list[str]:
    communities = (int(made.reports.community[row]) for row in rows)
    return [" ".join(made.tables.name(int(n)) for n in made.communities.members(c)) for c in communities]


# ---------------------------------------------------------------------- relationships


def test_relationships_among_the_entities_come_first_the_greatest_combined_degree_before_others(
    made: Index,
) -> None:
    # among a1 (4), a2 (3), a3 (3): a1a2 and a1a3 have 7, a2a3 has 6; then those to others: a1b1 8, a1a4 7, rest 6
    ranked = local(made).ranked(nodes(made, "a1 a2 a3"))
    assert edges(made, ranked) == "a1a2 a1a3 a2a3 a1b1 a1a4 a2a5 a3a6"


def test_of_the_others_those_come_first_whose_end_is_next_to_most_of_the_entities(made: Index) -> None:
    # a3 and a4 are next to both a1 and a6; of a1 and a6 alone: b1 (8), a2 (7), a5 (6)
    ranked = local(made).ranked(nodes(made, "a1 a6"))
    assert edges(made, ranked) == "a1a3 a1a4 a3a6 a4a6 a1b1 a1a2 a5a6"


def test_so_many_to_others_for_each_entity(made: Index) -> None:
    shown = local(made, top_k_relationships=1).select(nodes(made, "a1 a2 a3"))
    assert edges(made, shown.edges) == "a1a2 a1a3 a2a3 a1b1 a1a4 a2a5"
    assert len(shown.candidates) == 7


def test_entities_are_left_out_from_the_end_until_the_rest_fits_with_its_relationships(made: Index) -> None:
    node, edge = int(made.tables.node_tokens[0]), int(made.tables.edge_tokens[0])
    room = {"community_share": 0.0, "text_share": 0.0, "top_k_relationships": 1}
    two = local(made, context_tokens=2 * node + 3 * edge, **room).select(nodes(made, "a1 a2 a3"))
    assert (two.entities, edges(made, two.edges)) == (tuple(nodes(made, "a1 a2")), "a1a2 a1a3 a2a3")
    none = local(made, context_tokens=node, **room).select(nodes(made, "a1 a2 a3"))
    assert (none.entities, none.edges) == ((), ())


# ---------------------------------------------------------------------- reports


def test_reports_on_communities_that_hold_most_of_the_entities_come_first(made: Index) -> None:
    shown = local(made).select(nodes(made, "a1 a2 a4 b1"))
    assert members(made, shown.reports) == [
        "a1 a2 a3 a4 a5 a6",  # three
        "a1 a2 a3",  # two
        "b1 b2 b3 b4 b5 b6",  # one, and the better rated
        "a4 a5 a6",
        "b1 b2 b3",
    ]


def test_of_each_entity_the_report_on_its_finest_community(made: Index) -> None:
    shown = local(made, levels="one").select(nodes(made, "a1 a2 a4 b1"))
    assert members(made, shown.reports) == ["a1 a2 a3", "a4 a5 a6", "b1 b2 b3"]
    coarse = local(made, levels="one", community_level=0).select(nodes(made, "a1 a2 a4 b1"))
    assert members(made, coarse.reports) == ["a1 a2 a3 a4 a5 a6", "b1 b2 b3 b4 b5 b6"]


def test_reports_stop_at_the_first_that_does_not_fit_and_leave_their_room_to_nothing(made: Index) -> None:
    first, second, *_ = local(made).select(nodes(made, "a1 a2 a4 b1")).reports
    tokens = made.reports.tokens
    room = int(tokens[first] + tokens[second]) - 1
    shown = local(made, context_tokens=room * 10, community_share=0.1).select(nodes(made, "a1 a2 a4 b1"))
    assert shown.reports == (first,)


def test_shares_of_more_than_the_whole_are_refused() -> None:
    shares = {"community_share": "0.7", "text_share": "0.6"}
    with pytest.raises(SettingError, match=r"community_share \+ text_share is 1.3, which is more than 1"):
        load_system("graphrag", shares)
    load_system("graphrag", shares | {"text_share": "0.3"})  # nothing is left for entities, as one may wish


# ---------------------------------------------------------------------- source texts


@pytest.fixture(scope="module")
def culture(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder = tmp_path_factory.mktemp("culture")
    return Index.open(resources(graph(folder / "kg"), folder), GraphRagConfig())


def test_source_texts_are_the_passages_of_the_entities_and_next_to_them(culture: Index) -> None:
    number = culture.tables.number
    shown = Local(culture, GraphRagConfig()).select([number["又一引文"], number["五蠹"], number["守株待兔"]])
    assert [culture.tables.ids[node] for node in shown.sources] == ["又一引文", "引文"]
    without = GraphRagConfig(text_units="none")
    assert Local(culture, without).select([number["守株待兔"]]).sources == ()


# ---------------------------------------------------------------------- hubs and nodes alone


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """Ten thousand nodes around one, two of them joined, and one alone."""
    folder = tmp_path_factory.mktemp("hub")
    triples = [(f"n{n:05}", "r1", "hub") for n in range(10_000)]
    kg = world(folder / "kg", [*triples, ("n00007", "r2", "n00008")], alone=["alone"])
    return Index.open(resources(kg, folder), GraphRagConfig())


def test_a_hub_of_ten_thousand_neighbours_is_shown_within_the_budget(hub: Index) -> None:
    number = hub.tables.number
    shown = Local(hub, GraphRagConfig()).select([number["hub"], number["n00007"]])
    assert len(shown.candidates) == 10_001
    assert edges(hub, shown.edges[:3]) == "n00007hub n00008hub n00007n00008"  # two of n00008, the rest one
    assert len(shown.edges) == 1 + 2 * 10
    assert max(hub.reports.tokens) <= 8_000


def test_an_entity_without_relationships_is_in_no_community_and_shown_by_itself(hub: Index) -> None:
    alone = hub.tables.number["alone"]
    assert alone not in hub.communities.entities
    assert Local(hub, GraphRagConfig()).select([alone]) == Selection(entities=(alone,))
