//! Placements: the trees that are derived from aspects.

use docent_model::{AspectName, Derived, Urn};

use super::{Harness, delete, domain, key, placed, put};
use crate::{AspectKey, Store, StoreError, transact};

fn properties(name: &str) -> AspectKey {
    key(&domain(name), AspectName::DOMAIN_PROPERTIES)
}

/// Places a domain; the value only has to differ from the previous one.
async fn place(store: &dyn Store, name: &str, parent: Option<&Urn>, created_ms: i64) {
    let value = format!("\"{name} below {parent:?} since {created_ms}\"");
    let derived = placed(&name.to_uppercase(), parent, created_ms);
    put(store, &properties(name), &value, derived).await;
}

async fn children(store: &dyn Store, parent: Option<&Urn>) -> Vec<Urn> {
    let page = store
        .placements_list("domain", parent, 0, 100)
        .await
        .unwrap();
    assert_eq!(page.total, page.items.len());
    page.items
}

pub(super) async fn children_are_listed_newest_first_and_counted(harness: &impl Harness) {
    let store = harness.store();
    for (name, created_ms) in [("old", 1), ("new", 9), ("mid-b", 5), ("mid-a", 5)] {
        place(store, name, None, created_ms).await;
    }
    place(store, "child", Some(&domain("old")), 7).await;
    let roots = ["new", "mid-a", "mid-b", "old"].map(domain);
    assert_eq!(children(store, None).await, roots);
    assert_eq!(
        children(store, Some(&domain("old"))).await,
        [domain("child")]
    );
    let page = store.placements_list("domain", None, 1, 2).await.unwrap();
    assert_eq!(page.total, 4);
    assert_eq!(page.items, ["mid-a", "mid-b"].map(domain));
    let behind = store.placements_list("domain", None, 4, 2).await.unwrap();
    assert_eq!((behind.total, behind.items.len()), (4, 0));
    let other = store
        .placements_list("glossaryNode", None, 0, 10)
        .await
        .unwrap();
    assert_eq!((other.total, other.items.len()), (0, 0));
}

pub(super) async fn a_moved_entity_has_only_its_new_parent(harness: &impl Harness) {
    let store = harness.store();
    for name in ["a", "b"] {
        place(store, name, None, 1).await;
    }
    place(store, "child", Some(&domain("a")), 2).await;
    place(store, "child", Some(&domain("b")), 2).await;
    assert_eq!(children(store, Some(&domain("a"))).await, []);
    assert_eq!(children(store, Some(&domain("b"))).await, [domain("child")]);
    place(store, "child", None, 2).await;
    assert_eq!(children(store, Some(&domain("b"))).await, []);
    assert_eq!(children(store, None).await, ["child", "a", "b"].map(domain));
}

pub(super) async fn other_aspects_do_not_change_a_placement(harness: &impl Harness) {
    let store = harness.store();
    place(store, "a", None, 1).await;
    let other = key(&domain("a"), AspectName::OWNERSHIP);
    put(store, &other, "{}", Derived::default()).await;
    assert_eq!(children(store, None).await, [domain("a")]);
    delete(store, &other).await;
    assert_eq!(children(store, None).await, [domain("a")]);
}

pub(super) async fn deleting_an_aspect_deletes_its_placement(harness: &impl Harness) {
    let store = harness.store();
    place(store, "a", None, 1).await;
    place(store, "b", None, 2).await;
    delete(store, &properties("a")).await;
    assert_eq!(children(store, None).await, [domain("b")]);
}

pub(super) async fn ancestors_are_nearest_first_up_to_the_limit(harness: &impl Harness) {
    let store = harness.store();
    place(store, "root", None, 1).await;
    place(store, "mid", Some(&domain("root")), 1).await;
    place(store, "leaf", Some(&domain("mid")), 1).await;
    let chains = store
        .placement_ancestors(&["leaf", "root", "missing", "mid"].map(domain), 10)
        .await
        .unwrap();
    assert_eq!(
        chains,
        [
            vec![domain("mid"), domain("root")],
            vec![],
            vec![],
            vec![domain("root")]
        ]
    );
    let short = store
        .placement_ancestors(&[domain("leaf")], 1)
        .await
        .unwrap();
    assert_eq!(short, [[domain("mid")]]);
}

pub(super) async fn a_cycle_ends_the_list_of_ancestors(harness: &impl Harness) {
    let store = harness.store();
    place(store, "a", Some(&domain("b")), 1).await;
    place(store, "b", Some(&domain("c")), 1).await;
    place(store, "c", Some(&domain("b")), 1).await;
    place(store, "self", Some(&domain("self")), 1).await;
    let chains = store
        .placement_ancestors(&["a", "b", "self"].map(domain), 100)
        .await
        .unwrap();
    assert_eq!(
        chains,
        [vec![domain("b"), domain("c")], vec![domain("c")], vec![]]
    );
}

pub(super) async fn transactions_find_children_parents_and_siblings_by_name(
    harness: &impl Harness,
) {
    let store = harness.store();
    place(store, "root", None, 1).await;
    place(store, "a", Some(&domain("root")), 1).await;
    place(store, "b", Some(&domain("root")), 1).await;
    place(store, "c", Some(&domain("a")), 1).await;
    transact::<(), StoreError, _>(store, |tx| {
        Box::pin(async move {
            let root = domain("root");
            let named = tx.placements_named("domain", Some(&root), "A").await?;
            assert_eq!(named, [domain("a")]);
            assert_eq!(tx.placements_named("domain", None, "A").await?, []);
            assert_eq!(tx.placements_named("domain", Some(&root), "a").await?, []);
            let roots = tx.placements_named("domain", None, "ROOT").await?;
            assert_eq!(roots, [domain("root")]);
            let child = tx
                .placement_children("domain", std::slice::from_ref(&root), 1)
                .await?;
            assert!(
                child == [domain("a")] || child == [domain("b")],
                "{child:?}"
            );
            let parents = [domain("a"), root.clone(), domain("missing"), domain("b")];
            let mut children = tx
                .placement_children("domain", &parents, usize::MAX)
                .await?;
            children.sort_unstable();
            assert_eq!(children, [domain("a"), domain("b"), domain("c")]);
            assert_eq!(tx.placement_children("domain", &parents, 2).await?.len(), 2);
            let leaves = [domain("b"), domain("c")];
            assert_eq!(tx.placement_children("domain", &leaves, 9).await?, []);
            assert_eq!(tx.placement_children("glossary", &parents, 9).await?, []);
            assert_eq!(
                tx.placement_parent(&domain("a")).await?,
                Some(Some(root.clone()))
            );
            assert_eq!(tx.placement_parent(&root).await?, Some(None));
            assert_eq!(tx.placement_parent(&domain("missing")).await?, None);
            Ok(())
        })
    })
    .await
    .unwrap();
}
