//! Writing, reading, listing and deleting aspects.

use docent_model::{AspectName, Derived, Registry, Urn};

use super::{ACTOR, Harness, NOON, dataset, delete, domain, key, put, read, version_of, write};
use crate::version::system_metadata_of;
use crate::{
    AspectKey, AspectWrite, Effect, EntityTexts, LogicalVersion, ReadReply, ReadRequest,
    RowVersion, StoredAspect,
};

pub(super) async fn an_aspect_reads_back_exactly_as_written(harness: &impl Harness) {
    let key = key(&dataset("t"), AspectName::STATUS);
    let row = StoredAspect {
        version: RowVersion::LATEST,
        metadata: "{ \"removed\" :\tfalse, \"text\": \"\u{1F980} \\u0000 ß\\n\" }".to_owned(),
        system_metadata: Some("{\"version\":\"1\"}".to_owned()),
        created_on_ms: NOON,
        created_by: ACTOR.to_owned(),
        created_for: Some("urn:li:corpuser:other".to_owned()),
    };
    let effect = Effect::Put {
        row: row.clone(),
        history: None,
        prune_through: None,
        derived: Derived::default(),
        logical_version: LogicalVersion::FIRST,
        run: None,
    };
    write(
        harness.store(),
        vec![AspectWrite {
            key: key.clone(),
            effect,
        }],
    )
    .await;
    assert_eq!(read(harness.store(), &key).await, Some(row.clone()));
    let by_version = version_of(harness.store(), &key, 0).await;
    assert_eq!(by_version, Some(row));
}

pub(super) async fn unwritten_aspects_are_missing(harness: &impl Harness) {
    let store = harness.store();
    let absent = key(&dataset("t"), AspectName::STATUS);
    assert_eq!(read(store, &absent).await, None);
    assert_eq!(version_of(store, &absent, 0).await, None);
    let urns = [dataset("t")];
    let reply = store.read(ReadRequest::entities(&urns)).await.unwrap();
    assert_eq!(reply.entities, [[]]);
    // Other aspects of the entity, and the same aspect of other entities, must not match.
    put(
        store,
        &key(&dataset("t"), AspectName::OWNERSHIP),
        "{}",
        Derived::default(),
    )
    .await;
    put(
        store,
        &key(&dataset("t2"), AspectName::STATUS),
        "{}",
        Derived::default(),
    )
    .await;
    assert_eq!(read(store, &absent).await, None);
}

