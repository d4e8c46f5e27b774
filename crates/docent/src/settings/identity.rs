//! Identity providers and trusted issuers.
//!
//! The file has any number of them, as tables `[[oidc]]` and `[[jwt]]`. Flags and variables
//! configure one of each, which replaces the table with the same id or issuer.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::Args;
use docent_model::{EpochMillis, parse_duration_ms};
use docent_oidc::{Algorithm, ClaimNames, IssuerSettings, ProviderSettings};
use serde::Deserialize;
use url::Url;

/// The provider that flags and variables configure; DataHub's callback has the same path.
const DEFAULT_ID: &str = "oidc";
const DEFAULT_NAME: &str = "single sign-on";
const DEFAULT_SCOPES: &str = "openid profile email";
const DEFAULT_USER_CLAIM: &str = "preferred_username";
const DEFAULT_SUBJECT_CLAIM: &str = "sub";
const DEFAULT_SKEW_MS: EpochMillis = 30_000;
const MAX_SKEW_MS: EpochMillis = 10 * 60_000;
/// A secret is one line.
const MAX_SECRET_BYTES: u64 = 4096;

#[derive(Debug, Args, Clone, Default)]
pub(crate) struct IdentityFlags {
    #[arg(
        long,
        env = "DOCENT_PUBLIC_URL",
        value_name = "URL",
        help = "Address of this server in browsers, for example https://docent.example.com, where identity providers \
                return [default: none]"
    )]
    public_url: Option<String>,
    /// Issuer of an identity provider (OIDC) to sign in with [default: none]
    #[arg(long, env = "DOCENT_OIDC_ISSUER", value_name = "URL")]
    oidc_issuer: Option<String>,
    /// Client id of this server at the provider
    #[arg(long, env = "DOCENT_OIDC_CLIENT_ID", value_name = "ID")]
    oidc_client_id: Option<String>,
    /// File with the client secret [default: none, a public client]
    #[arg(long, env = "DOCENT_OIDC_CLIENT_SECRET_FILE", value_name = "FILE")]
    oidc_client_secret_file: Option<PathBuf>,
    /// Name of the provider on the sign-in page [default: single sign-on]
    #[arg(long, env = "DOCENT_OIDC_NAME", value_name = "NAME")]
    oidc_name: Option<String>,
    /// Scopes to request [default: openid profile email]
    #[arg(long, env = "DOCENT_OIDC_SCOPES", value_name = "SCOPES")]
    oidc_scopes: Option<String>,
    #[arg(
        long,
        env = "DOCENT_OIDC_USER_CLAIM",
        value_name = "CLAIM",
        help = "Claim with the username [default: preferred_username]"
    )]
    oidc_user_claim: Option<String>,
    /// Claim with the groups [default: none]
    #[arg(long, env = "DOCENT_OIDC_GROUPS_CLAIM", value_name = "CLAIM")]
    oidc_groups_claim: Option<String>,
    /// Issuer whose bearer tokens authenticate callers [default: none]
    #[arg(long, env = "DOCENT_JWT_ISSUER", value_name = "URL")]
    jwt_issuer: Option<String>,
    /// Audience that those tokens must have
    #[arg(long, env = "DOCENT_JWT_AUDIENCE", value_name = "AUDIENCE")]
    jwt_audience: Option<String>,
    /// Address of the issuer's public keys [default: found by discovery]
    #[arg(long, env = "DOCENT_JWT_JWKS_URL", value_name = "URL")]
    jwt_jwks_url: Option<String>,
    /// Claim with the username [default: sub]
    #[arg(long, env = "DOCENT_JWT_USER_CLAIM", value_name = "CLAIM")]
    jwt_user_claim: Option<String>,
    /// Claim with the groups [default: none]
    #[arg(long, env = "DOCENT_JWT_GROUPS_CLAIM", value_name = "CLAIM")]
    jwt_groups_claim: Option<String>,
}

/// A table `[[oidc]]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct ProviderTable {
    id: Option<String>,
    name: Option<String>,
    issuer: Option<String>,
    client_id: Option<String>,
    client_secret_file: Option<PathBuf>,
    scopes: Option<String>,
    user_claim: Option<String>,
    groups_claim: Option<String>,
    algorithms: Option<Vec<String>>,
    clock_skew: Option<String>,
    create_users: Option<bool>,
}

/// A table `[[jwt]]`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(super) struct IssuerTable {
    issuer: Option<String>,
    audience: Option<String>,
    jwks_url: Option<String>,
    user_claim: Option<String>,
    groups_claim: Option<String>,
    algorithms: Option<Vec<String>>,
    clock_skew: Option<String>,
    create_users: Option<bool>,
}

/// Who else authenticates users.
#[derive(Debug, Default)]
pub(crate) struct IdentitySettings {
    pub(crate) providers: Vec<ProviderSettings>,
    pub(crate) issuers: Vec<IssuerSettings>,
}

