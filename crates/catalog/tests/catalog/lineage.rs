//! Where data comes from and where it goes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use docent_catalog::lineage::{NeighborQuery, WalkLimits};
use docent_catalog::{Caller, Catalog, Change, Proposal};
use docent_model::LineageDirection::{self, Downstream, Upstream};
use docent_model::{FixedClock, Registry, Urn};
use docent_store::{ListPage, RelatedEntity, Store, StoreError};
use docent_test_store::{Intercept, InterceptedStore, TestStore};
use serde_json::{Value, json};

use crate::{Fixture, dataset, upsert, write_as_operator};

impl Fixture {
    async fn write(&self, urn: &Urn, aspect: &str, value: Value) {
        let aspect = Registry::get().aspect(aspect).unwrap();
        let proposal = Proposal::upsert(urn.clone(), aspect, value.to_string());
        self.catalog
            .ingest(&self.caller, vec![proposal])
            .await
            .unwrap();
    }

    /// Each table flows into the next.
    async fn chain(&self, names: &[&str]) {
        self.write(&dataset(names[0]), "status", json!({"removed": false}))
            .await;
        for pair in names.windows(2) {
            self.flow(&[pair[0]], pair[1]).await;
        }
    }

    /// These tables flow into that one.
    async fn flow(&self, from: &[&str], to: &str) {
        let upstreams: Vec<Value> = from
            .iter()
            .map(|name| json!({"dataset": dataset(name), "type": "TRANSFORMED"}))
            .collect();
        self.write(
            &dataset(to),
            "upstreamLineage",
            json!({ "upstreams": upstreams }),
        )
        .await;
    }

    /// What a walk finds: names and degrees.
    async fn walk(&self, from: &Urn, direction: LineageDirection) -> Vec<(String, usize)> {
        self.limited(from, direction, WalkLimits::default()).await.0
    }

    async fn limited(
        &self,
        from: &Urn,
        direction: LineageDirection,
        limits: WalkLimits,
    ) -> (Vec<(String, usize)>, bool) {
        let walk = self
            .catalog
            .lineage_walk(from, direction, limits, &[])
            .await
            .unwrap();
        let found = walk.reached().iter();
        let found = found.map(|reached| (name(&reached.urn), reached.degree));
        (found.collect(), walk.is_partial())
    }

    async fn paths(&self, from: &Urn, direction: LineageDirection, to: &Urn) -> Vec<Vec<String>> {
        let limits = WalkLimits::default();
        let walk = self
            .catalog
            .lineage_walk(from, direction, limits, &[])
            .await
            .unwrap();
        let reached = walk.reached().iter().find(|it| it.urn == *to).unwrap();
        let paths = walk.paths(reached, 10).into_iter();
        paths.map(|path| path.iter().map(name).collect()).collect()
    }

    async fn neighbors(&self, of: &Urn, query: NeighborQuery) -> (Vec<String>, usize, usize) {
        let pages = self
            .catalog
            .lineage(std::slice::from_ref(of), query)
            .await
            .unwrap();
        let [page] = pages.as_slice() else { panic!() };
        let names = page.items.iter().map(|item| name(&item.urn)).collect();
        (names, page.total, page.filtered)
    }
}

/// The name of a table or a column, otherwise the whole URN.
fn name(urn: &Urn) -> String {
    match (urn.entity_type(), urn.key_parts().as_slice()) {
        ("dataset", [_, name, _]) => (*name).to_owned(),
        ("schemaField", [table, path]) => format!("{}.{path}", name(&Urn::parse(table).unwrap())),
        ("dataJob", [_, job]) => (*job).to_owned(),
        _ => urn.to_string(),
    }
}

fn job(name: &str) -> Urn {
    Urn::parse(&format!(
        "urn:li:dataJob:(urn:li:dataFlow:(airflow,flow,PROD),{name})"
    ))
    .unwrap()
}

