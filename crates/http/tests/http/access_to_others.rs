//! The mutations about the caller's own account and about proposals, called by every kind of caller
//! about themselves and about others. The rows of all other mutations are in `access.rs`.

use std::collections::BTreeSet;

use docent_catalog::Caller;
use docent_catalog::service_accounts::NewServiceAccount;
use serde_json::json;

use crate::access::{CALLERS, NAME_NOTHING, app, tokens};
use crate::hidden::world::assign;
use crate::support::{App, DATASET, USER, role, token_of};

const OTTO: &str = "urn:li:corpuser:otto";
/// A Proposer, like the caller Paula.
const PETE: &str = "urn:li:corpuser:pete";
const PAULA: &str = "urn:li:corpuser:paula";
/// In no domain, and without an owner.
const CONTAINER: &str = "urn:li:container:c";

/// Those about the caller's own account, and those about proposals, whose changes decide.
pub(crate) const SELF_SERVICE: [&str; 11] = [
    "acceptProposals",
    "acceptRole",
    "batchUpdateStepStates",
    "createAccessToken",
    "rejectProposals",
    "signOutEverywhere",
    "updateCorpUserLocaleSettings",
    "updateCorpUserProperties",
    "updateCorpUserViewsSettings",
    "updateUserHomePageSettings",
    "updateUserSetting",
];

/// Everyone, but no token with a scope.
const UNSCOPED: &str = "REASHOP";
const ADMINISTRATORS: &str = "A";
/// Those who may edit [`DATASET`].
const DATASET_EDITORS: &str = "EASOD";
const NOBODY: &str = "";