impl IdentitySettings {
    pub(super) fn resolve(
        flags: &IdentityFlags,
        public_url: Option<String>,
        mut providers: Vec<ProviderTable>,
        mut issuers: Vec<IssuerTable>,
    ) -> Result<Self> {
        let public_url = flags.public_url.clone().or(public_url);
        merge_provider(flags, &mut providers)?;
        merge_issuer(flags, &mut issuers)?;
        let public_url = public_url.as_deref();
        if let Some(url) = public_url {
            let parsed = Url::parse(url).ok().filter(Url::has_host);
            let is_web = parsed.is_some_and(|it| ["http", "https"].contains(&it.scheme()));
            ensure!(
                is_web,
                "--public-url is '{url}': use a whole URL, for example https://docent.example.com"
            );
        }
        let providers: Vec<ProviderSettings> = providers
            .into_iter()
            .map(|table| provider(table, public_url))
            .collect::<Result<_>>()?;
        for (at, provider) in providers.iter().enumerate() {
            if providers.iter().take(at).any(|it| it.id == provider.id) {
                bail!(
                    "two providers have the id {}: give each another",
                    provider.id
                );
            }
        }
        let issuers: Vec<IssuerSettings> =
            issuers.into_iter().map(issuer).collect::<Result<_>>()?;
        for (at, issuer) in issuers.iter().enumerate() {
            if issuers.iter().take(at).any(|it| it.issuer == issuer.issuer) {
                bail!("the issuer {} is configured twice", issuer.issuer);
            }
        }
        Ok(Self { providers, issuers })
    }
}

/// Adds the provider of the flags, or changes the table with its id.
fn merge_provider(flags: &IdentityFlags, tables: &mut Vec<ProviderTable>) -> Result<()> {
    let settings = [
        flags.oidc_issuer.as_ref(),
        flags.oidc_client_id.as_ref(),
        flags.oidc_name.as_ref(),
        flags.oidc_scopes.as_ref(),
        flags.oidc_user_claim.as_ref(),
        flags.oidc_groups_claim.as_ref(),
    ];
    if settings.iter().all(Option::is_none) && flags.oidc_client_secret_file.is_none() {
        return Ok(());
    }
    let is_default =
        |table: &ProviderTable| table.id.as_deref().unwrap_or(DEFAULT_ID) == DEFAULT_ID;
    let at = if let Some(at) = tables.iter().position(is_default) {
        at
    } else {
        if flags.oidc_issuer.is_none() {
            bail!("the provider has no issuer: set --oidc-issuer or DOCENT_OIDC_ISSUER, too");
        }
        tables.push(ProviderTable::default());
        tables.len() - 1
    };
    let table = &mut tables[at];
    let set = |slot: &mut Option<String>, value: &Option<String>| {
        if value.is_some() {
            slot.clone_from(value);
        }
    };
    set(&mut table.issuer, &flags.oidc_issuer);
    set(&mut table.client_id, &flags.oidc_client_id);
    set(&mut table.name, &flags.oidc_name);
    set(&mut table.scopes, &flags.oidc_scopes);
    set(&mut table.user_claim, &flags.oidc_user_claim);
    set(&mut table.groups_claim, &flags.oidc_groups_claim);
    if flags.oidc_client_secret_file.is_some() {
        table
            .client_secret_file
            .clone_from(&flags.oidc_client_secret_file);
    }
    Ok(())
}

/// Adds the issuer of the flags, in place of a table with the same issuer.
fn merge_issuer(flags: &IdentityFlags, tables: &mut Vec<IssuerTable>) -> Result<()> {
    let others = [
        flags.jwt_audience.as_ref(),
        flags.jwt_jwks_url.as_ref(),
        flags.jwt_user_claim.as_ref(),
        flags.jwt_groups_claim.as_ref(),
    ];
    if flags.jwt_issuer.is_none() {
        if others.iter().any(Option::is_some) {
            bail!("the tokens have no issuer: set --jwt-issuer or DOCENT_JWT_ISSUER, too");
        }
        return Ok(());
    }
    tables.retain(|table| table.issuer != flags.jwt_issuer);
    tables.push(IssuerTable {
        issuer: flags.jwt_issuer.clone(),
        audience: flags.jwt_audience.clone(),
        jwks_url: flags.jwt_jwks_url.clone(),
        user_claim: flags.jwt_user_claim.clone(),
        groups_claim: flags.jwt_groups_claim.clone(),
        ..IssuerTable::default()
    });
    Ok(())
}