fn column(table: &str, path: &str) -> Urn {
    Urn::parse(&format!("urn:li:schemaField:({},{path})", dataset(table))).unwrap()
}

fn found(expected: &[(&str, usize)]) -> Vec<(String, usize)> {
    let own = |(name, degree): &(&str, usize)| ((*name).to_owned(), *degree);
    expected.iter().map(own).collect()
}

fn query(direction: LineageDirection) -> NeighborQuery {
    NeighborQuery {
        direction,
        separate_siblings: false,
        include_ghosts: false,
        window: None,
        with_facts: false,
        start: 0,
        count: 10,
    }
}

#[tokio::test]
async fn a_chain_of_tables_is_walked_both_ways() {
    let fixture = Fixture::new().await;
    fixture.chain(&["a", "b", "c"]).await;
    assert_eq!(
        fixture.walk(&dataset("c"), Upstream).await,
        found(&[("b", 1), ("a", 2)])
    );
    assert_eq!(
        fixture.walk(&dataset("a"), Downstream).await,
        found(&[("b", 1), ("c", 2)])
    );
    assert_eq!(fixture.walk(&dataset("a"), Upstream).await, found(&[]));
    assert_eq!(
        fixture.paths(&dataset("c"), Upstream, &dataset("a")).await,
        [["c", "b", "a"]]
    );
}

#[tokio::test]
async fn a_job_is_between_its_inputs_and_outputs() {
    let fixture = Fixture::new().await;
    fixture.chain(&["in"]).await;
    fixture.chain(&["out"]).await;
    fixture
        .write(
            &job("load"),
            "dataJobInputOutput",
            json!({"inputDatasets": [dataset("in")], "outputDatasets": [dataset("out")]}),
        )
        .await;
    fixture
        .write(
            &job("after"),
            "dataJobInputOutput",
            json!({"inputDatasets": [], "outputDatasets": [], "inputDatajobs": [job("load")]}),
        )
        .await;
    assert_eq!(
        fixture.walk(&dataset("out"), Upstream).await,
        found(&[("load", 1), ("in", 2)])
    );
    assert_eq!(
        fixture.walk(&dataset("in"), Downstream).await,
        found(&[("load", 1), ("after", 2), ("out", 2)])
    );
    assert_eq!(
        fixture.walk(&job("load"), Downstream).await,
        found(&[("after", 1), ("out", 1)])
    );
    assert_eq!(
        fixture.walk(&job("load"), Upstream).await,
        found(&[("in", 1)])
    );
}

#[tokio::test]
async fn charts_and_dashboards_are_downstream_of_their_inputs() {
    let fixture = Fixture::new().await;
    fixture.chain(&["t"]).await;
    let chart = Urn::parse("urn:li:chart:(looker,c)").unwrap();
    let board = Urn::parse("urn:li:dashboard:(looker,d)").unwrap();
    let stamp = json!({"time": 0, "actor": "urn:li:corpuser:x"});
    let stamps = json!({"created": stamp, "lastModified": stamp});
    fixture
        .write(
            &chart,
            "chartInfo",
            json!({"title": "c", "description": "", "lastModified": stamps, "inputs": [{"string": dataset("t")}]}),
        )
        .await;
    fixture
        .write(
            &board,
            "dashboardInfo",
            json!({"title": "d", "description": "", "lastModified": stamps, "charts": [chart]}),
        )
        .await;
    assert_eq!(
        fixture.walk(&dataset("t"), Downstream).await,
        found(&[(chart.as_str(), 1), (board.as_str(), 2)])
    );
    assert_eq!(
        fixture.walk(&board, Upstream).await,
        found(&[(chart.as_str(), 1), ("t", 2)])
    );
}

