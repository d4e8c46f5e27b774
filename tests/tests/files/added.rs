//! What a plan checks of values that files add.

use anyhow::ensure;
use docent_e2e::{Options, Server};
use serde_json::json;

use crate::{Files, REFUNDS, REFUNDS_FILE, exported, stored};

/// The errors of a plan, which must have some.
fn errors(files: &Files<'_>) -> anyhow::Result<Vec<String>> {
    let plan = files.run("plan", &[])?;
    ensure!(plan.code == Some(1), "{plan:?}");
    let lines = plan.stdout.lines();
    let errors = lines.filter_map(|line| line.strip_prefix("error: "));
    Ok(errors.map(str::to_owned).collect())
}

#[test]
fn added_links_and_owners_are_checked_as_by_mutations() -> anyhow::Result<()> {
    let server = Server::start(Options::default().demo())?;
    // Ingestion has no rules for links and owners.
    let stamp = json!({"time": 0, "actor": "urn:li:corpuser:datahub"});
    let link = json!({"url": "javascript:old()", "description": "Old", "createStamp": stamp});
    let owner = json!({"owner": "urn:li:corpuser:gone", "type": "NONE"});
    let odd = json!([{
        "urn": REFUNDS,
        "institutionalMemory": {"value": {"elements": [link]}},
        "ownership": {"value": {"owners": [owner]}},
    }]);
    let reply = server.post("/openapi/v3/entity/dataset?async=false", &odd)?;
    ensure!(reply.status == 200, "{reply:?}");
    let files = exported(&server)?;
    let text = files.read(REFUNDS_FILE)?;
    ensure!(text.contains("\n  - user: gone\n"), "{text}");

    let link = "  - url: javascript:old()\n    label: Old\n";
    files.edit(
        REFUNDS_FILE,
        link,
        &format!("{link}  - url: javascript:alert(1)\n    label: New\n"),
    )?;
    let owner = "  - user: gone\n";
    files.edit(
        REFUNDS_FILE,
        owner,
        &format!("  - user: mistyped\n  - group: Nobody <urn:li:corpGroup:nobody>\n    type: urn:li:ownershipType:nope\n{owner}"),
    )?;
    let text = files.read(REFUNDS_FILE)?;
    let line_of = |part: &str| {
        text.lines()
            .position(|line| line.contains(part))
            .map_or(0, |at| at + 1)
    };
    let missing = "does not exist: check the spelling, or create it first";
    let mut expected = vec![
        (
            line_of("alert(1)"),
            "URL scheme 'javascript' is not allowed. Use one of http, https, ftp, mailto."
                .to_owned(),
        ),
        (
            line_of("mistyped"),
            format!("urn:li:corpuser:mistyped {missing}"),
        ),
        (
            line_of("Nobody"),
            format!("urn:li:corpGroup:nobody {missing}"),
        ),
        (
            line_of("Nobody"),
            format!("urn:li:ownershipType:nope {missing}"),
        ),
    ];
    expected.sort();
    let expected = expected
        .into_iter()
        .map(|(line, message)| format!("{REFUNDS_FILE}:{line}: {message}"));
    let expected: Vec<String> = expected.collect();
    let found = errors(&files)?;
    ensure!(found == expected, "{found:#?}\n{expected:#?}");

    // What the catalog has is valid, and so is an owner that a file creates.
    let text = text
        .replace("javascript:alert(1)", "https://example.com/new")
        .replace("mistyped", "jdoe")
        .replace("Nobody <urn:li:corpGroup:nobody>", "Somebody")
        .replace("ownershipType:nope", "ownershipType:__system__developer");
    files.write(REFUNDS_FILE, &text)?;
    files.write(
        "somebody.yaml",
        "urn: urn:li:corpGroup:somebody\nname: Somebody\n",
    )?;
    files.apply(&[])?;
    let urls = stored(&server, REFUNDS, "institutionalMemory", "/elements")?;
    ensure!(
        urls[0]["url"] == "javascript:old()" && urls[1]["url"] == "https://example.com/new",
        "{urls}"
    );
    let owners = stored(&server, REFUNDS, "ownership", "/owners")?;
    ensure!(
        owners[1]["owner"] == "urn:li:corpGroup:somebody",
        "{owners}"
    );
    Ok(())
}

