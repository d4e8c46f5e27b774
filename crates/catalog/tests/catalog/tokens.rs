//! When tokens were last used, and how many a user may have.

use std::sync::Arc;

use docent_catalog::people::{NewUser, Password};
use docent_catalog::sessions::{SignIn, SignInClient};
use docent_catalog::tokens::{NewToken, Token, TokenFilter, TokenLimits};
use docent_catalog::{AspectKey, Caller, Catalog, ConflictReason, ErrorKind};
use docent_model::{AspectName, FixedClock, Urn};
use docent_store::{ReadRequest, RowVersion, Store};
use docent_test_store::TestStore;

const NOON_MS: i64 = 1_790_000_000_000;
const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;

struct TokenFixture {
    clock: Arc<FixedClock>,
    store: Arc<dyn Store>,
    catalog: Catalog,
    caller: Caller,
    secret: String,
    token: Urn,
    _test_store: TestStore,
}

impl TokenFixture {
    /// A catalog with one token.
    async fn new() -> Self {
        let test_store = TestStore::open().await.unwrap();
        let store = test_store.store();
        let clock = Arc::new(FixedClock::at(NOON_MS));
        let catalog = Catalog::new(Arc::clone(&store), Arc::clone(&clock) as _);
        let caller = Caller::new(Urn::parse("urn:li:corpuser:tester").unwrap());
        let new = NewToken {
            name: "ci".to_owned(),
            description: None,
            actor: caller.actor().clone(),
            ttl_ms: None,
            scope: None,
        };
        let created = catalog.create_token(&caller, new).await.unwrap();
        Self {
            clock,
            store,
            catalog,
            caller,
            secret: created.secret,
            token: created.token.urn().unwrap(),
            _test_store: test_store,
        }
    }

    async fn use_it(&self) {
        let caller = self.catalog.authenticate(&self.secret).await.unwrap();
        assert!(caller.is_some());
    }

    /// What this server says.
    async fn last_used(&self) -> Option<i64> {
        listed(&self.catalog).await
    }

    /// What a server says that has only the store to know it from.
    async fn stored(&self) -> Option<i64> {
        let clock = Arc::clone(&self.clock) as _;
        listed(&Catalog::new(Arc::clone(&self.store), clock)).await
    }

    async fn note(&self) {
        self.catalog.store_token_uses(&self.caller).await;
    }
}

async fn listed(catalog: &Catalog) -> Option<i64> {
    let all = TokenFilter::default();
    let tokens = catalog.list_tokens(&Caller::system(), &all, 0, 10).await;
    let tokens: Vec<Token> = tokens.unwrap().items;
    assert_eq!(tokens.len(), 1);
    tokens[0].last_used_at
}

#[tokio::test]
async fn a_use_is_visible_here_at_once_and_elsewhere_when_stored() {
    let fixture = TokenFixture::new().await;
    fixture.note().await;
    assert_eq!(fixture.last_used().await, None, "not used yet");
    fixture.use_it().await;
    assert_eq!(fixture.last_used().await, Some(NOON_MS));
    assert_eq!(fixture.stored().await, None);
    fixture.note().await;
    assert_eq!(fixture.stored().await, Some(NOON_MS));
    assert_eq!(fixture.last_used().await, Some(NOON_MS));
}

#[tokio::test]
async fn a_use_is_recorded_at_most_once_a_minute() {
    let fixture = TokenFixture::new().await;
    fixture.use_it().await;
    fixture.note().await;
    // Storing the use was a commit, so the token is read again.
    fixture.clock.advance(MINUTE_MS - 1);
    fixture.use_it().await;
    let stamp = fixture.store.commit_stamp().unwrap();
    fixture.note().await;
    assert_eq!(
        fixture.store.commit_stamp().unwrap(),
        stamp,
        "nothing to do"
    );
    assert_eq!(fixture.last_used().await, Some(NOON_MS));
    fixture.clock.advance(1);
    fixture.use_it().await;
    fixture.note().await;
    assert_eq!(fixture.stored().await, Some(NOON_MS + MINUTE_MS));
}

#[tokio::test]
async fn a_use_makes_no_version_and_no_log_entry() {
    let fixture = TokenFixture::new().await;
    let key = AspectKey::new(&fixture.token, AspectName::ACCESS_TOKEN_INFO);
    let before = fixture.store.log_newest().await.unwrap();
    let row = fixture
        .store
        .aspect_read_version(&key, RowVersion::LATEST)
        .await
        .unwrap();
    fixture.use_it().await;
    fixture.note().await;
    assert_eq!(fixture.store.log_newest().await.unwrap(), before);
    let histories = fixture.store.histories_read(&[key]).await.unwrap();
    assert_eq!(histories[0].len(), 1);
    let (before, after) = (row.unwrap(), &histories[0][0]);
    assert_eq!(before.metadata, after.metadata);
    assert_ne!(before.system_metadata, after.system_metadata);
}