#[tokio::test]
async fn a_cycle_is_walked_once_without_returning_the_start() {
    let fixture = Fixture::new().await;
    fixture.chain(&["a", "b", "c", "a"]).await;
    fixture.flow(&["c", "d"], "d").await;
    for direction in [Upstream, Downstream] {
        let mut names = fixture.walk(&dataset("a"), direction).await;
        names.sort();
        let names: Vec<_> = names.iter().map(|(name, _)| name.as_str()).collect();
        let expected: &[&str] = match direction {
            Upstream => &["b", "c"],
            Downstream => &["b", "c", "d"],
        };
        assert_eq!(names, expected);
    }
    assert_eq!(
        fixture.neighbors(&dataset("d"), query(Downstream)).await.1,
        0
    );
}

#[tokio::test]
async fn the_distance_is_that_of_the_shortest_path_and_all_shortest_paths_are_returned() {
    let fixture = Fixture::new().await;
    fixture.chain(&["a", "b", "d"]).await;
    fixture.chain(&["a", "c"]).await;
    fixture.flow(&["b", "c"], "d").await;
    fixture.flow(&["d", "a"], "e").await;
    assert_eq!(
        fixture.walk(&dataset("a"), Downstream).await,
        found(&[("b", 1), ("c", 1), ("e", 1), ("d", 2)])
    );
    assert_eq!(
        fixture
            .paths(&dataset("a"), Downstream, &dataset("d"))
            .await,
        [["a", "b", "d"], ["a", "c", "d"]]
    );
    assert_eq!(
        fixture
            .paths(&dataset("a"), Downstream, &dataset("e"))
            .await,
        [["a", "e"]]
    );
}

#[tokio::test]
async fn deleted_and_missing_entities_are_traversed_but_not_returned() {
    let fixture = Fixture::new().await;
    fixture.chain(&["a", "b", "c", "d"]).await;
    fixture
        .write(&dataset("b"), "status", json!({"removed": true}))
        .await;
    fixture.flow(&["b", "ghost"], "c").await;
    assert_eq!(
        fixture.walk(&dataset("d"), Upstream).await,
        found(&[("c", 1), ("a", 3)])
    );
    let limits = WalkLimits {
        include_removed: true,
        ..WalkLimits::default()
    };
    assert_eq!(
        fixture.limited(&dataset("d"), Upstream, limits).await.0,
        found(&[("c", 1), ("b", 2), ("a", 3)])
    );
    let nothing = (Vec::new(), 0, 2);
    assert_eq!(
        fixture.neighbors(&dataset("c"), query(Upstream)).await,
        nothing
    );
    let ghosts = NeighborQuery {
        include_ghosts: true,
        ..query(Upstream)
    };
    assert_eq!(
        fixture.neighbors(&dataset("c"), ghosts).await,
        (vec!["b".to_owned(), "ghost".to_owned()], 2, 0)
    );
}

#[tokio::test]
async fn deleting_an_aspect_deletes_its_lineage() {
    let fixture = Fixture::new().await;
    fixture.chain(&["a", "b", "c"]).await;
    fixture.flow(&[], "c").await;
    assert_eq!(
        fixture.walk(&dataset("a"), Downstream).await,
        found(&[("b", 1)])
    );
    let gone = Proposal::new(dataset("b"), Change::DeleteEntity);
    fixture
        .catalog
        .ingest(&fixture.caller, vec![gone])
        .await
        .unwrap();
    assert_eq!(fixture.walk(&dataset("a"), Downstream).await, found(&[]));
}

#[tokio::test]
async fn neighbors_are_paged_with_an_exact_total() {
    let fixture = Fixture::new().await;
    for name in ["u1", "u2", "u3"] {
        fixture.chain(&[name]).await;
    }
    fixture.flow(&["u1", "u2", "u3"], "t").await;
    let page = NeighborQuery {
        start: 1,
        count: 1,
        ..query(Upstream)
    };
    assert_eq!(
        fixture.neighbors(&dataset("t"), page).await,
        (vec!["u2".to_owned()], 3, 0)
    );
    let beyond = NeighborQuery { start: 9, ..page };
    assert_eq!(
        fixture.neighbors(&dataset("t"), beyond).await,
        (Vec::new(), 3, 0)
    );
}

