//! Entities that are renamed or deleted in the catalog after an export.

use anyhow::ensure;
use docent_e2e::{Options, Server};
use reqwest::Method;
use serde_json::{Value, json};

use crate::{Files, REFUNDS, REFUNDS_FILE, exported, stored};

const TAG: &str = "urn:li:tag:private";

/// Writes aspects of an entity.
fn put(server: &Server, urn: &str, aspects: &Value) -> anyhow::Result<()> {
    let entity_type = urn.split(':').nth(2).unwrap_or_default();
    let mut entity = json!({"urn": urn});
    for (name, value) in aspects.as_object().into_iter().flatten() {
        entity[name] = json!({"value": value});
    }
    let path = format!(
        "/openapi/v3/entity/{}?async=false",
        entity_type.to_lowercase()
    );
    let reply = server.post(&path, &json!([entity]))?;
    ensure!(reply.status == 200, "{reply:?}");
    Ok(())
}

fn delete(server: &Server, urn: &str) -> anyhow::Result<()> {
    let entity_type = urn.split(':').nth(2).unwrap_or_default().to_lowercase();
    let path = format!("/openapi/v3/entity/{entity_type}/{urn}");
    let reply = server.send(server.request(Method::DELETE, &path)?)?;
    ensure!(reply.status == 200, "{reply:?}");
    Ok(())
}

#[test]
fn an_entity_that_was_deleted_in_the_catalog_is_a_conflict() -> anyhow::Result<()> {
    let server = Server::start(Options::default().demo())?;
    put(
        &server,
        TAG,
        &json!({"tagProperties": {"name": "Private", "description": "old"}}),
    )?;
    let files = exported(&server)?;
    let name = || stored(&server, TAG, "tagProperties", "/name");
    delete(&server, TAG)?;
    for command in ["plan", "apply"] {
        let output = files.run(command, &[])?;
        ensure!(output.code == Some(1), "{output:?}");
        ensure!(
            output
                .stdout
                .contains("deleted in the catalog; export again"),
            "{output:?}"
        );
        ensure!(!output.stdout.contains("(new)"), "{output:?}");
        ensure!(
            output.stderr.contains("1 conflict: remove the deleted"),
            "{output:?}"
        );
        ensure!(name()?.is_null());
    }
    let plan: Value = serde_json::from_str(&files.run("plan", &["--json"])?.stdout)?;
    ensure!(plan["conflicts"] == 1 && plan["changes"] == 0, "{plan}");
    ensure!(plan["differences"][0]["outcome"] == "DELETED", "{plan}");
    // An unchanged file has nothing to lose.
    files.export()?;
    ensure!(!files.read("tags.yaml")?.contains(TAG));
    ensure!(files.run("plan", &[])?.stdout == "no changes\n");

    put(
        &server,
        TAG,
        &json!({"tagProperties": {"name": "Private", "description": "old"}}),
    )?;
    files.export()?;
    files.edit("tags.yaml", "description: old\n", "description: new\n")?;
    delete(&server, TAG)?;
    let error = files.run("export", &[])?.failed()?;
    ensure!(error.contains("--discard-changes"), "{error}");
    let plan = files.run("plan", &[])?;
    ensure!(plan.stdout.contains("remove it from the file"), "{plan:?}");
    ensure!(files.run("apply", &[])?.code == Some(1));
    ensure!(name()?.is_null());
    files.apply(&["--overwrite", TAG])?;
    ensure!(name()? == "Private");
    files.export()?;
    ensure!(files.run("plan", &[])?.stdout == "no changes\n");

    // Files cannot create datasets.
    delete(&server, REFUNDS)?;
    ensure!(
        files
            .run("plan", &[])?
            .stdout
            .contains("deleted in the catalog")
    );
    let output = files.run("apply", &["--overwrite", "all"])?;
    ensure!(
        output.stdout.contains("is not in the catalog"),
        "{output:?}"
    );
    files.export()?;
    ensure!(!files.root.join(REFUNDS_FILE).exists());
    ensure!(files.run("plan", &[])?.stdout == "no changes\n");
    Ok(())
}