#[tokio::test]
async fn recording_a_use_does_not_restore_a_revoked_token() {
    let fixture = TokenFixture::new().await;
    fixture.use_it().await;
    let id = fixture.token.key();
    let revoked = fixture.catalog.revoke_token(&fixture.caller, id);
    revoked.await.unwrap();
    fixture.note().await;
    let entities = fixture
        .store
        .read(ReadRequest::entities(&[fixture.token]))
        .await
        .unwrap()
        .entities;
    assert!(entities[0].is_empty(), "{entities:?}");
}

fn named(actor: &Urn, ttl_ms: Option<i64>) -> NewToken {
    NewToken {
        name: "one of many".to_owned(),
        description: None,
        actor: actor.clone(),
        ttl_ms,
        scope: None,
    }
}

#[tokio::test]
async fn a_user_has_a_limited_number_of_tokens_that_are_not_expired() {
    let fixture = TokenFixture::new().await;
    let limits = TokenLimits {
        per_user: 4,
        ..TokenLimits::default()
    };
    let catalog = fixture.catalog.clone().with_token_limits(limits);
    let ada = Urn::parse("urn:li:corpuser:ada").unwrap();
    let create = |ttl_ms| catalog.create_token(&fixture.caller, named(&ada, ttl_ms));
    let short = create(Some(MINUTE_MS)).await.unwrap();
    // Also if they are created at the same time.
    let all = tokio::join!(
        create(None),
        create(None),
        create(None),
        create(None),
        create(None)
    );
    let (created, rejected): (Vec<_>, Vec<_>) = [all.0, all.1, all.2, all.3, all.4]
        .into_iter()
        .partition(Result::is_ok);
    assert_eq!((created.len(), rejected.len()), (3, 2));
    for error in rejected.into_iter().filter_map(Result::err) {
        let reason = ErrorKind::Conflict(ConflictReason::TooManyTokens);
        assert_eq!(error.kind(), reason, "{error}");
        let message = error.to_string();
        assert!(message.contains("ada has 4 access tokens"), "{message}");
        assert!(message.contains("revoke"), "{message}");
    }
    // Other users have their own limit.
    let grace = Urn::parse("urn:li:corpuser:grace").unwrap();
    let other = catalog.create_token(&fixture.caller, named(&grace, None));
    other.await.unwrap();
    let revoked = catalog.revoke_token(&fixture.caller, &short.token.id);
    revoked.await.unwrap();
    create(Some(MINUTE_MS)).await.unwrap();
    create(None).await.unwrap_err();
    fixture.clock.advance(MINUTE_MS);
    create(None).await.unwrap();
}

#[tokio::test]
async fn the_administrator_sets_how_long_tokens_of_sessions_live() {
    let fixture = TokenFixture::new().await;
    let ada = Urn::parse("urn:li:corpuser:ada").unwrap();
    let password = "a long password";
    let new = NewUser {
        user: ada.clone(),
        display_name: None,
        email: None,
        password: Password::new(password).unwrap(),
    };
    let catalog = &fixture.catalog;
    catalog
        .add_user(&Caller::system(), new, None)
        .await
        .unwrap();
    catalog.ensure_policies().await.unwrap();
    catalog.enforce_policies(Some(&Urn::new("dataHubRole", "Editor").unwrap()));
    let signed_in = catalog.sign_in("ada", password, SignInClient::default());
    let SignIn::Welcome { secret, .. } = signed_in.await.unwrap() else {
        panic!("not signed in");
    };
    let session = catalog
        .authenticate_session(&secret)
        .await
        .unwrap()
        .unwrap();
    for (limit_days, days, is_allowed) in [
        (90, 90, true),
        (90, 91, false),
        (200, 200, true),
        (1, 2, false),
    ] {
        let limits = TokenLimits {
            session_ttl_ms: limit_days * DAY_MS,
            ..TokenLimits::default()
        };
        let catalog = catalog.clone().with_token_limits(limits);
        let issued = catalog.issue_token(&session, named(&ada, Some(days * DAY_MS)));
        assert_eq!(issued.await.is_ok(), is_allowed, "{days} of {limit_days}");
    }
}

#[tokio::test]
async fn a_token_with_an_unknown_scope_is_invalid() {
    let fixture = TokenFixture::new().await;
    fixture.use_it().await;
    let info = r#"{"name":"ci","actorUrn":"urn:li:corpuser:tester","ownerUrn":"urn:li:corpuser:tester",
        "createdAt":1,"scope":{"onlyOnSundays":true}}"#;
    let key = AspectKey::new(&fixture.token, AspectName::ACCESS_TOKEN_INFO);
    crate::writing::write_raw(&*fixture.store, key, info).await;
    let caller = fixture.catalog.authenticate(&fixture.secret).await.unwrap();
    assert!(caller.is_none());
}