#[tokio::test]
async fn neighbors_of_siblings_are_included_unless_siblings_are_separate() {
    let fixture = Fixture::new().await;
    fixture.chain(&["raw", "model"]).await;
    fixture.chain(&["table", "report"]).await;
    fixture.flow(&["model"], "table").await;
    let siblings = |name| json!({"siblings": [dataset(name)], "primary": false});
    fixture
        .write(&dataset("table"), "siblings", siblings("model"))
        .await;
    assert_eq!(
        fixture
            .neighbors(&dataset("table"), query(Upstream))
            .await
            .0,
        ["raw"]
    );
    let apart = NeighborQuery {
        separate_siblings: true,
        ..query(Upstream)
    };
    assert_eq!(
        fixture.neighbors(&dataset("table"), apart).await.0,
        ["model"]
    );
}

#[tokio::test]
async fn columns_are_followed_through_tables_and_jobs() {
    let fixture = Fixture::new().await;
    fixture.chain(&["a"]).await;
    fixture.chain(&["d"]).await;
    fixture.chain(&["e"]).await;
    let entry = |from: &[Urn], to: &[Urn]| json!({"upstreamType": "FIELD_SET", "downstreamType": "FIELD", "upstreams": from, "downstreams": to});
    fixture
        .write(
            &dataset("b"),
            "upstreamLineage",
            json!({
                "upstreams": [{"dataset": dataset("a"), "type": "VIEW"}],
                "fineGrainedLineages": [
                    entry(&[column("a", "id"), column("a", "day")], &[column("b", "key")]),
                    entry(&[column("a", "other")], &[column("b", "other")]),
                ],
            }),
        )
        .await;
    fixture
        .write(
            &job("load"),
            "dataJobInputOutput",
            json!({
                "inputDatasets": [dataset("b")],
                "outputDatasets": [dataset("d"), dataset("e")],
                "fineGrainedLineages": [entry(&[column("b", "key")], &[column("d", "key"), column("gone", "key")])],
            }),
        )
        .await;
    assert_eq!(
        fixture.walk(&column("d", "key"), Upstream).await,
        found(&[("load", 1), ("b.key", 1), ("a.day", 2), ("a.id", 2)])
    );
    assert_eq!(
        fixture.walk(&column("a", "id"), Downstream).await,
        found(&[("b.key", 1), ("load", 2), ("d.key", 2)])
    );
    assert_eq!(
        fixture.walk(&column("e", "key"), Upstream).await,
        found(&[])
    );
    // Tables know nothing of it: their lineage is one of tables and jobs.
    assert_eq!(
        fixture.walk(&dataset("b"), Upstream).await,
        found(&[("a", 1)])
    );
}