#[test]
fn a_parent_inside_its_own_child_is_an_error_of_the_plan() -> anyhow::Result<()> {
    let server = Server::start(Options::default().demo())?;
    let files = exported(&server)?;
    files.write(
        "new.yaml",
        "- urn: urn:li:domain:top\n  name: Top\n- urn: urn:li:domain:middle\n  name: Middle\n  parent: Top\n- urn: urn:li:domain:low\n  name: Low\n  parent: Middle\n",
    )?;
    files.apply(&[])?;
    // The middle is in the catalog only.
    files.write(
        "new.yaml",
        "urn: urn:li:domain:top\nparent: urn:li:domain:low\n",
    )?;
    let expected = "new.yaml:2: urn:li:domain:top cannot be inside itself (urn:li:domain:top in urn:li:domain:low in urn:li:domain:middle in urn:li:domain:top): choose another parent";
    let found = errors(&files)?;
    ensure!(found == [expected], "{found:#?}");
    files.write(
        "new.yaml",
        "urn: urn:li:domain:top\nparent: urn:li:domain:top\n",
    )?;
    let found = errors(&files)?;
    ensure!(
        found.len() == 1 && found[0].contains("inside itself"),
        "{found:#?}"
    );
    // Two moves may swap a parent and its child.
    files.write(
        "new.yaml",
        "- urn: urn:li:domain:top\n  parent: urn:li:domain:low\n- urn: urn:li:domain:middle\n  parent:\n",
    )?;
    files.apply(&[])?;
    Ok(())
}

#[test]
fn a_file_in_another_encoding_is_an_error_with_its_line() -> anyhow::Result<()> {
    let server = Server::start(Options::default().demo())?;
    let files = exported(&server)?;
    std::fs::write(
        files.root.join("latin.yaml"),
        b"urn: urn:li:tag:latin\nname: caf\xe9\n",
    )?;
    files.write("other.yaml", "urn: urn:li:tag:other\n")?;
    let found = errors(&files)?;
    ensure!(found.len() == 2, "{found:#?}");
    ensure!(
        found[0].starts_with("latin.yaml:2: the line is not UTF-8"),
        "{found:#?}"
    );
    Ok(())
}

#[test]
fn an_edit_of_a_key_that_a_file_never_had_is_newer() -> anyhow::Result<()> {
    let server = Server::start(Options::default().demo())?;
    let tag = json!([{"urn": "urn:li:tag:w", "tagProperties": {"value": {"name": "w"}}}]);
    let reply = server.post("/openapi/v3/entity/tag?async=false", &tag)?;
    ensure!(reply.status == 200, "{reply:?}");
    let files = Files::new(&server, "catalog")?;
    files.export()?;
    let mutation = format!(
        "mutation {{ setTagColor(urn: \"urn:li:tag:w\", colorHex: \"#123456\")
            updateDescription(input: {{resourceUrn: \"{REFUNDS}\", description: \"page\"}}) }}"
    );
    let reply = server.graphql(&mutation, json!({}))?;
    ensure!(reply["errors"].is_null(), "{reply}");
    let plan = files.run("plan", &[])?;
    ensure!(plan.code == Some(0) && plan.stderr.is_empty(), "{plan:?}");
    for line in [
        "  color: newer in the catalog, left alone",
        "  description: newer in the catalog, left alone",
        "no changes, 2 newer in the catalog",
    ] {
        ensure!(plan.stdout.lines().any(|it| it == line), "{line}: {plan:?}");
    }
    files.export()?;
    ensure!(files.read("tags.yaml")?.contains("123456"));
    // A key that the export wrote and the file lost is still a note.
    files.edit(REFUNDS_FILE, "description: page\n", "")?;
    let plan = files.run("plan", &[])?;
    ensure!(plan.stdout == "no changes\n", "{plan:?}");
    ensure!(
        plan.stderr.contains("no longer mentions description of"),
        "{plan:?}"
    );
    Ok(())
}
