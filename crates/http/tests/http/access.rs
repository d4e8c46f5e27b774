//! Every mutation, called by every kind of caller. A mutation without a row fails the test.

mod accounts;
mod assets;
mod collections;
mod governance;
mod ingestion;
mod quality;
mod texts;

use std::collections::BTreeSet;

use docent_catalog::Caller;
use docent_catalog::tokens::{NewToken, TokenScope};
use docent_model::Urn;
use serde_json::{Value, json};

use crate::access_to_others::SELF_SERVICE;
use crate::support::{App, DATASET, role, token_of};

pub(crate) use collections::{APPLICATION, NODE, PRODUCT};

pub(crate) const FINANCE: &str = "urn:li:domain:finance";
/// A domain below [`FINANCE`].
const ACCOUNTING: &str = "urn:li:domain:accounting";
pub(crate) const TAG: &str = "urn:li:tag:pii";
pub(crate) const TERM: &str = "urn:li:glossaryTerm:revenue";
const PROPERTY: &str = "urn:li:structuredProperty:retention";
pub(crate) const GROUP: &str = "urn:li:corpGroup:team";
pub(crate) const ASSERTION: &str = "urn:li:assertion:fresh";
pub(crate) const POLICY: &str = "urn:li:dataHubPolicy:hr-stewards";

/// The callers by letter: a Reader, an Editor, an administrator, the steward of the domain of
/// [`DATASET`], the steward of another domain, a Reader who owns [`DATASET`], and a Proposer. There
/// are two more: tokens of the administrator that read only (V) and that change what is in the
/// domain of [`DATASET`] (D).
pub(crate) const CALLERS: [(char, &str); 7] = [
    ('R', "rita"),
    ('E', "eddie"),
    ('A', "ann"),
    ('S', "sam"),
    ('H', "hugo"),
    ('O', "olga"),
    ('P', "paula"),
];

const EVERYONE: &str = "REASHODP";
/// Those who may edit [`DATASET`], or propose it.
const DATASET_EDITORS: &str = "EASODP";
/// Those who may edit assertions of [`DATASET`], which cannot be proposed.
const ASSERTION_EDITORS: &str = "EASOD";
/// Those who may edit the domain [`FINANCE`], or propose it.
const DOMAIN_EDITORS: &str = "EASDP";
const EDITORS: &str = "EA";
/// Those who may edit what is in no domain, or propose it.
const PROPOSERS: &str = "EAP";
const ADMINISTRATORS: &str = "A";

/// A mutation, its arguments and selection, and who may call it.
type Row = (&'static str, String, &'static str);

pub(crate) fn rows() -> Vec<Row> {
    [
        accounts::rows(),
        assets::rows(),
        collections::rows(),
        governance::rows(),
        ingestion::rows(),
        quality::rows(),
        texts::rows(),
        shared_rows(),
    ]
    .concat()
}