#[tokio::test]
async fn a_walk_that_reaches_its_limits_is_marked_incomplete() {
    let fixture = Fixture::new().await;
    let names: Vec<String> = (0..=22).map(|number| format!("t{number:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    fixture.chain(&names).await;
    let (all, is_partial) = fixture
        .limited(&dataset("t00"), Downstream, WalkLimits::default())
        .await;
    assert_eq!((all.len(), is_partial), (20, true));
    let (all, is_partial) = fixture
        .limited(&dataset("t02"), Downstream, WalkLimits::default())
        .await;
    assert_eq!((all.len(), is_partial), (20, false));
    let hops = WalkLimits {
        hops: 2,
        ..WalkLimits::default()
    };
    assert_eq!(
        fixture.limited(&dataset("t00"), Downstream, hops).await,
        (found(&[("t01", 1), ("t02", 2)]), false)
    );
    let entities = WalkLimits {
        entities: 3,
        ..WalkLimits::default()
    };
    assert_eq!(
        fixture.limited(&dataset("t00"), Downstream, entities).await,
        (found(&[("t01", 1), ("t02", 2), ("t03", 3)]), true)
    );
}

#[tokio::test]
async fn the_number_of_entities_explored_per_step_can_be_limited() {
    let fixture = Fixture::new().await;
    fixture.chain(&["a", "b", "bb"]).await;
    fixture.chain(&["a", "c", "cc"]).await;
    let limits = WalkLimits {
        explored_per_hop: 1,
        ..WalkLimits::default()
    };
    assert_eq!(
        fixture.limited(&dataset("a"), Downstream, limits).await,
        (found(&[("b", 1), ("c", 1), ("bb", 2)]), false)
    );
}

#[tokio::test]
async fn the_lineage_of_a_missing_entity_is_empty() {
    let fixture = Fixture::new().await;
    for urn in [dataset("nowhere"), column("nowhere", "id")] {
        let walk = fixture
            .catalog
            .lineage_walk(&urn, Upstream, WalkLimits::default(), &[])
            .await;
        assert!(walk.unwrap().reached().is_empty());
    }
}

/// Counts the edges that are read.
#[derive(Debug)]
struct CountedEdges {
    inner: Arc<dyn Store>,
    count: AtomicUsize,
}

#[async_trait]
impl Intercept for CountedEdges {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn edges_list(
        &self,
        urns: &[Urn],
        outgoing: bool,
        relationships: &[&str],
        excluded_types: &[&str],
        start: usize,
        limit: usize,
    ) -> Result<Vec<ListPage<RelatedEntity>>, StoreError> {
        let inner = &self.inner;
        let list = inner.edges_list(urns, outgoing, relationships, excluded_types, start, limit);
        let pages = list.await?;
        let count: usize = pages.iter().map(|page| page.items.len()).sum();
        self.count.fetch_add(count, Ordering::SeqCst);
        Ok(pages)
    }
}

#[tokio::test]
async fn the_other_lineage_of_hidden_entities_is_not_read() {
    let test_store = TestStore::open().await.unwrap();
    let store = Arc::new(InterceptedStore(CountedEdges {
        inner: test_store.store(),
        count: AtomicUsize::new(0),
    }));
    let clock = Arc::new(FixedClock::at(1_790_000_000_000));
    let catalog = Catalog::new(Arc::clone(&store) as Arc<dyn Store>, clock);
    catalog.enforce_policies(None);
    catalog.enforce_view_policies();
    let vera = Caller::new(Urn::parse("urn:li:corpuser:vera").unwrap());
    let (hidden, visible) = (dataset("hidden"), dataset("visible"));
    let criteria = json!([{"field": "URN", "values": [visible], "condition": "EQUALS"}]);
    let policy = json!({
        "displayName": "view", "description": "", "type": "METADATA", "state": "ACTIVE",
        "privileges": ["VIEW_ENTITY_PAGE"], "actors": {"users": [vera.actor()]},
        "resources": {"filter": {"criteria": criteria}},
    });
    let policy_urn = Urn::new("dataHubPolicy", "view").unwrap();
    let upstreams = json!({"upstreams": [{"dataset": hidden, "type": "TRANSFORMED"}]});
    let of_hidden = |urn: Urn| upsert(&urn, "upstreamLineage", &upstreams);
    let mut list = vec![
        upsert(&policy_urn, "dataHubPolicyInfo", &policy),
        upsert(&hidden, "status", &json!({"removed": false})),
        of_hidden(visible.clone()),
    ];
    list.extend((0..50).map(|number| of_hidden(dataset(number))));
    write_as_operator(&catalog, list).await;
    let seen = catalog.seen_by(&vera).await.unwrap();
    let limits = WalkLimits {
        hops: 1,
        include_missing: true,
        ..WalkLimits::default()
    };
    store.count.store(0, Ordering::SeqCst);
    let walk = seen.lineage_walk(&visible, Upstream, limits, &[]).await;
    let walk = walk.unwrap();
    let found: Vec<&Urn> = walk.reached().iter().map(|it| &it.urn).collect();
    assert_eq!(found, [&hidden]);
    let edges = store.count.load(Ordering::SeqCst);
    assert!(edges <= 5, "{edges}");
}
