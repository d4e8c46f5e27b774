//! Edges between entities.

use docent_model::{AspectName, Urn};

use super::{Harness, dataset, delete, domain, edges, key, put};
use crate::{ListPage, RelatedEntity, Store, StoreError, transact};

const OWNED_BY: &str = "OwnedBy";
const MEMBER_OF: &str = "AssociatedWith";

/// The page of edges of one entity.
async fn page(
    store: &dyn Store,
    urn: &Urn,
    outgoing: bool,
    relationships: &[&str],
    start: usize,
    limit: usize,
) -> ListPage<RelatedEntity> {
    let urns = std::slice::from_ref(urn);
    let pages = store.edges_list(urns, outgoing, relationships, &[], start, limit);
    let mut pages = pages.await.unwrap();
    assert_eq!(pages.len(), 1);
    pages.remove(0)
}

async fn listed(store: &dyn Store, urn: &Urn, outgoing: bool) -> Vec<(String, Urn, AspectName)> {
    let page = page(store, urn, outgoing, &[], 0, 100).await;
    assert_eq!(page.total, page.items.len());
    let parts = |related: RelatedEntity| (related.relationship, related.urn, related.aspect);
    page.items.into_iter().map(parts).collect()
}

fn member(urn: &Urn) -> (String, Urn, AspectName) {
    (MEMBER_OF.to_owned(), urn.clone(), AspectName::DOMAINS)
}

fn owned(urn: &Urn) -> (String, Urn, AspectName) {
    (OWNED_BY.to_owned(), urn.clone(), AspectName::OWNERSHIP)
}

pub(super) async fn edges_are_listed_from_both_ends(harness: &impl Harness) {
    let store = harness.store();
    let (table, marketing, user) = (dataset("t"), domain("marketing"), domain("user"));
    let derived = edges(&[(MEMBER_OF, &marketing)]);
    put(store, &key(&table, AspectName::DOMAINS), "1", derived).await;
    let derived = edges(&[(OWNED_BY, &user)]);
    put(store, &key(&table, AspectName::OWNERSHIP), "1", derived).await;
    assert_eq!(
        listed(store, &table, true).await,
        [member(&marketing), owned(&user)]
    );
    assert_eq!(listed(store, &marketing, false).await, [member(&table)]);
    assert_eq!(listed(store, &user, false).await, [owned(&table)]);
    assert_eq!(listed(store, &table, false).await, []);
    assert_eq!(listed(store, &marketing, true).await, []);
}

pub(super) async fn edges_are_filtered_by_relationship_and_pages_count_all(harness: &impl Harness) {
    let store = harness.store();
    let marketing = domain("marketing");
    for name in ["c", "a", "d", "b"] {
        let derived = edges(&[(MEMBER_OF, &marketing), (OWNED_BY, &marketing)]);
        put(
            store,
            &key(&dataset(name), AspectName::DOMAINS),
            "1",
            derived,
        )
        .await;
    }
    let page = async |relationships: &[&str], start, limit| {
        let page = page(store, &marketing, false, relationships, start, limit).await;
        let urns: Vec<Urn> = page.items.into_iter().map(|item| item.urn).collect();
        (page.total, urns)
    };
    let [a, b, c, d] = ["a", "b", "c", "d"].map(dataset);
    assert_eq!(
        page(&[MEMBER_OF], 1, 2).await,
        (4, vec![b.clone(), c.clone()])
    );
    assert_eq!(
        page(&[OWNED_BY], 0, 10).await,
        (4, vec![a.clone(), b, c, d.clone()])
    );
    assert_eq!(page(&[OWNED_BY, MEMBER_OF], 3, 2).await, (8, vec![d, a]));
    assert_eq!(page(&[], 0, 0).await, (8, vec![]));
    assert_eq!(page(&["Contains"], 0, 10).await, (0, vec![]));
}

pub(super) async fn each_entity_has_its_own_page_of_edges(harness: &impl Harness) {
    let store = harness.store();
    let (many, few, none) = (domain("many"), domain("few"), domain("none"));
    for name in ["c", "a", "b"] {
        let derived = edges(&[(MEMBER_OF, &many), (OWNED_BY, &many)]);
        put(
            store,
            &key(&dataset(name), AspectName::DOMAINS),
            "1",
            derived,
        )
        .await;
    }
    let derived = edges(&[(MEMBER_OF, &few)]);
    put(
        store,
        &key(&dataset("d"), AspectName::DOMAINS),
        "1",
        derived,
    )
    .await;
    let pages = store
        .edges_list(
            &[many.clone(), none, few, many],
            false,
            &[MEMBER_OF],
            &[],
            1,
            1,
        )
        .await
        .unwrap();
    let pages: Vec<(usize, Vec<Urn>)> = pages
        .into_iter()
        .map(|page| {
            let urns = page.items.into_iter().map(|item| item.urn).collect();
            (page.total, urns)
        })
        .collect();
    let second = (3, vec![dataset("b")]);
    assert_eq!(pages, [second.clone(), (0, vec![]), (1, vec![]), second]);
    let outgoing = store
        .edges_list(&[dataset("a"), dataset("d")], true, &[], &[], 0, 10)
        .await
        .unwrap();
    let totals: Vec<usize> = outgoing.iter().map(|page| page.total).collect();
    assert_eq!(totals, [2, 1]);
    let nothing = store.edges_list(&[], true, &[], &[], 0, 10).await.unwrap();
    assert!(nothing.is_empty());
}