/// Names what a dataset in a domain refers to. Names of structured properties never change.
fn name_all(server: &Server, suffix: &str) -> anyhow::Result<()> {
    let name = |text: &str| format!("{text}{suffix}");
    let property = json!({
        "qualifiedName": "retention",
        "valueType": "urn:li:dataType:datahub.string",
        "entityTypes": ["urn:li:entityType:datahub.dataset"],
    });
    let term = json!({"name": name("Order"), "definition": "x", "termSource": "INTERNAL"});
    let group = json!({"displayName": name("Data"), "admins": [], "members": [], "groups": []});
    let stamp = json!({"time": 1, "actor": "urn:li:corpuser:datahub"});
    let kind = json!({"name": name("Keeper"), "created": stamp, "lastModified": stamp});
    for (urn, aspects) in [
        (TAG, json!({"tagProperties": {"name": name("Private")}})),
        (
            "urn:li:glossaryTerm:order",
            json!({"glossaryTermInfo": term}),
        ),
        ("urn:li:corpGroup:data", json!({"corpGroupInfo": group})),
        (
            "urn:li:ownershipType:keeper",
            json!({"ownershipTypeInfo": kind}),
        ),
        (
            "urn:li:structuredProperty:retention",
            json!({"propertyDefinition": property}),
        ),
        (
            "urn:li:domain:shop",
            json!({"domainProperties": {"name": name("Shop")}}),
        ),
    ] {
        put(server, urn, &aspects)?;
    }
    Ok(())
}

#[test]
fn files_refer_to_the_same_entities_after_these_are_renamed() -> anyhow::Result<()> {
    let server = Server::start(Options::default().demo())?;
    name_all(&server, "")?;
    let stamp = json!({"time": 1, "actor": "urn:li:corpuser:datahub"});
    let value = json!({
        "propertyUrn": "urn:li:structuredProperty:retention",
        "values": [{"string": "long"}],
    });
    let owner = json!({
        "owner": "urn:li:corpGroup:data",
        "type": "CUSTOM",
        "typeUrn": "urn:li:ownershipType:keeper",
    });
    put(
        &server,
        REFUNDS,
        &json!({
            "domains": {"domains": ["urn:li:domain:shop"]},
            "globalTags": {"tags": [{"tag": TAG}]},
            "glossaryTerms": {"terms": [{"urn": "urn:li:glossaryTerm:order"}], "auditStamp": stamp},
            "structuredProperties": {"properties": [value]},
            "ownership": {"owners": [owner]},
        }),
    )?;
    let part = Files::new(&server, "part")?;
    part.run("export", &["--domain", "Shop"])?.succeeded()?;
    let whole = Files::new(&server, "whole")?;
    whole.export()?;
    let text = part.read(REFUNDS_FILE)?;
    for line in [
        "  - Private <urn:li:tag:private>",
        "  - Order <urn:li:glossaryTerm:order>",
        "  - group: Data <urn:li:corpGroup:data>",
        "    type: Keeper <urn:li:ownershipType:keeper>",
        "  retention <urn:li:structuredProperty:retention>: long",
        "domain: Shop",
    ] {
        ensure!(text.lines().any(|it| it == line), "{line} in\n{text}");
    }
    ensure!(whole.read(REFUNDS_FILE)?.contains("  - Private\n"));

    name_all(&server, " of ours")?;
    put(
        &server,
        "urn:li:tag:other",
        &json!({"tagProperties": {"name": "Private"}}),
    )?;
    for files in [&part, &whole] {
        let plan = files.run("plan", &[])?;
        ensure!(plan.code == Some(0), "{plan:?}");
        ensure!(plan.stdout.contains("\nno changes, "), "{plan:?}");
    }
    // The domain of the directory also has the name that is in its files.
    part.run("export", &["--domain", "Shop"])?.succeeded()?;
    whole.export()?;
    ensure!(
        part.read(REFUNDS_FILE)?
            .contains("  - Private of ours <urn:li:tag:private>\n")
    );
    ensure!(whole.read(REFUNDS_FILE)?.contains("  - Private of ours\n"));
    for files in [&part, &whole] {
        let plan = files.run("plan", &[])?;
        ensure!(plan.stdout == "no changes\n", "{plan:?}");
    }
    Ok(())
}
