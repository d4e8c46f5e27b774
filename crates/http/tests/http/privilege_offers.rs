//! `privileges { … }` of an entity offers what its changes need: pages show a button for exactly
//! what the server lets the caller do.

use serde_json::{Value, json};

use crate::access::{FINANCE, GROUP, TAG, TERM, app, tokens};
use crate::hidden::world::{assign, grant};
use crate::support::{App, DATASET, token_of};

const CONTAINER: &str = "urn:li:container:c";
/// A column of [`DATASET`].
const COLUMN: &str = "urn:li:schemaField:(urn:li:dataset:(urn:li:dataPlatform:hive,fct_users_deleted,PROD),user_name)";
/// One of the callers.
const RITA: &str = "urn:li:corpuser:rita";
const PROPERTY: &str = "urn:li:structuredProperty:retention";

/// The privileges that allow a part of what can be changed of an entity.
const PARTS: [&str; 17] = [
    "EDIT_ENTITY_DOCS",
    "EDIT_ENTITY_TAGS",
    "EDIT_ENTITY_GLOSSARY_TERMS",
    "EDIT_ENTITY_OWNERS",
    "EDIT_ENTITY_DOC_LINKS",
    "EDIT_DOMAINS_PRIVILEGE",
    "EDIT_DEPRECATION_PRIVILEGE",
    "EDIT_ENTITY_PROPERTIES",
    "EDIT_ENTITY_ASSERTIONS",
    "EDIT_ENTITY_STATUS",
    "EDIT_LINEAGE",
    "EDIT_ENTITY_EMBED",
    "EDIT_DATASET_COL_TAGS",
    "EDIT_DATASET_COL_GLOSSARY_TERMS",
    "EDIT_DATASET_COL_DESCRIPTION",
    "EDIT_USER_PROFILE",
    "EDIT_ENTITY",
];

/// Fields whose mutations find some of the entities as they would be after it.
const UNCHANGED: [&str; 3] = ["canEditDomains", "canEditDeprecation", "canEditLineage"];

/// What came of a mutation.
#[derive(Debug, PartialEq)]
enum Outcome {
    Done,
    Proposed,
    Denied,
}