/// What deletes something comes last.
fn shared_rows() -> Vec<Row> {
    let dataset = format!(r#"resourceUrn: "{DATASET}""#);
    let resources = format!(r#"resources: [{{ resourceUrn: "{DATASET}" }}]"#);
    let owner =
        r#"ownerUrn: "urn:li:corpuser:olga", ownerEntityType: CORP_USER, type: TECHNICAL_OWNER"#;
    let policy = r#"{ type: PLATFORM, name: "p", state: INACTIVE, privileges: ["MANAGE_TAGS"],
        actors: { resourceOwners: false, allUsers: false, allGroups: false } }"#;
    let patch = format!(
        r#"{{ urn: "{DATASET}", aspectName: "status", patch: [{{ op: ADD, path: "/removed", value: "false" }}] }}"#
    );
    let input = |members: String| format!("(input: {{ {members} }})");
    vec![
        (
            "updateDataset",
            format!(
                r#"(urn: "{DATASET}", input: {{ editableProperties: {{ description: "d" }} }}) {{ urn }}"#
            ),
            DATASET_EDITORS,
        ),
        (
            "updateDatasets",
            format!(
                r#"(input: [{{ urn: "{DATASET}", update: {{ editableProperties: {{ description: "d" }} }} }}]) {{ urn }}"#
            ),
            DATASET_EDITORS,
        ),
        (
            "updateDescription",
            input(format!(r#"description: "d", {dataset}"#)),
            DATASET_EDITORS,
        ),
        (
            "updateName",
            input(format!(r#"name: "Money", urn: "{FINANCE}""#)),
            DOMAIN_EDITORS,
        ),
        (
            "updateDisplayProperties",
            format!(r##"(urn: "{FINANCE}", input: {{ colorHex: "#336699" }})"##),
            DOMAIN_EDITORS,
        ),
        (
            "createDomain",
            input(r#"name: "New""#.to_owned()),
            PROPOSERS,
        ),
        (
            "moveDomain",
            input(format!(r#"resourceUrn: "{ACCOUNTING}""#)),
            PROPOSERS,
        ),
        (
            "setDomain",
            format!(r#"(entityUrn: "{DATASET}", domainUrn: "{FINANCE}")"#),
            DATASET_EDITORS,
        ),
        (
            "batchSetDomain",
            input(format!(r#"domainUrn: "{FINANCE}", {resources}"#)),
            DATASET_EDITORS,
        ),
        (
            "addLink",
            input(format!(
                r#"linkUrl: "https://example.com", label: "l", {dataset}"#
            )),
            DATASET_EDITORS,
        ),
        (
            "updateLink",
            input(format!(
                r#"currentUrl: "https://example.com", currentLabel: "l", linkUrl: "https://example.com", label: "m", {dataset}"#
            )),
            DATASET_EDITORS,
        ),
        (
            "upsertLink",
            input(format!(
                r#"linkUrl: "https://example.com", label: "l", {dataset}"#
            )),
            DATASET_EDITORS,
        ),
        (
            "removeLink",
            input(format!(r#"linkUrl: "https://example.com", {dataset}"#)),
            DATASET_EDITORS,
        ),
        (
            "addTag",
            input(format!(r#"tagUrn: "{TAG}", {dataset}"#)),
            DATASET_EDITORS,
        ),
        (
            "addTags",
            input(format!(r#"tagUrns: ["{TAG}"], {dataset}"#)),
            DATASET_EDITORS,
        ),
        (
            "removeTag",
            input(format!(r#"tagUrn: "{TAG}", {dataset}"#)),
            DATASET_EDITORS,
        ),
        (
            "batchAddTags",
            input(format!(r#"tagUrns: ["{TAG}"], {resources}"#)),
            DATASET_EDITORS,
        ),
        (
            "batchRemoveTags",
            input(format!(r#"tagUrns: ["{TAG}"], {resources}"#)),
            DATASET_EDITORS,
        ),
        (
            "addTerm",
            input(format!(r#"termUrn: "{TERM}", {dataset}"#)),
            DATASET_EDITORS,
        ),
        (
            "addTerms",
            input(format!(r#"termUrns: ["{TERM}"], {dataset}"#)),
            DATASET_EDITORS,
        ),
        (
            "removeTerm",
            input(format!(r#"termUrn: "{TERM}", {dataset}"#)),
            DATASET_EDITORS,
        ),
        (
            "batchAddTerms",
            input(format!(r#"termUrns: ["{TERM}"], {resources}"#)),
            DATASET_EDITORS,
        ),
        (
            "batchRemoveTerms",
            input(format!(r#"termUrns: ["{TERM}"], {resources}"#)),
            DATASET_EDITORS,
        ),
        (
            "addOwner",
            input(format!("{owner}, {dataset}")),
            DATASET_EDITORS,
        ),
        (
            "addOwners",
            input(format!("owners: [{{ {owner} }}], {dataset}")),
            DATASET_EDITORS,
        ),
        (
            "batchAddOwners",
            input(format!("owners: [{{ {owner} }}], {resources}")),
            DATASET_EDITORS,
        ),
        (
            "removeOwner",
            input(format!(r#"ownerUrn: "urn:li:corpuser:nobody", {dataset}"#)),
            DATASET_EDITORS,
        ),
        (
            "batchRemoveOwners",
            input(format!(
                r#"ownerUrns: ["urn:li:corpuser:nobody"], {resources}"#
            )),
            DATASET_EDITORS,
        ),
        ("createTag", input(r#"name: "New""#.to_owned()), PROPOSERS),
        (
            "updateTag",
            format!(r#"(urn: "{TAG}", input: {{ urn: "{TAG}", name: "PII" }}) {{ urn }}"#),
            PROPOSERS,
        ),
        (
            "setTagColor",
            format!(r##"(urn: "{TAG}", colorHex: "#336699")"##),
            PROPOSERS,
        ),
        (
            "updateDeprecation",
            input(format!(r#"urn: "{DATASET}", deprecated: false"#)),
            DATASET_EDITORS,
        ),
        (
            "batchUpdateDeprecation",
            input(format!("deprecated: false, {resources}")),
            DATASET_EDITORS,
        ),
        (
            "batchUpdateSoftDeleted",
            input(format!(r#"urns: ["{DATASET}"], deleted: false"#)),
            DATASET_EDITORS,
        ),
        (
            "upsertStructuredProperties",
            format!(
                r#"(input: {{ assetUrn: "{DATASET}", structuredPropertyInputParams: [{{ structuredPropertyUrn: "{PROPERTY}", values: [{{ stringValue: "1y" }}] }}] }}) {{ properties {{ structuredProperty {{ urn }} }} }}"#
            ),
            DATASET_EDITORS,
        ),
        (
            "removeStructuredProperties",
            format!(
                r#"(input: {{ assetUrn: "{DATASET}", structuredPropertyUrns: ["{PROPERTY}"] }}) {{ properties {{ structuredProperty {{ urn }} }} }}"#
            ),
            DATASET_EDITORS,
        ),
        (
            "patchEntity",
            format!("(input: {patch}) {{ urn }}"),
            DATASET_EDITORS,
        ),
        (
            "patchEntities",
            format!("(input: [{patch}]) {{ urn }}"),
            DATASET_EDITORS,
        ),
        (
            "upsertCustomAssertion",
            format!(
                r#"(urn: "{ASSERTION}", input: {{ entityUrn: "{DATASET}", type: "t", description: "d", platform: {{ urn: "urn:li:dataPlatform:hive" }} }}) {{ urn }}"#
            ),
            ASSERTION_EDITORS,
        ),
        (
            "reportAssertionResult",
            format!(r#"(urn: "{ASSERTION}", result: {{ timestampMillis: 1, type: SUCCESS }})"#),
            ASSERTION_EDITORS,
        ),
        (
            "batchAssignRole",
            input(
                r#"roleUrn: "urn:li:dataHubRole:Reader", actors: ["urn:li:corpuser:rita"]"#
                    .to_owned(),
            ),
            ADMINISTRATORS,
        ),
        ("createPolicy", format!("(input: {policy})"), ADMINISTRATORS),
        (
            "addDomainSteward",
            format!(r#"(domainUrn: "{FINANCE}", actorUrn: "{GROUP}")"#),
            ADMINISTRATORS,
        ),
        (
            "removeDomainSteward",
            format!(r#"(domainUrn: "{FINANCE}", actorUrn: "{GROUP}")"#),
            ADMINISTRATORS,
        ),
        (
            "createGroup",
            input(r#"name: "New""#.to_owned()),
            ADMINISTRATORS,
        ),
        (
            "addGroupMembers",
            input(format!(
                r#"groupUrn: "{GROUP}", userUrns: ["urn:li:corpuser:rita"]"#
            )),
            ADMINISTRATORS,
        ),
        (
            "removeGroupMembers",
            input(format!(
                r#"groupUrn: "{GROUP}", userUrns: ["urn:li:corpuser:rita"]"#
            )),
            ADMINISTRATORS,
        ),
        (
            "updateUserStatus",
            r#"(urn: "urn:li:corpuser:rita", status: ACTIVE)"#.to_owned(),
            ADMINISTRATORS,
        ),
        (
            "revokeAccessToken",
            r#"(tokenId: "unknown")"#.to_owned(),
            EVERYONE,
        ),
        // Deletions and changes of the rights of the callers.
        (
            "removeGroup",
            format!(r#"(urn: "{GROUP}")"#),
            ADMINISTRATORS,
        ),
        (
            "removeUser",
            r#"(urn: "urn:li:corpuser:former")"#.to_owned(),
            ADMINISTRATORS,
        ),
        ("deleteTag", format!(r#"(urn: "{TAG}")"#), EDITORS),
        (
            "unsetDomain",
            r#"(entityUrn: "urn:li:container:c")"#.to_owned(),
            PROPOSERS,
        ),
        (
            "removeDomain",
            r#"(entityUrn: "urn:li:container:c")"#.to_owned(),
            PROPOSERS,
        ),
        (
            "updatePolicy",
            format!(r#"(urn: "{POLICY}", input: {policy})"#),
            ADMINISTRATORS,
        ),
        (
            "deletePolicy",
            format!(r#"(urn: "{POLICY}")"#),
            ADMINISTRATORS,
        ),
        // Comes last, because it revokes the tokens for the domain.
        ("deleteDomain", format!(r#"(urn: "{FINANCE}")"#), "EAD"),
    ]
}

/// Rows with an id that does not exist, because the ids of tokens and service accounts are random.
/// Rows in [`crate::access_to_others`] are about those that do.
pub(crate) const NAME_NOTHING: [&str; 4] = [
    "revokeAccessToken",
    "deleteServiceAccount",
    "revokeInviteToken",
    "updateServiceAccountDefaultView",
];

pub(crate) async fn app() -> App {
    let app = App::with_dataset().await;
    for (urn, aspect, value) in [
        (
            FINANCE,
            "domainProperties",
            json!({"name": "Finance", "description": ""}),
        ),
        (DATASET, "domains", json!({"domains": [FINANCE]})),
        (
            DATASET,
            "ownership",
            json!({"owners": [{"owner": "urn:li:corpuser:olga", "type": "DATAOWNER"}],
                "lastModified": {"time": 0, "actor": "urn:li:corpuser:datahub"}}),
        ),
        (TAG, "tagProperties", json!({"name": "PII"})),
        (
            TERM,
            "glossaryTermInfo",
            json!({"definition": "", "termSource": "INTERNAL"}),
        ),
        (
            PROPERTY,
            "propertyDefinition",
            json!({"qualifiedName": "retention", "valueType": "urn:li:dataType:datahub.string",
                "entityTypes": ["urn:li:entityType:datahub.dataset", "urn:li:entityType:datahub.schemaField"]}),
        ),
        (
            GROUP,
            "corpGroupInfo",
            json!({"displayName": "Team", "admins": [], "members": [], "groups": []}),
        ),
        (
            "urn:li:corpuser:former",
            "corpUserInfo",
            json!({"active": true}),
        ),
        (
            ASSERTION,
            "assertionInfo",
            json!({"type": "CUSTOM", "customAssertion": {"type": "t", "entity": DATASET}}),
        ),
        (
            "urn:li:container:c",
            "containerProperties",
            json!({"name": "c"}),
        ),
    ]
    .into_iter()
    .chain(assets::entities())
    .chain(collections::entities())
    .chain(governance::entities())
    .chain(ingestion::entities())
    .chain(quality::entities())
    .chain(texts::entities())
    {
        app.ingest(urn, aspect, &value).await;
    }
    app.add_secret("warehouse", "x").await;
    for (urn, value) in [
        (
            "urn:li:dataHubPolicy:finance-stewards",
            steward("sam", FINANCE),
        ),
        (POLICY, steward("hugo", "urn:li:domain:hr")),
    ] {
        app.write_policy(urn, &value).await;
    }
    app
}

/// A token of each caller, who gets the role that the letter stands for.
pub(crate) async fn tokens(app: &App) -> Vec<(char, String)> {
    let mut tokens = Vec::new();
    for (letter, name) in CALLERS {
        let urn = format!("urn:li:corpuser:{name}");
        let token = token_of(&app.catalog, &urn, None).await;
        let role = role(match letter {
            'E' => "Editor",
            'A' => "Admin",
            'P' => "Proposer",
            _ => "Reader",
        });
        let actor = Urn::parse(&urn).unwrap();
        let assigned = app
            .catalog
            .assign_role(&Caller::system(), &[actor], Some(&role))
            .await;
        assigned.unwrap();
        tokens.push((letter, token));
    }
    let read_only = TokenScope {
        read_only: true,
        ..TokenScope::default()
    };
    let of_domain = TokenScope {
        domain: Some(Urn::parse(FINANCE).unwrap()),
        ..TokenScope::default()
    };
    for (letter, scope) in [('V', read_only), ('D', of_domain)] {
        tokens.push((letter, scoped_token(app, scope).await));
    }
    tokens
}

/// Tokens that are not valid any more: an expired one, a revoked one, and that of a suspended user.
pub(crate) async fn ended_tokens(app: &App) -> [(&'static str, String); 3] {
    let name = |name: &str| format!("urn:li:corpuser:{name}");
    let expired = token_of(&app.catalog, &name("expired"), Some(1_000)).await;
    let revoked = token_of(&app.catalog, &name("revoked"), None).await;
    let suspended = token_of(&app.catalog, &name("suspended"), None).await;
    app.clock.advance(1_000);
    let system = Caller::system();
    let token = app.catalog.find_token(&revoked).await.unwrap().unwrap();
    app.catalog.revoke_token(&system, &token.id).await.unwrap();
    let user = name("suspended");
    app.ingest(&user, "corpUserInfo", &json!({"active": true}))
        .await;
    let user = Urn::parse(&user).unwrap();
    app.catalog.suspend_user(&system, &user).await.unwrap();
    [
        ("expired", expired),
        ("revoked", revoked),
        ("suspended", suspended),
    ]
}

async fn scoped_token(app: &App, scope: TokenScope) -> String {
    let new = NewToken {
        name: "scoped".to_owned(),
        description: None,
        actor: Urn::parse("urn:li:corpuser:ann").unwrap(),
        ttl_ms: None,
        scope: Some(scope),
    };
    let created = app.catalog.create_token(&Caller::system(), new).await;
    created.unwrap().secret
}

fn steward(name: &str, domain: &str) -> Value {
    json!({
        "displayName": name, "description": "", "type": "METADATA", "state": "ACTIVE",
        "privileges": ["EDIT_ENTITY"], "actors": {"users": [format!("urn:li:corpuser:{name}")]},
        "resources": {"filter": {"criteria": [{"field": "DOMAIN", "values": [domain]}]}},
    })
}

/// The fields of `queryType` or `mutationType` in the schema that the server has.
pub(crate) async fn fields_of(app: &App, root: &str) -> BTreeSet<String> {
    let query = format!("{{ __schema {{ {root} {{ fields {{ name }} }} }} }}");
    let reply = app.graphql(&query).await;
    let fields = reply["data"]["__schema"][root]["fields"].as_array();
    let name = |field: &Value| field["name"].as_str().unwrap().to_owned();
    fields.unwrap().iter().map(name).collect()
}

#[tokio::test]
async fn every_mutation_is_denied_to_exactly_those_who_lack_the_privilege() {
    let app = app().await;
    let below = json!({"name": "Accounting", "description": "", "parentDomain": FINANCE});
    app.ingest(ACCOUNTING, "domainProperties", &below).await;
    let tokens = tokens(&app).await;
    let declared = fields_of(&app, "mutationType").await;
    let rows = rows();
    let names = rows.iter().map(|(name, ..)| *name).chain(SELF_SERVICE);
    let listed: BTreeSet<String> = names.map(str::to_owned).collect();
    assert_eq!(declared, listed, "every mutation has a row");

    let send = async |token: &str, mutation: &str| {
        let reply = app
            .graphql_as(token, &format!("mutation {{ {mutation} }}"))
            .await;
        assert!(
            !reply.to_string().contains("ValidationError")
                && !reply.to_string().contains("InvalidSyntax"),
            "{mutation}: {reply}"
        );
        reply["errors"][0].clone()
    };
    for (name, arguments, allowed) in &rows {
        // Those who are refused change nothing, so they come first.
        let by_right = |(letter, _): &&(char, String)| allowed.contains(*letter);
        let (may, may_not): (Vec<_>, Vec<_>) = tokens.iter().partition(by_right);
        let mutation = format!("{name}{arguments}");
        for (letter, token) in may_not {
            let error = send(token, &mutation).await;
            let code = &error["extensions"]["code"];
            assert_eq!(*code, 403, "{name} is not refused to {letter}: {error}");
        }
        for (index, (letter, token)) in may.iter().enumerate() {
            let error = send(token, &mutation).await;
            let code = &error["extensions"]["code"];
            assert_ne!(*code, 403, "{name} is refused to {letter}: {error}");
            // Later it may be done already.
            let is_done = error.is_null() || index > 0 || NAME_NOTHING.contains(name);
            let is_done = is_done || ingestion::NAME_NO_WEBHOOK.contains(name);
            // There is no object store.
            let is_done = is_done || *name == "createDataHubFile";
            assert!(is_done, "{name} by {letter}: {error}");
        }
    }
}