fn provider(table: ProviderTable, public_url: Option<&str>) -> Result<ProviderSettings> {
    let id = table.id.unwrap_or_else(|| DEFAULT_ID.to_owned());
    let missing =
        |key: &str| anyhow!("the provider {id} has no {key}: add it to its table [[oidc]]");
    let issuer = table.issuer.ok_or_else(|| missing("issuer"))?;
    let client_id = table.client_id.ok_or_else(|| {
        anyhow!("the provider {id} has no client id: set client-id, or DOCENT_OIDC_CLIENT_ID")
    })?;
    let public_url = public_url.context(
        "an identity provider needs the address of this server in browsers: set --public-url, DOCENT_PUBLIC_URL or \
         public-url, for example https://docent.example.com",
    )?;
    let secret = table.client_secret_file.as_deref();
    Ok(ProviderSettings {
        name: table.name.unwrap_or_else(|| DEFAULT_NAME.to_owned()),
        issuer,
        client_id,
        client_secret: secret
            .map(|path| read_word(path, "client secret file"))
            .transpose()?,
        scopes: table.scopes.unwrap_or_else(|| DEFAULT_SCOPES.to_owned()),
        claims: ClaimNames {
            user: table
                .user_claim
                .unwrap_or_else(|| DEFAULT_USER_CLAIM.to_owned()),
            groups: table.groups_claim,
        },
        algorithms: algorithms(table.algorithms)?,
        skew_ms: skew_ms(table.clock_skew.as_deref())?,
        create_users: table.create_users.unwrap_or(true),
        public_url: public_url.to_owned(),
        id,
    })
}

fn issuer(table: IssuerTable) -> Result<IssuerSettings> {
    let issuer = table.issuer;
    let issuer = issuer.context("a table [[jwt]] has no issuer: add the one of the tokens")?;
    let audience = table.audience.with_context(|| {
        format!(
            "the issuer {issuer} has no audience, so tokens for other services would work here: set audience, or \
             DOCENT_JWT_AUDIENCE"
        )
    })?;
    Ok(IssuerSettings {
        audience,
        keys_url: table.jwks_url,
        claims: ClaimNames {
            user: table
                .user_claim
                .unwrap_or_else(|| DEFAULT_SUBJECT_CLAIM.to_owned()),
            groups: table.groups_claim,
        },
        algorithms: algorithms(table.algorithms)?,
        skew_ms: skew_ms(table.clock_skew.as_deref())?,
        create_users: table.create_users.unwrap_or(true),
        issuer,
    })
}

/// The allowed algorithms; all that have a public key unless set.
fn algorithms(names: Option<Vec<String>>) -> Result<Vec<Algorithm>> {
    let all = || Algorithm::ALL.map(Algorithm::name).join(", ");
    match names {
        None => Ok(Algorithm::ALL.to_vec()),
        Some(names) if names.is_empty() => bail!("the list of algorithms is empty: use {}", all()),
        Some(names) => {
            let parse = |name: &String| {
                Algorithm::parse(name).with_context(|| {
                    format!("'{name}' is not an algorithm for tokens: use {}", all())
                })
            };
            names.iter().map(parse).collect()
        }
    }
}

fn skew_ms(text: Option<&str>) -> Result<EpochMillis> {
    let Some(text) = text else {
        return Ok(DEFAULT_SKEW_MS);
    };
    parse_duration_ms(text)
        .filter(|skew_ms| *skew_ms <= MAX_SKEW_MS)
        .with_context(|| format!("'{text}' is not a clock skew: use 1s to 10m, for example 30s"))
}