pub(super) async fn excluded_types_are_neither_listed_nor_counted(harness: &impl Harness) {
    let store = harness.store();
    let root = domain("root");
    let sources = [dataset("a"), domain("sub")];
    for source in &sources {
        let derived = edges(&[(MEMBER_OF, &root)]);
        put(store, &key(source, AspectName::STATUS), "1", derived).await;
    }
    for (excluded, expected) in [("dataset", &sources[1]), ("domain", &sources[0])] {
        let urns = std::slice::from_ref(&root);
        let pages = store.edges_list(urns, false, &[], &[excluded], 0, 10).await;
        let page = pages.unwrap().remove(0);
        let urns: Vec<&Urn> = page.items.iter().map(|item| &item.urn).collect();
        assert_eq!((page.total, urns), (1, vec![expected]));
    }
    let outgoing = store.edges_list(&sources, true, &[], &["domain"], 0, 10);
    assert!(outgoing.await.unwrap().iter().all(|page| page.total == 0));
}

pub(super) async fn a_write_replaces_only_the_edges_of_its_aspect(harness: &impl Harness) {
    let store = harness.store();
    let (table, a, b, user) = (dataset("t"), domain("a"), domain("b"), domain("user"));
    let domains = key(&table, AspectName::DOMAINS);
    let ownership = key(&table, AspectName::OWNERSHIP);
    put(store, &ownership, "1", edges(&[(OWNED_BY, &user)])).await;
    put(
        store,
        &domains,
        "1",
        edges(&[(MEMBER_OF, &a), (MEMBER_OF, &user)]),
    )
    .await;
    put(
        store,
        &domains,
        "2",
        edges(&[(MEMBER_OF, &user), (MEMBER_OF, &b)]),
    )
    .await;
    assert_eq!(listed(store, &a, false).await, []);
    let expected = [member(&b), member(&user), owned(&user)];
    assert_eq!(listed(store, &table, true).await, expected);
    put(store, &domains, "3", edges(&[])).await;
    assert_eq!(listed(store, &table, true).await, [owned(&user)]);
}

pub(super) async fn deleting_an_aspect_deletes_its_edges(harness: &impl Harness) {
    let store = harness.store();
    let (table, a) = (dataset("t"), domain("a"));
    let domains = key(&table, AspectName::DOMAINS);
    put(store, &domains, "1", edges(&[(MEMBER_OF, &a)])).await;
    let ownership = key(&table, AspectName::OWNERSHIP);
    put(store, &ownership, "1", edges(&[(OWNED_BY, &a)])).await;
    delete(store, &domains).await;
    assert_eq!(listed(store, &a, false).await, [owned(&table)]);
}

pub(super) async fn duplicate_edges_are_stored_once(harness: &impl Harness) {
    let store = harness.store();
    let (table, a) = (dataset("t"), domain("a"));
    let derived = edges(&[(MEMBER_OF, &a), (MEMBER_OF, &a)]);
    put(store, &key(&table, AspectName::DOMAINS), "1", derived).await;
    assert_eq!(listed(store, &table, true).await, [member(&a)]);
}

pub(super) async fn transactions_list_edges_into_an_entity_by_aspect(harness: &impl Harness) {
    let store = harness.store();
    let a = domain("a");
    for name in ["t", "s"] {
        let derived = edges(&[(MEMBER_OF, &a)]);
        put(
            store,
            &key(&dataset(name), AspectName::DOMAINS),
            "1",
            derived,
        )
        .await;
        let derived = edges(&[(OWNED_BY, &a)]);
        put(
            store,
            &key(&dataset(name), AspectName::OWNERSHIP),
            "1",
            derived,
        )
        .await;
    }
    transact::<(), StoreError, _>(store, |tx| {
        Box::pin(async move {
            let members = tx.edges_into(&domain("a"), AspectName::DOMAINS, 10).await?;
            let urns: Vec<&Urn> = members.iter().map(|related| &related.urn).collect();
            assert_eq!(urns, [&dataset("s"), &dataset("t")]);
            assert!(
                members
                    .iter()
                    .all(|related| related.relationship == MEMBER_OF)
            );
            let first = tx.edges_into(&domain("a"), AspectName::DOMAINS, 1).await?;
            assert_eq!(first, members[..1]);
            let none = tx
                .edges_into(&domain("a"), AspectName::GLOBAL_TAGS, 10)
                .await?;
            assert_eq!(none, []);
            Ok(())
        })
    })
    .await
    .unwrap();
}