pub(super) async fn rows_come_in_the_order_of_the_keys(harness: &impl Harness) {
    let store = harness.store();
    let [a, b, c] = ["a", "b", "c"].map(|name| key(&dataset(name), AspectName::STATUS));
    put(store, &a, r#"{"n":"a"}"#, Derived::default()).await;
    put(store, &c, r#"{"n":"c"}"#, Derived::default()).await;
    let keys = [c.clone(), b, a.clone(), c];
    let reply = store.read(ReadRequest::rows(&keys)).await.unwrap();
    let texts: Vec<_> = reply
        .rows
        .into_iter()
        .map(|row| row.map(|row| row.metadata.clone()))
        .collect();
    let text = |name: &str| Some(format!(r#"{{"n":"{name}"}}"#));
    assert_eq!(texts, [text("c"), None, text("a"), text("c")]);
}

pub(super) async fn existence_checks_follow_writes_and_deletions(harness: &impl Harness) {
    let store = harness.store();
    let (there, missing) = (dataset_key("there"), dataset_key("missing"));
    put(store, &there, "{}", Derived::default()).await;
    for (checked, exists) in [(&there, true), (&missing, false)] {
        let checked = std::slice::from_ref(checked);
        let reply = store.read(ReadRequest::exists(checked)).await.unwrap();
        let expected = ReadReply {
            exists: vec![exists],
            ..ReadReply::default()
        };
        assert_eq!(reply, expected);
    }
    put(store, &there, "{ }", Derived::default()).await;
    delete(store, &there).await;
    let reply = store.read(ReadRequest::exists(&[there])).await.unwrap();
    assert_eq!(reply.exists, [false]);
}

pub(super) async fn a_found_aspect_proves_the_existence_of_its_own_entity_only(
    harness: &impl Harness,
) {
    let store = harness.store();
    // The catalog writes the key aspect of every entity.
    for name in ["one", "two"] {
        put(store, &dataset_key(name), "{}", Derived::default()).await;
    }
    let status = |name| key(&dataset(name), AspectName::STATUS);
    put(store, &status("one"), r#"{"n":1}"#, Derived::default()).await;
    // Found, missing, and found on another entity than the checked one.
    for (name, checked, row, exists) in [
        ("one", "one", Some(r#"{"n":1}"#), true),
        ("two", "two", None, true),
        ("one", "missing", Some(r#"{"n":1}"#), false),
        ("missing", "one", None, true),
    ] {
        // The second read may come from a cache.
        for _ in 0..2 {
            let request = ReadRequest {
                rows: &[status(name)],
                exists: &[dataset_key(checked)],
                entities: &[],
            };
            let reply = store.read(request).await.unwrap();
            assert_eq!(reply.exists, [exists], "{name}, {checked}");
            let found = reply.into_row().map(|row| row.metadata.clone());
            assert_eq!(found.as_deref(), row, "{name}, {checked}");
        }
    }
}

pub(super) async fn existence_checks_of_many_entities_keep_their_order(harness: &impl Harness) {
    let store = harness.store();
    let names: Vec<String> = (0..100).map(|number| format!("t{number}")).collect();
    let status = |name: &String| key(&dataset(name), AspectName::STATUS);
    for name in names.iter().step_by(2) {
        put(store, &dataset_key(name), "{}", Derived::default()).await;
    }
    for name in names.iter().step_by(4) {
        put(store, &status(name), "1", Derived::default()).await;
    }
    for count in [3, 100] {
        let keys: Vec<_> = names[..count].iter().map(status).collect();
        let checked: Vec<_> = names[..count]
            .iter()
            .rev()
            .map(|name| dataset_key(name))
            .collect();
        let request = ReadRequest {
            rows: &keys,
            exists: &checked,
            entities: &[],
        };
        let reply = store.read(request).await.unwrap();
        let found: Vec<bool> = reply.rows.iter().map(Option::is_some).collect();
        let every = |step: usize| (0..count).map(move |number| number % step == 0);
        assert_eq!(found, every(4).collect::<Vec<_>>());
        assert_eq!(reply.exists, every(2).rev().collect::<Vec<_>>());
    }
}

fn dataset_key(name: &str) -> AspectKey {
    let spec = Registry::get().entity("dataset").unwrap();
    key(&dataset(name), spec.key_aspect)
}

pub(super) async fn hundreds_of_keys_are_read_at_once(harness: &impl Harness) {
    let store = harness.store();
    let keys: Vec<AspectKey> = (0..300)
        .map(|number| key(&dataset(&format!("t{number}")), AspectName::STATUS))
        .collect();
    for key in keys.iter().step_by(3) {
        put(store, key, &format!("\"{}\"", key.urn), Derived::default()).await;
    }
    let rows = store.read(ReadRequest::rows(&keys)).await.unwrap().rows;
    assert_eq!(rows.len(), 300);
    for (number, (row, key)) in rows.iter().zip(&keys).enumerate() {
        let expected = (number % 3 == 0).then(|| format!("\"{}\"", key.urn));
        assert_eq!(row.as_ref().map(|row| row.metadata.clone()), expected);
    }
}

pub(super) async fn several_large_values_are_read_at_once(harness: &impl Harness) {
    let store = harness.store();
    let large = |letter: &str| format!("\"{}\"", letter.repeat(700_000));
    let letters = ["a", "b", "c"];
    let urns = letters.map(dataset);
    let keys = urns.clone().map(|urn| key(&urn, AspectName::STATUS));
    for (key, letter) in keys.iter().zip(letters) {
        put(store, key, &large(letter), Derived::default()).await;
    }
    let request = ReadRequest {
        rows: &keys,
        exists: &[],
        entities: &urns,
    };
    let reply = store.read(request).await.unwrap();
    let rows = reply.rows.into_iter().flatten();
    let rows: Vec<String> = rows.map(|row| row.metadata.clone()).collect();
    assert!(rows == letters.map(large));
    let entities = reply.entities.into_iter().flatten();
    let entities: Vec<String> = entities.map(|(_, row)| row.metadata).collect();
    assert!(entities == letters.map(large));
}

pub(super) async fn one_request_reads_rows_existence_and_whole_entities(harness: &impl Harness) {
    let store = harness.store();
    let status = |name| key(&dataset(name), AspectName::STATUS);
    for name in ["one", "two"] {
        put(store, &dataset_key(name), "{}", Derived::default()).await;
        put(
            store,
            &status(name),
            &format!("\"{name}\""),
            Derived::default(),
        )
        .await;
    }
    // SQLite reads only few rows in place.
    for repeat in [1, 100] {
        let keys = vec![[status("two"), status("missing")]; repeat].concat();
        let checked = vec![[dataset_key("missing"), dataset_key("one")]; repeat].concat();
        let urns = vec![[dataset("missing"), dataset("two"), dataset("one")]; repeat].concat();
        let request = ReadRequest {
            rows: &keys,
            exists: &checked,
            entities: &urns,
        };
        let reply = store.read(request).await.unwrap();
        let rows = store.read(ReadRequest::rows(&keys)).await.unwrap().rows;
        assert_eq!(reply.rows, rows);
        assert_eq!(reply.rows.len(), 2 * repeat);
        let text = reply.rows[0].as_ref().map(|row| row.metadata.as_str());
        assert_eq!(text, Some("\"two\""));
        assert_eq!(reply.exists, [false, true].repeat(repeat));
        let whole = store.read(ReadRequest::entities(&urns)).await.unwrap();
        assert_eq!(reply.entities, whole.entities);
        let sizes: Vec<usize> = reply.entities.iter().map(Vec::len).collect();
        assert_eq!(sizes, [0, 2, 2].repeat(repeat));
    }
    let reply = store.read(ReadRequest::default()).await.unwrap();
    assert_eq!(reply, ReadReply::default());
}

pub(super) async fn all_aspects_of_entities_are_read_together(harness: &impl Harness) {
    let store = harness.store();
    let (one, other) = (dataset("one"), dataset("other"));
    put(
        store,
        &key(&one, AspectName::STATUS),
        r#"{"n":1}"#,
        Derived::default(),
    )
    .await;
    put(
        store,
        &key(&one, AspectName::STATUS),
        r#"{"n":2}"#,
        Derived::default(),
    )
    .await;
    put(
        store,
        &key(&one, AspectName::OWNERSHIP),
        r#"{"n":3}"#,
        Derived::default(),
    )
    .await;
    put(
        store,
        &key(&other, AspectName::STATUS),
        r#"{"n":4}"#,
        Derived::default(),
    )
    .await;
    let urns = [other, dataset("missing"), one];
    let reply = store.read(ReadRequest::entities(&urns)).await.unwrap();
    let mut texts: Vec<Vec<(AspectName, &str)>> = reply
        .entities
        .iter()
        .map(|aspects| {
            let pair = |(name, row): &'_ (AspectName, StoredAspect)| (*name, row.version);
            assert!(
                aspects
                    .iter()
                    .map(pair)
                    .all(|(_, version)| version.is_latest())
            );
            aspects
                .iter()
                .map(|(name, row)| (*name, row.metadata.as_str()))
                .collect()
        })
        .collect();
    texts[2].sort_unstable();
    assert_eq!(texts[0], [(AspectName::STATUS, r#"{"n":4}"#)]);
    assert_eq!(texts[1], []);
    assert_eq!(
        texts[2],
        [
            (AspectName::OWNERSHIP, r#"{"n":3}"#),
            (AspectName::STATUS, r#"{"n":2}"#)
        ]
    );
}

pub(super) async fn entities_are_listed_in_urn_order_page_by_page(harness: &impl Harness) {
    let store = harness.store();
    let names = ["d", "a", "e", "c", "b", "ä", "Z"];
    for name in names {
        put(
            store,
            &key(&domain(name), AspectName::STATUS),
            "{}",
            Derived::default(),
        )
        .await;
        // History must not list an entity twice.
        put(
            store,
            &key(&domain(name), AspectName::STATUS),
            "1",
            Derived::default(),
        )
        .await;
    }
    let mut expected: Vec<Urn> = names.iter().map(|name| domain(name)).collect();
    expected.sort_unstable();
    let mut listed: Vec<Urn> = Vec::new();
    loop {
        let page = store
            .urns_list("domain", AspectName::STATUS, listed.last(), 3)
            .await
            .unwrap();
        assert!(page.len() <= 3);
        if page.is_empty() {
            break;
        }
        listed.extend(page);
    }
    assert_eq!(listed, expected);
}

pub(super) async fn entities_are_listed_with_their_latest_texts(harness: &impl Harness) {
    let store = harness.store();
    let key_aspect = Registry::get().check_urn(&dataset("a")).unwrap().key_aspect;
    for name in ["b", "a", "c"] {
        for (aspect, text) in [
            (key_aspect, "{}"),
            (AspectName::STATUS, "1"),
            (AspectName::STATUS, "2"),
        ] {
            let key = key(&dataset(name), aspect);
            put(store, &key, text, Derived::default()).await;
        }
    }
    let other = key(&domain("d"), AspectName::STATUS);
    put(store, &other, "{}", Derived::default()).await;
    let mut listed: Vec<EntityTexts> = Vec::new();
    loop {
        let after = listed.last().map(|entity| &entity.urn);
        let page = store.entities_list("dataset", after, 2).await.unwrap();
        assert!(page.len() <= 2);
        if page.is_empty() {
            break;
        }
        listed.extend(page);
    }
    for entity in &mut listed {
        entity.aspects.sort_unstable();
    }
    let expected = ["a", "b", "c"].map(|name| EntityTexts {
        urn: dataset(name),
        aspects: vec![
            (key_aspect, "{}".to_owned()),
            (AspectName::STATUS, "2".to_owned()),
        ],
    });
    assert_eq!(listed, expected);
    let nothing = store.entities_list("unknownType", None, 2).await;
    assert_eq!(nothing.unwrap(), []);
}

pub(super) async fn only_urns_with_a_key_aspect_are_listed_as_entities(harness: &impl Harness) {
    let store = harness.store();
    let dataset_key = Registry::get().check_urn(&dataset("a")).unwrap().key_aspect;
    // Without a key at the start, in the middle, twice in a row and at the end.
    for (name, aspect) in [
        ("a", AspectName::STATUS),
        ("b", dataset_key),
        ("c", AspectName::STATUS),
        ("d", AspectName::STATUS),
        ("e", dataset_key),
        ("f", dataset_key),
        ("g", AspectName::STATUS),
    ] {
        put(
            store,
            &key(&dataset(name), aspect),
            "{}",
            Derived::default(),
        )
        .await;
    }
    let first = store.entities_list("dataset", None, 2).await.unwrap();
    let urns: Vec<Urn> = first.into_iter().map(|entity| entity.urn).collect();
    assert_eq!(urns, [dataset("b"), dataset("e")]);
    let rest = store.entities_list("dataset", urns.last(), 2).await;
    let rest: Vec<Urn> = rest.unwrap().into_iter().map(|it| it.urn).collect();
    assert_eq!(rest, [dataset("f")]);
}

pub(super) async fn internal_entities_are_listed_like_all_others(harness: &impl Harness) {
    let store = harness.store();
    let session = super::urn("urn:li:docentSession:s");
    let spec = Registry::get().stored_entity("docentSession").unwrap();
    put(
        store,
        &key(&session, spec.key_aspect),
        "{}",
        Derived::default(),
    )
    .await;
    let listed = store.entities_list("docentSession", None, 2).await.unwrap();
    let expected = EntityTexts {
        urn: session,
        aspects: vec![(spec.key_aspect, "{}".to_owned())],
    };
    assert_eq!(listed, [expected]);
}

pub(super) async fn only_entities_of_the_type_are_listed(harness: &impl Harness) {
    let store = harness.store();
    // One type's name begins with the other's, and sorts on both sides of it.
    let registry = Registry::get();
    assert!(registry.entity("dataset").is_some());
    for text in [
        "urn:li:dataPlatform:hive",
        "urn:li:dataPlatformInstance:(urn:li:dataPlatform:hive,x)",
        "urn:li:dataset:(urn:li:dataPlatform:hive,t,PROD)",
        "urn:li:domain:a",
    ] {
        put(
            store,
            &key(&super::urn(text), AspectName::STATUS),
            "{}",
            Derived::default(),
        )
        .await;
    }
    put(
        store,
        &key(&domain("b"), AspectName::OWNERSHIP),
        "{}",
        Derived::default(),
    )
    .await;
    let list = async |entity_type| {
        store
            .urns_list(entity_type, AspectName::STATUS, None, 10)
            .await
            .unwrap()
    };
    assert_eq!(
        list("dataPlatform").await,
        [super::urn("urn:li:dataPlatform:hive")]
    );
    assert_eq!(list("dataset").await, [dataset("t")]);
    assert_eq!(list("domain").await, [domain("a")]);
    assert_eq!(list("data").await, []);
}

pub(super) async fn a_touch_changes_only_the_system_metadata(harness: &impl Harness) {
    let store = harness.store();
    let key = key(&dataset("t"), AspectName::STATUS);
    put(store, &key, "1", Derived::default()).await;
    put(store, &key, "2", Derived::default()).await;
    let before = read(store, &key).await.unwrap();
    let former = version_of(store, &key, 1).await;
    let touch = Effect::Touch {
        system_metadata: r#"{"runId":"touched","version":"2"}"#.to_owned(),
    };
    write(
        store,
        vec![AspectWrite {
            key: key.clone(),
            effect: touch,
        }],
    )
    .await;
    let after = read(store, &key).await.unwrap();
    assert_eq!(system_metadata_of(&after).run_id, "touched");
    assert_eq!(
        StoredAspect {
            system_metadata: None,
            ..after
        },
        StoredAspect {
            system_metadata: None,
            ..before
        }
    );
    assert_eq!(version_of(store, &key, 1).await, former);
}

pub(super) async fn a_deletion_removes_all_versions_of_that_aspect_only(harness: &impl Harness) {
    let store = harness.store();
    let deleted = key(&dataset("t"), AspectName::STATUS);
    let others = [
        key(&dataset("t"), AspectName::OWNERSHIP),
        key(&dataset("u"), AspectName::STATUS),
    ];
    for key in [&deleted, &others[0], &others[1]] {
        put(store, key, "1", Derived::default()).await;
        put(store, key, "2", Derived::default()).await;
    }
    delete(store, &deleted).await;
    for version in [0, 1] {
        assert_eq!(version_of(store, &deleted, version).await, None);
        for key in &others {
            assert!(version_of(store, key, version).await.is_some());
        }
    }
}
