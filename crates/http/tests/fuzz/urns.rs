//! URNs: whatever is accepted is the same URN when its text is parsed again, with the same parts.

use docent_model::{Registry, Urn, UrnError};

use crate::engine::{Format, Outcome, Target};

const TARGET: Target = Target {
    name: "urns",
    format: Format::Text,
    dictionary: &[
        "urn:li:",
        "urn",
        "li",
        ":",
        "(",
        ")",
        ",",
        "dataset",
        "tag",
        "schemaField",
        "corpuser",
        "dataPlatform",
        "PROD",
        "urn:li:tag:a",
        "urn:li:dataPlatform:hive",
        "%28",
        "%2C",
    ],
};

#[tokio::test]
async fn fuzz_urns_round_trip_with_their_parts() {
    TARGET.run(async |text| check(text)).await;
}

fn check(text: &str) -> Outcome {
    let urn = match Urn::parse(text) {
        Ok(urn) => urn,
        Err(error) => return Ok(kind(&error)),
    };
    if Urn::parse(urn.as_str()).as_ref() != Ok(&urn) {
        return Err(format!("{urn} is another URN when it is parsed again"));
    }
    let whole = format!("urn:li:{}:{}", urn.entity_type(), urn.key());
    if whole != urn.as_str() {
        return Err(format!("{urn} has the parts {whole}"));
    }
    let parts = urn.key_parts();
    let key = match parts.as_slice() {
        [single] => (*single).to_owned(),
        parts => format!("({})", parts.join(",")),
    };
    if key != urn.key() {
        return Err(format!("{urn} has the key parts {parts:?}"));
    }
    let json = serde_json::to_string(&urn).map_err(|error| error.to_string())?;
    if serde_json::from_str::<Urn>(&json).ok().as_ref() != Some(&urn) {
        return Err(format!("{json} is not the URN {urn}"));
    }
    let registry = Registry::get();
    let entity = match registry.check_urn(&urn) {
        Ok(entity) => entity,
        Err(error) => return Ok(kind(&error)),
    };
    let mut value = registry.key_aspect_value(&urn).ok_or("no key aspect")?;
    let members = value.as_object().ok_or("no object")?.values();
    if !members
        .map(|member| member.as_str())
        .eq(parts.into_iter().map(Some))
    {
        return Err(format!("{urn} has the key {value}"));
    }
    match registry.validate(entity, entity.key_aspect, &mut value) {
        Ok(false) => Ok(entity.name.to_owned()),
        other => Err(format!("the key {value} of {urn} is not valid: {other:?}")),
    }
}

fn kind(error: &UrnError) -> String {
    let debug = format!("{error:?}");
    debug.split(' ').next().unwrap_or_default().to_owned()
}
