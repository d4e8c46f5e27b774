//! The work of patches of column lineage.

use super::*;
use crate::Urn;
use crate::aspects::AuditStamp;
use crate::patch::PatchBudget;

fn key(downstream: usize, upstream: usize) -> Vec<String> {
    [
        "T",
        &format!("d{downstream}"),
        "NONE",
        &format!("u{upstream}"),
    ]
    .map(str::to_owned)
    .to_vec()
}

fn context<'a>(stamp: &'a AuditStamp, budget: &'a PatchBudget) -> PatchContext<'a> {
    PatchContext {
        template: None,
        shape: None,
        stamp,
        budget,
    }
}

fn stamp() -> AuditStamp {
    AuditStamp::new(&Urn::parse("urn:li:corpuser:a").unwrap(), 1)
}

/// A patch of ten thousand operations blocks other writers, so its cost must not be quadratic.
#[test]
fn the_scanned_elements_grow_linearly_with_the_operations() {
    const MANY: usize = 3000;
    let (stamp, budget) = (stamp(), PatchBudget::default());
    let context = context(&stamp, &budget);
    let mut columns = ColumnLineage::default();
    for (number, score) in (0..MANY).zip(0_u32..) {
        // Many columns with one upstream, one column with many, and one with many and distinct
        // scores.
        for (key, score) in [
            (key(number, 0), 1.0),
            (key(MANY, number), 1.0),
            (key(MANY + 1, number), f64::from(score)),
        ] {
            let value = json!({"confidenceScore": score});
            columns.put_relation(context, &key, value).unwrap();
        }
    }
    for number in 0..MANY {
        for key in [&key(MANY, number)[..], &key(number, 0)[..2]] {
            columns.remove_relations(context, key).unwrap();
        }
    }
    assert!(budget.used() <= 13 * MANY, "{}", budget.used());
    assert_eq!(columns.into_elements().len(), MANY);
}

#[test]
fn elements_with_too_many_relations_are_not_expanded() {
    let many: Vec<String> = (0..1100).map(|number| number.to_string()).collect();
    let element = json!({"upstreams": many, "downstreams": many});
    let columns = ColumnLineage::new(vec![element.clone()]);
    let (stamp, budget) = (stamp(), PatchBudget::default());
    let context = context(&stamp, &budget);
    let error = columns.get(context, &["NONE".to_owned()]).unwrap_err();
    assert!(error.contains("1000000"), "{error}");
    assert_eq!(columns.into_elements(), [element]);
}