/// A field of the privileges on an entity, and a mutation that it offers.
type Offer = (&'static str, String);

/// Entities, each with its type in the schema and what it offers.
fn offers() -> Vec<(&'static str, &'static str, Vec<Offer>)> {
    let on = |urn: &str, members: &str, field: &str| {
        format!(r#"{field}(input: {{ {members}, resourceUrn: "{urn}" }})"#)
    };
    let tag = format!(r#"tagUrn: "{TAG}""#);
    let term = format!(r#"termUrn: "{TERM}""#);
    let owner =
        r#"ownerUrn: "urn:li:corpuser:eddie", ownerEntityType: CORP_USER, type: TECHNICAL_OWNER"#;
    let link = r#"linkUrl: "https://example.com", label: "l""#;
    let text = r#"description: "d""#;
    let rename = |urn: &str| format!(r#"updateName(input: {{ urn: "{urn}", name: "Other" }})"#);
    let in_column = |members: &str, field: &str| {
        let members =
            format!(r#"{members}, subResourceType: DATASET_FIELD, subResource: "user_name""#);
        on(DATASET, &members, field)
    };
    let properties = |urn: &str| {
        format!(
            r#"upsertStructuredProperties(input: {{ assetUrn: "{urn}", structuredPropertyInputParams: [
                {{ structuredPropertyUrn: "{PROPERTY}", values: [{{ stringValue: "1y" }}] }}] }}) {{ properties {{ structuredProperty {{ urn }} }} }}"#
        )
    };
    let patch_of = |urn: &str, aspect: &str, path: &str, value: &str| {
        format!(
            r#"patchEntity(input: {{ urn: "{urn}", aspectName: "{aspect}", patch: [{{ op: ADD, path: "{path}", value: {value} }}] }}) {{ urn }}"#
        )
    };
    let patch = |aspect: &str, path: &str, value: &str| patch_of(DATASET, aspect, path, value);
    // What most types have.
    let common = |urn: &str| {
        vec![
            ("canEditDescription", on(urn, text, "updateDescription")),
            ("canEditOwners", on(urn, owner, "addOwner")),
        ]
    };
    let assets = |urn: &str| {
        let mut offers = common(urn);
        offers.extend([
            ("canEditTags", on(urn, &tag, "addTag")),
            ("canEditGlossaryTerms", on(urn, &term, "addTerm")),
            ("canEditLinks", on(urn, link, "upsertLink")),
            (
                "canEditDomains",
                format!(r#"setDomain(entityUrn: "{urn}", domainUrn: "{FINANCE}")"#),
            ),
            (
                "canEditDeprecation",
                format!(r#"updateDeprecation(input: {{ urn: "{urn}", deprecated: false }})"#),
            ),
        ]);
        offers
    };
    let mut dataset = assets(DATASET);
    dataset.extend([
        ("canEditProperties", properties(DATASET)),
        (
            "canEditAssertions",
            format!(
                r#"upsertCustomAssertion(urn: "urn:li:assertion:fresh", input: {{ entityUrn: "{DATASET}", type: "t",
                    description: "d", platform: {{ urn: "urn:li:dataPlatform:hive" }} }}) {{ urn }}"#
            ),
        ),
        ("canEditLineage", patch("upstreamLineage", "/upstreams", r#""[]""#)),
        ("canEditEmbed", patch("embed", "/renderUrl", r#""\"https://example.com\"""#)),
        ("canEditSchemaFieldTags", in_column(&tag, "addTag")),
        ("canEditSchemaFieldGlossaryTerms", in_column(&term, "addTerm")),
        ("canEditSchemaFieldDescription", in_column(text, "updateDescription")),
        ("canManageEntity", patch("subTypes", "/typeNames", r#""[\"Table\"]""#)),
    ]);
    let mut domain = common(FINANCE);
    domain.push(("canEditLinks", on(FINANCE, link, "upsertLink")));
    domain.push(("canManageEntity", rename(FINANCE)));
    let mut term_offers = common(TERM);
    term_offers.push(("canManageEntity", rename(TERM)));
    let mut group = common(GROUP);
    group.push(("canManageEntity", rename(GROUP)));
    let user = vec![
        (
            "canEditDescription",
            patch_of(RITA, "corpUserEditableInfo", "/aboutMe", r#""\"me\"""#),
        ),
        ("canEditTags", on(RITA, &tag, "addTag")),
    ];
    let column = vec![
        ("canEditTags", on(COLUMN, &tag, "addTag")),
        ("canEditGlossaryTerms", on(COLUMN, &term, "addTerm")),
        ("canEditProperties", properties(COLUMN)),
    ];
    vec![
        ("Dataset", DATASET, dataset),
        ("Container", CONTAINER, assets(CONTAINER)),
        ("Domain", FINANCE, domain),
        ("GlossaryTerm", TERM, term_offers),
        ("CorpGroup", GROUP, group),
        ("CorpUser", RITA, user),
        ("SchemaFieldEntity", COLUMN, column),
    ]
}

async fn outcome(app: &App, token: &str, mutation: &str) -> Outcome {
    let reply = app
        .graphql_as(token, &format!("mutation {{ {mutation} }}"))
        .await;
    let error = &reply["errors"][0];
    if error["extensions"]["code"] == 403 {
        return Outcome::Denied;
    }
    assert!(error.is_null(), "{mutation}: {reply}");
    if reply["extensions"]["proposals"].is_array() {
        Outcome::Proposed
    } else {
        Outcome::Done
    }
}

#[tokio::test]
async fn entities_offer_exactly_the_changes_that_are_allowed() {
    let app = app().await;
    // It is stored with the first aspect.
    app.ingest(COLUMN, "status", &json!({"removed": false}))
        .await;
    let mut callers = Vec::new();
    for (letter, token) in tokens(&app).await {
        // The Proposer comes first, while there is something to propose.
        let index = if letter == 'P' { 0 } else { callers.len() };
        callers.insert(index, (letter.to_string(), token));
    }
    for privilege in PARTS {
        let user = format!("urn:li:corpuser:{privilege}");
        let token = token_of(&app.catalog, &user, None).await;
        assign(&app, &user, "Reader").await;
        grant(&app, privilege, &user, &[privilege], &Value::Null).await;
        callers.push((privilege.to_owned(), token));
    }
    let mut wrong = Vec::new();
    for (kind, urn, offers) in offers() {
        let fields: Vec<&str> = offers.iter().map(|(field, _)| *field).collect();
        let query = format!(
            r#"{{ entity(urn: "{urn}") {{ ... on {kind} {{ privileges {{ canProposeChanges {} }} }} }} }}"#,
            fields.join(" ")
        );
        for (caller, token) in &callers {
            let reply = app.graphql_as(token, &query).await;
            let privileges = &reply["data"]["entity"]["privileges"];
            for (field, mutation) in &offers {
                // Assertions cannot be proposed.
                let proposes =
                    privileges["canProposeChanges"] == true && *field != "canEditAssertions";
                let expected = match privileges[field].as_bool().unwrap() {
                    true => Outcome::Done,
                    false if proposes => Outcome::Proposed,
                    false => Outcome::Denied,
                };
                let found = outcome(&app, token, mutation).await;
                // There is nothing to propose if the entity is like that already.
                let found = match found {
                    Outcome::Done if proposes && UNCHANGED.contains(field) => Outcome::Proposed,
                    found => found,
                };
                if found != expected {
                    wrong.push(format!(
                        "{urn} {field} {caller}: offered {expected:?}, but {found:?}"
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