/// Reads a file with one word, which no message shows. `what` names the file.
pub(super) fn read_word(path: &Path, what: &str) -> Result<String> {
    use std::io::Read as _;
    let name = path.display();
    let failed = || format!("cannot read the {what} {name}");
    let mut text = String::new();
    let file = std::fs::File::open(path).with_context(failed)?;
    let mut limited = file.take(MAX_SECRET_BYTES);
    limited.read_to_string(&mut text).with_context(failed)?;
    let secret = text.trim();
    if secret.is_empty() || secret.contains(char::is_whitespace) {
        bail!("the {what} {name} must contain one word");
    }
    Ok(secret.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(flags: &IdentityFlags, file: &str) -> Result<IdentitySettings, String> {
        #[derive(Deserialize)]
        #[serde(rename_all = "kebab-case")]
        struct File {
            public_url: Option<String>,
            #[serde(default)]
            oidc: Vec<ProviderTable>,
            #[serde(default)]
            jwt: Vec<IssuerTable>,
        }
        let file: File = toml::from_str(file).map_err(|error| error.to_string())?;
        let settings = IdentitySettings::resolve(flags, file.public_url, file.oidc, file.jwt);
        settings.map_err(|error| format!("{error:#}"))
    }

    const FILE: &str = "public-url = 'https://docent.example'
        [[oidc]]
        issuer = 'https://a.example'
        client-id = 'a'
        [[oidc]]
        id = 'b'
        name = 'Bee'
        issuer = 'https://b.example/'
        client-id = 'b'
        scopes = 'openid groups'
        user-claim = 'upn'
        groups-claim = 'groups'
        algorithms = ['ES256']
        clock-skew = '1m'
        create-users = false
        [[jwt]]
        issuer = 'https://a.example'
        audience = 'docent'\n";

    #[test]
    fn there_are_several_providers_and_the_flags_change_one() {
        let none = resolve(&IdentityFlags::default(), "").unwrap();
        assert!(none.providers.is_empty() && none.issuers.is_empty());
        let settings = resolve(&IdentityFlags::default(), FILE).unwrap();
        let [a, b] = settings.providers.as_slice() else {
            panic!("{settings:?}");
        };
        assert_eq!((a.id.as_str(), a.name.as_str()), ("oidc", "single sign-on"));
        assert_eq!(a.claims.user, "preferred_username");
        assert_eq!(a.algorithms, Algorithm::ALL);
        assert_eq!((b.id.as_str(), b.name.as_str()), ("b", "Bee"));
        assert_eq!(b.claims.groups.as_deref(), Some("groups"));
        assert_eq!(
            (b.algorithms.as_slice(), b.skew_ms),
            ([Algorithm::Es256].as_slice(), 60_000)
        );
        assert!(a.create_users && !b.create_users);
        let flags = IdentityFlags {
            oidc_client_id: Some("c".to_owned()),
            jwt_issuer: Some("https://a.example".to_owned()),
            jwt_audience: Some("other".to_owned()),
            ..IdentityFlags::default()
        };
        let settings = resolve(&flags, FILE).unwrap();
        assert_eq!(settings.providers[0].client_id, "c");
        assert_eq!(settings.providers[1].client_id, "b");
        assert_eq!(settings.issuers.len(), 1);
        assert_eq!(settings.issuers[0].audience, "other");
        assert_eq!(settings.issuers[0].claims.user, "sub");
    }

    #[test]
    fn incomplete_settings_say_what_is_missing() {
        let flag = |set: fn(&mut IdentityFlags)| {
            let mut flags = IdentityFlags::default();
            set(&mut flags);
            flags
        };
        for (flags, file, says) in [
            (
                flag(|it| it.oidc_client_id = Some("x".to_owned())),
                "",
                "set --oidc-issuer",
            ),
            (
                flag(|it| it.jwt_audience = Some("x".to_owned())),
                "",
                "set --jwt-issuer",
            ),
            (
                flag(|it| it.jwt_issuer = Some("https://x".to_owned())),
                "",
                "has no audience",
            ),
            (
                flag(|it| {
                    it.oidc_issuer = Some("https://x".to_owned());
                    it.oidc_client_id = Some("x".to_owned());
                }),
                "",
                "set --public-url",
            ),
            (
                flag(|_| {}),
                "[[oidc]]\nissuer = 'https://x'\n",
                "has no client id",
            ),
            (flag(|_| {}), "[[oidc]]\nclient-id = 'x'\n", "has no issuer"),
            (flag(|_| {}), "[[jwt]]\naudience = 'x'\n", "has no issuer"),
            (
                flag(|_| {}),
                "[[jwt]]\nissuer = 'x'\naudience = 'x'\nalgorithms = ['HS256']\n",
                "'HS256' is not",
            ),
            (
                flag(|_| {}),
                "[[jwt]]\nissuer = 'x'\naudience = 'x'\nalgorithms = []\n",
                "is empty",
            ),
            (
                flag(|_| {}),
                "[[jwt]]\nissuer = 'x'\naudience = 'x'\nclock-skew = '1h'\n",
                "use 1s to 10m",
            ),
            (
                flag(|_| {}),
                &FILE.replace("id = 'b'\n        name", "name"),
                "two providers have the id oidc",
            ),
        ] {
            let error = resolve(&flags, file).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn the_client_secret_is_in_a_file_and_not_in_messages() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("secret");
        std::fs::write(&path, "SECRET\n").unwrap();
        let file = FILE.replace(
            "client-id = 'a'",
            &format!("client-id = 'a'\nclient-secret-file = '{}'", path.display()),
        );
        let settings = resolve(&IdentityFlags::default(), &file).unwrap();
        assert_eq!(
            settings.providers[0].client_secret.as_deref(),
            Some("SECRET")
        );
        assert!(!format!("{settings:?}").contains("SECRET"));
        std::fs::write(&path, "two words\n").unwrap();
        let error = resolve(&IdentityFlags::default(), &file).unwrap_err();
        assert!(
            error.contains("must contain one word") && !error.contains("two words"),
            "{error}"
        );
        std::fs::remove_file(&path).unwrap();
        assert!(
            resolve(&IdentityFlags::default(), &file)
                .unwrap_err()
                .contains("cannot read")
        );
    }
}
