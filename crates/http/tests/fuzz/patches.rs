//! Patches: one fails and changes nothing, or the result is valid. Its operations give the same
//! result one by one.

use axum::http::StatusCode;
use docent_model::aspects::AuditStamp;
use docent_model::patch::{Patch, PatchBudget};
use docent_model::{Registry, Urn};
use serde_json::{Value, json};

use crate::engine::{Format, Outcome, Target};
use crate::proposals::expect_valid;
use crate::support::{App, proposal};
use crate::{expect_clear, world};

const TARGET: Target = Target {
    name: "patches",
    format: Format::Json,
    dictionary: &[
        "add",
        "remove",
        "replace",
        "move",
        "copy",
        "test",
        "op",
        "path",
        "from",
        "value",
        "/",
        "-",
        "~0",
        "~1",
        "tags",
        "owners",
        "fields",
        "arrayPrimaryKeys",
        "forceGenericPatch",
        "patch",
        "urn:li:tag:pii",
        "urn:li:corpuser:datahub",
        "elements",
        "/tags/urn:li:tag:pii",
        "␟",
        "upstreams",
        "fineGrainedLineages",
        "customProperties",
        "editableSchemaFieldInfo",
    ],
};

#[tokio::test]
async fn fuzz_patches_fail_without_effect_or_yield_a_valid_value() {
    let app = world().await;
    TARGET.run(async |input| check(&app, input).await).await;
    let damage = app.store().check().await.unwrap();
    assert!(damage.is_empty(), "{damage:#?}");
}

async fn check(app: &App, input: &str) -> Outcome {
    let parsed = serde_json::from_str::<Value>(input).unwrap_or_default();
    let (urn, aspect) = (&parsed["urn"], &parsed["aspect"]);
    let (Some(urn), Some(aspect)) = (urn.as_str(), aspect.as_str()) else {
        return Ok("no address".to_owned());
    };
    let (base, patch) = (&parsed["base"], &parsed["patch"]);
    let (status, reply) = app.propose("UPSERT", urn, aspect, base).await;
    if status != StatusCode::OK {
        return expect_clear(status, &reply);
    }
    expect_same_one_by_one(aspect, base, patch)?;
    let base = app.aspect(urn, aspect).await;
    let mut wire = proposal("PATCH", urn, aspect, patch);
    wire["aspect"]["contentType"] = json!("application/json-patch+json");
    let body = json!({"proposal": wire});
    let (status, reply) = app.post("/aspects?action=ingestProposal", &body).await;
    let outcome = expect_clear(status, &reply)?;
    let patched = app.aspect(urn, aspect).await;
    if status != StatusCode::OK {
        return if patched == base {
            Ok(outcome)
        } else {
            Err(format!("{status} {reply}, and {base:?} became {patched:?}"))
        };
    }
    let mut patched = patched.ok_or("the aspect is gone")?;
    expect_valid(urn, aspect, &mut patched)?;
    Ok(format!("{outcome} {aspect}"))
}

/// A list of operations gives what they give one after the other.
fn expect_same_one_by_one(aspect: &str, base: &Value, patch: &Value) -> Result<(), String> {
    let (Some(aspect), Some(operations)) = (Registry::get().aspect(aspect), patch.as_array())
    else {
        return Ok(());
    };
    let stamp = AuditStamp::new(&Urn::parse("urn:li:corpuser:datahub").unwrap(), 0);
    let apply = |patch: Value, value: Option<Value>| {
        let patch = Patch::from_value(patch).ok()?;
        patch
            .apply(aspect, value, &stamp, &PatchBudget::default())
            .ok()
    };
    let whole = apply(patch.clone(), Some(base.clone()));
    let single = operations
        .iter()
        .try_fold(base.clone(), |value, operation| {
            apply(json!([operation]), Some(value))
        });
    // In between, a value may have a shape that has no keys, and then only the list fails or works.
    match (&whole, &single) {
        (Some(whole), Some(single)) if whole != single => {
            Err(format!("all at once give {whole}, one by one {single}"))
        }
        _ => Ok(()),
    }
}