/// Whom or what a mutation names.
#[derive(Debug, Clone, Copy)]
enum Named {
    Caller,
    User(&'static str),
    ServiceAccount,
    /// A proposal of a user to describe an entity.
    Proposal(&'static str, &'static str),
    /// An invite link with a role.
    Link,
}

/// A mutation, whom it names, and who may call it. What changes the roles of callers comes last.
fn rows() -> Vec<(&'static str, Named, &'static str)> {
    use Named::{Caller, Link, Proposal, ServiceAccount, User};
    vec![
        ("createAccessToken", Caller, UNSCOPED),
        ("createAccessToken", User(OTTO), ADMINISTRATORS),
        ("createAccessToken", ServiceAccount, ADMINISTRATORS),
        // They may always do everything, so that nobody else acts as them.
        ("createAccessToken", User(USER), NOBODY),
        (
            "createAccessToken",
            User("urn:li:corpuser:__datahub_system"),
            NOBODY,
        ),
        ("revokeAccessToken", Caller, UNSCOPED),
        ("revokeAccessToken", User(OTTO), ADMINISTRATORS),
        ("revokeAccessToken", ServiceAccount, ADMINISTRATORS),
        ("signOutEverywhere", Caller, UNSCOPED),
        ("signOutEverywhere", User(OTTO), ADMINISTRATORS),
        ("signOutEverywhere", ServiceAccount, ADMINISTRATORS),
        (
            "updateServiceAccountDefaultView",
            ServiceAccount,
            ADMINISTRATORS,
        ),
        ("deleteServiceAccount", ServiceAccount, ADMINISTRATORS),
        ("revokeInviteToken", Link, ADMINISTRATORS),
        ("updateCorpUserViewsSettings", Caller, UNSCOPED),
        ("updateCorpUserLocaleSettings", Caller, UNSCOPED),
        ("updateUserHomePageSettings", Caller, UNSCOPED),
        ("updateUserSetting", Caller, UNSCOPED),
        ("batchUpdateStepStates", Caller, UNSCOPED),
        ("updateCorpUserProperties", Caller, UNSCOPED),
        ("updateCorpUserProperties", User(OTTO), ADMINISTRATORS),
        ("acceptProposals", Proposal(PETE, DATASET), DATASET_EDITORS),
        ("acceptProposals", Proposal(PETE, CONTAINER), "EA"),
        ("acceptProposals", Proposal(PAULA, DATASET), DATASET_EDITORS),
        ("rejectProposals", Proposal(PETE, DATASET), DATASET_EDITORS),
        ("rejectProposals", Proposal(PETE, CONTAINER), "EA"),
        // Proposers withdraw what they have proposed.
        ("rejectProposals", Proposal(PAULA, DATASET), "EASODP"),
        ("acceptRole", Link, UNSCOPED),
    ]
}

async fn new_service_account(app: &App) -> String {
    let new = NewServiceAccount::default();
    let account = app
        .catalog
        .create_service_account(&Caller::system(), new)
        .await;
    account.unwrap().to_string()
}

/// Everything that the rows need.
struct World {
    app: App,
    service_account: String,
    /// The tokens of the two Proposers.
    proposers: [(&'static str, String); 2],
}

impl World {
    async fn new() -> Self {
        let app = app().await;
        let active = json!({"active": true});
        for user in [OTTO, USER, "urn:li:corpuser:__datahub_system"] {
            app.ingest(user, "corpUserInfo", &active).await;
        }
        let service_account = new_service_account(&app).await;
        let mut proposers = [(PETE, String::new()), (PAULA, String::new())];
        for (user, token) in &mut proposers {
            *token = token_of(&app.catalog, user, None).await;
            assign(&app, user, "Proposer").await;
        }
        Self {
            app,
            service_account,
            proposers,
        }
    }

    /// The arguments for one caller, in all forms. What they end or decide is new.
    async fn arguments(
        &self,
        field: &str,
        named: Named,
        (letter, caller): (char, &str),
    ) -> Vec<String> {
        let user = match named {
            Named::Caller => caller,
            Named::User(user) => user,
            Named::ServiceAccount => &self.service_account,
            Named::Proposal(proposer, entity) => {
                let text = format!("{field} by {letter}");
                let urn = self.propose(proposer, entity, &text).await;
                return vec![format!("(proposalUrns: [{urn}])")];
            }
            Named::Link => {
                let (system, role) = (Caller::system(), role("Reader"));
                let link = self
                    .app
                    .catalog
                    .create_invite_token(&system, Some(&role), false);
                let link = link.await.unwrap();
                if field == "revokeInviteToken" {
                    let reply = self.app.graphql("{ listInviteTokens { urn } }").await;
                    let urn = &reply["data"]["listInviteTokens"][0]["urn"];
                    return vec![format!("(urn: {urn})")];
                }
                return vec![format!(r#"(input: {{ inviteToken: "{link}" }})"#)];
            }
        };
        match field {
            "createAccessToken" => vec![format!(
                r#"(input: {{ type: PERSONAL, actorUrn: "{user}", duration: ONE_HOUR, name: "t" }}) {{ accessToken }}"#
            )],
            "revokeAccessToken" => {
                let secret = token_of(&self.app.catalog, user, None).await;
                let token = self.app.catalog.find_token(&secret).await.unwrap();
                vec![format!(r#"(tokenId: "{}")"#, token.unwrap().id)]
            }
            // Not the tokens of the callers, which the next rows need.
            "signOutEverywhere" if user == caller => vec![
                "(input: {})".to_owned(),
                format!(r#"(input: {{ userUrn: "{user}", revokeTokens: false }})"#),
            ],
            "signOutEverywhere" => [true, false]
                .map(|tokens| {
                    format!(r#"(input: {{ userUrn: "{user}", revokeTokens: {tokens} }})"#)
                })
                .to_vec(),
            "updateCorpUserViewsSettings"
            | "updateCorpUserLocaleSettings"
            | "updateUserHomePageSettings" => vec!["(input: {})".to_owned()],
            "updateUserSetting" => {
                vec!["(input: { name: SHOW_THEME_V2, value: true })".to_owned()]
            }
            "batchUpdateStepStates" => vec![format!(
                r#"(input: {{ states: [{{ id: "{user}-tour", properties: [] }}] }}) {{ results {{ succeeded }} }}"#
            )],
            "updateCorpUserProperties" => ["title", "phone"]
                .map(|member| format!(r#"(urn: "{user}", input: {{ {member}: "x" }}) {{ urn }}"#))
                .to_vec(),
            "updateServiceAccountDefaultView" => vec![format!(r#"(input: {{ urn: "{user}" }})"#)],
            "deleteServiceAccount" if user == self.service_account => {
                let new = new_service_account(&self.app).await;
                vec![format!(r#"(urn: "{new}")"#)]
            }
            other => panic!("{other} has no arguments here"),
        }
    }

    /// The URN of a new proposal to describe an entity, quoted.
    async fn propose(&self, proposer: &str, entity: &str, text: &str) -> String {
        let describe = format!(
            r#"mutation {{ updateDescription(input: {{ resourceUrn: "{entity}", description: "{text}" }}) }}"#
        );
        let mut proposers = self.proposers.iter();
        let (_, token) = proposers.find(|(user, _)| *user == proposer).unwrap();
        let reply = self.app.graphql_as(token, &describe).await;
        let urn = &reply["extensions"]["proposals"][0];
        assert!(urn.is_string(), "{reply}");
        urn.to_string()
    }
}

#[tokio::test]
async fn what_is_about_others_is_denied_to_exactly_those_who_lack_the_privilege() {
    let world = World::new().await;
    let tokens = tokens(&world.app).await;
    let rows = rows();
    let listed: BTreeSet<&str> = rows.iter().map(|row| row.0).collect();
    let mut named: BTreeSet<&str> = SELF_SERVICE.into_iter().collect();
    named.extend(NAME_NOTHING);
    assert_eq!(listed, named);
    let mut wrong = Vec::new();
    for (field, named, allowed) in rows {
        for (letter, token) in &tokens {
            // The tokens with scopes are those of the administrator.
            let mut users = CALLERS.iter();
            let user = users.find(|it| it.0 == *letter).map_or("ann", |it| it.1);
            let user = format!("urn:li:corpuser:{user}");
            for arguments in world.arguments(field, named, (*letter, &user)).await {
                let mutation = format!("mutation {{ {field}{arguments} }}");
                let reply = world.app.graphql_as(token, &mutation).await;
                let error = &reply["errors"][0];
                let is_expected = if allowed.contains(*letter) {
                    error.is_null()
                } else {
                    error["extensions"]["code"] == 403
                };
                if !is_expected {
                    wrong.push(format!("{field} of {named:?} by {letter}: {reply}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A denial leaves the account of the other user as it was.
#[tokio::test]
async fn what_is_denied_about_others_changes_nothing() {
    let world = World::new().await;
    let app = &world.app;
    let ottos = token_of(&app.catalog, OTTO, None).await;
    let proposal = world.propose(PETE, DATASET, "better").await;
    let id = app.catalog.find_token(&ottos).await.unwrap().unwrap().id;
    for (letter, token) in tokens(app).await {
        if letter == 'A' {
            continue;
        }
        let mut mutations = vec![
            format!(r#"revokeAccessToken(tokenId: "{id}")"#),
            format!(r#"signOutEverywhere(input: {{ userUrn: "{OTTO}", revokeTokens: true }})"#),
        ];
        if !DATASET_EDITORS.contains(letter) {
            mutations.push(format!("acceptProposals(proposalUrns: [{proposal}])"));
            mutations.push(format!("rejectProposals(proposalUrns: [{proposal}])"));
        }
        for mutation in mutations {
            let mutation = format!("mutation {{ {mutation} }}");
            app.graphql_as(&token, &mutation).await;
        }
    }
    let me = app.graphql_as(&ottos, "{ me { corpUser { urn } } }").await;
    assert_eq!(me["data"]["me"]["corpUser"]["urn"], OTTO, "{me}");
    let stored = app.aspect(DATASET, "editableDatasetProperties").await;
    assert_eq!(stored, None);
    let listed = app
        .graphql("{ listActionRequests(input: {}) { total } }")
        .await;
    assert_eq!(listed["data"]["listActionRequests"]["total"], 1, "{listed}");
}
