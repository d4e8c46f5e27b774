//! Precedence, defaults and invalid values.

use super::*;

fn file(text: &str) -> (tempfile::TempDir, StoreFlags) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("docent.toml");
    std::fs::write(&path, text).unwrap();
    let flags = StoreFlags {
        store: None,
        config: Some(path),
    };
    (directory, flags)
}

#[test]
fn flags_take_precedence_over_the_file_and_the_file_over_defaults() {
    let (_directory, mut store) = file("listen = '127.0.0.1:9000'\nstore = 'sqlite:a.db'\n");
    let settings = Settings::resolve(&store, ServeFlags::default()).unwrap();
    assert_eq!(settings.listen.port(), 9000);
    assert_eq!(settings.store.to_string(), "sqlite:a.db");
    assert_eq!(settings.auth, Switch::On);
    store.store = Some("sqlite:b.db".to_owned());
    let flags = ServeFlags {
        auth: Some(Switch::Off),
        ..ServeFlags::default()
    };
    let settings = Settings::resolve(&store, flags).unwrap();
    assert_eq!(settings.store.to_string(), "sqlite:b.db");
    assert_eq!(settings.auth, Switch::Off);
}

#[test]
fn sessions_last_a_day_unless_set() {
    let (_directory, store) = file("");
    let settings = Settings::resolve(&store, ServeFlags::default()).unwrap();
    assert_eq!(settings.session_limits, SessionLimits::default());
    let (_directory, store) = file("session-ttl = '12h'\nsession-idle = '1h'\n");
    let flags = ServeFlags {
        session_idle: Some("30m".to_owned()),
        ..ServeFlags::default()
    };
    let settings = Settings::resolve(&store, flags).unwrap();
    assert_eq!(settings.session_limits.absolute_ms, 12 * 60 * 60_000);
    assert_eq!(settings.session_limits.idle_ms, Some(30 * 60_000));
}

#[test]
fn there_is_no_second_address_by_default() {
    let (_directory, store) = file("");
    let settings = Settings::resolve(&store, ServeFlags::default()).unwrap();
    assert_eq!(settings.ui_listen, None);
    let (_directory, store) =
        file("ui-listen = '127.0.0.1:9002'\nadmin-password-file = 'secret'\n");
    let settings = Settings::resolve(&store, ServeFlags::default()).unwrap();
    assert_eq!(settings.ui_listen.map(|address| address.port()), Some(9002));
    assert_eq!(settings.admin_password_file, Some(PathBuf::from("secret")));
    assert_eq!(settings.frontend, None);
    let (_directory, store) = file("ui-listen = '127.0.0.1:9002'\nfrontend = 'dist'\n");
    let settings = Settings::resolve(&store, ServeFlags::default()).unwrap();
    assert_eq!(settings.frontend, Some(PathBuf::from("dist")));
    let flags = ServeFlags {
        ui_listen: Some("9002".to_owned()),
        ..ServeFlags::default()
    };
    let error = Settings::resolve(&store, flags).unwrap_err().to_string();
    assert!(error.contains("'9002' is not an address"), "{error}");
}

#[test]
fn https_needs_a_certificate_and_a_key() {
    let (_directory, store) = file("tls-cert = 'chain.pem'\n");
    let error = Settings::resolve(&store, ServeFlags::default()).unwrap_err();
    assert!(error.to_string().contains("--tls-key"), "{error}");
    let flags = ServeFlags {
        tls_key: Some(PathBuf::from("key.pem")),
        ..ServeFlags::default()
    };
    let settings = Settings::resolve(&store, flags.clone()).unwrap();
    let expected = TlsFiles {
        certificate: PathBuf::from("chain.pem"),
        key: PathBuf::from("key.pem"),
    };
    assert_eq!(settings.tls, Some(expected));
    let (_directory, store) = file("");
    let error = Settings::resolve(&store, flags).unwrap_err();
    assert!(error.to_string().contains("--tls-cert"), "{error}");
}

#[test]
fn rates_of_requests_are_numbers_per_unit() {
    let (_directory, store) = file("address-rate-limit = '600/m'\ntoken-rate-limit = '100/s'\n");
    let settings = Settings::resolve(&store, ServeFlags::default()).unwrap();
    assert_eq!(
        settings.address_rate_limit,
        Some(RateLimit::new(600, 100_000))
    );
    assert_eq!(settings.token_rate_limit, Some(RateLimit::new(100, 10_000)));
    let flags = |rate: &str| ServeFlags {
        token_rate_limit: Some(rate.to_owned()),
        ..ServeFlags::default()
    };
    let settings = Settings::resolve(&store, flags("off")).unwrap();
    assert_eq!(settings.token_rate_limit, None);
    let error = Settings::resolve(&store, flags("100"))
        .unwrap_err()
        .to_string();
    assert!(error.contains("use for example 100/s"), "{error}");
}

#[test]
fn an_address_has_a_thousand_connections_unless_set() {
    let (_directory, store) = file("");
    let settings = Settings::resolve(&store, ServeFlags::default()).unwrap();
    assert_eq!(settings.address_connections, 1024);
    let (_directory, store) = file("address-connections = 50\n");
    let settings = Settings::resolve(&store, ServeFlags::default()).unwrap();
    assert_eq!(settings.address_connections, 50);
    let flags = |count| ServeFlags {
        address_connections: Some(count),
        ..ServeFlags::default()
    };
    let settings = Settings::resolve(&store, flags(7)).unwrap();
    assert_eq!(settings.address_connections, 7);
    for wrong in [0, 4097] {
        let error = Settings::resolve(&store, flags(wrong)).unwrap_err();
        assert!(error.to_string().contains("from 1 to 4096"), "{error}");
    }
}

#[test]
fn requests_have_thirty_seconds_unless_set() {
    let (_directory, store) = file("");
    let settings = Settings::resolve(&store, ServeFlags::default()).unwrap();
    assert_eq!(settings.request_timeout.0, Duration::from_secs(30));
    let (_directory, store) = file("request-timeout = '2m'\n");
    let settings = Settings::resolve(&store, ServeFlags::default()).unwrap();
    assert_eq!(settings.request_timeout.0, Duration::from_mins(2));
    let flags = |text: &str| ServeFlags {
        request_timeout: Some(text.to_owned()),
        ..ServeFlags::default()
    };
    let settings = Settings::resolve(&store, flags("5s")).unwrap();
    assert_eq!(settings.request_timeout.0, Duration::from_secs(5));
    for wrong in ["11m", "500ms", "30", "none"] {
        let error = Settings::resolve(&store, flags(wrong)).unwrap_err();
        assert!(error.to_string().contains("from 1s to 10m"), "{error}");
    }
}

#[test]
fn metrics_have_no_address_of_their_own_unless_set() {
    let (_directory, store) = file("");
    let settings = Settings::resolve(&store, ServeFlags::default()).unwrap();
    assert_eq!(settings.metrics_listen, None);
    let (_directory, store) = file("metrics-listen = '127.0.0.1:9100'\n");
    let settings = Settings::resolve(&store, ServeFlags::default()).unwrap();
    assert_eq!(settings.metrics_listen.map(|it| it.port()), Some(9100));
    let flags = |text: &str| ServeFlags {
        metrics_listen: Some(text.to_owned()),
        ..ServeFlags::default()
    };
    let settings = Settings::resolve(&store, flags("127.0.0.1:9101")).unwrap();
    assert_eq!(settings.metrics_listen.map(|it| it.port()), Some(9101));
    let error = Settings::resolve(&store, flags("9100")).unwrap_err();
    assert!(error.to_string().contains("127.0.0.1"), "{error}");
}

#[test]
fn requests_of_more_than_a_second_are_slow_unless_set() {
    let (_directory, store) = file("");
    let settings = Settings::resolve(&store, ServeFlags::default()).unwrap();
    assert_eq!(settings.slow_requests, Some(Duration::from_secs(1)));
    for text in ["slow-ms = 200\n", "slow-ms = '200'\n"] {
        let (_directory, store) = file(text);
        let settings = Settings::resolve(&store, ServeFlags::default()).unwrap();
        assert_eq!(settings.slow_requests, Some(Duration::from_millis(200)));
    }
    let flags = |text: &str| ServeFlags {
        slow_ms: Some(text.to_owned()),
        ..ServeFlags::default()
    };
    let settings = Settings::resolve(&store, flags("off")).unwrap();
    assert_eq!(settings.slow_requests, None);
    for wrong in ["0", "1s", "-1", "none"] {
        let error = Settings::resolve(&store, flags(wrong)).unwrap_err();
        assert!(error.to_string().contains("1000, or off"), "{error}");
    }
}

#[test]
fn the_lifetime_of_tokens_is_at_most_a_year() {
    let (_directory, store) = file("max-token-ttl = '180d'\n");
    let settings = Settings::resolve(&store, ServeFlags::default()).unwrap();
    assert_eq!(settings.max_token_ttl_ms, Some(180 * 86_400_000));
    for wrong in ["366d", "forever", "0s"] {
        let flags = ServeFlags {
            max_token_ttl: Some(wrong.to_owned()),
            ..ServeFlags::default()
        };
        let error = Settings::resolve(&store, flags).unwrap_err().to_string();
        assert!(error.contains("at most 365d"), "{error}");
    }
}

#[test]
fn trusted_proxies_and_allowed_hosts_are_lists() {
    let (_directory, store) =
        file("trusted-proxy = ['10.0.0.0/8', '::1']\nallowed-host = ['docent.example']\n");
    let settings = Settings::resolve(&store, ServeFlags::default()).unwrap();
    let proxies = ["10.0.0.0/8", "::1/128"].map(|network| network.parse().unwrap());
    assert_eq!(settings.trusted_proxies, proxies);
    assert_eq!(settings.allowed_hosts, ["docent.example"]);
    let flags = ServeFlags {
        trusted_proxy: Some(vec!["192.0.2.1".to_owned()]),
        ..ServeFlags::default()
    };
    let settings = Settings::resolve(&store, flags).unwrap();
    assert_eq!(settings.trusted_proxies, ["192.0.2.1/32".parse().unwrap()]);
    for (proxy, host, says) in [
        (Some("10.0.0.0/33"), None, "'10.0.0.0/33' is not a network"),
        (Some("proxy.example"), None, "use for example 10.0.0.0/8"),
        (None, Some("docent.example:8080"), "without a port"),
        (None, Some(""), "'' is not a host name"),
    ] {
        let flags = ServeFlags {
            trusted_proxy: proxy.map(|text| vec![text.to_owned()]),
            allowed_host: host.map(|text| vec![text.to_owned()]),
            ..ServeFlags::default()
        };
        let error = Settings::resolve(&store, flags).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn the_audit_log_is_kept_for_days_or_forever() {
    for (text, expected) in [
        ("", Some(365)),
        ("audit-retention = 90", Some(90)),
        ("audit-retention = '7'", Some(7)),
        ("audit-retention = 'forever'", None),
    ] {
        let (_directory, store) = file(text);
        let settings = Settings::resolve(&store, ServeFlags::default()).unwrap();
        assert_eq!(settings.audit_retention_days, expected, "{text}");
        let flags = ServeFlags {
            audit_retention: Some("30".to_owned()),
            ..ServeFlags::default()
        };
        let settings = Settings::resolve(&store, flags).unwrap();
        assert_eq!(settings.audit_retention_days, Some(30));
    }
    for wrong in ["0", "-1", "soon"] {
        let (_directory, store) = file(&format!("audit-retention = '{wrong}'"));
        let error = Settings::resolve(&store, ServeFlags::default()).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("use for example 90, or forever"), "{error}");
    }
}

#[test]
fn the_search_index_is_next_to_the_target_of_a_symlink() {
    let (directory, mut store) = file("");
    let directory = directory.path().canonicalize().unwrap();
    let link = directory.join("link.db");
    std::os::unix::fs::symlink("docent.db", &link).unwrap();
    store.store = Some(format!("sqlite:{}", link.display()));
    let settings = Settings::resolve(&store, ServeFlags::default()).unwrap();
    assert_eq!(settings.search_index, directory.join("docent.db-search"));
}

#[test]
fn errors_in_the_file_say_what_to_write() {
    for (text, expected) in [
        (
            "lissten = '127.0.0.1:9000'\n",
            "line 1, column 1: unknown key 'lissten'; the keys are store, listen, ui-listen,",
        ),
        (
            "demo = true\nauth = 'nope'\n",
            "line 2, column 8: 'nope' is not a value of auth; use on or off",
        ),
        (
            "store = 'x'\nauth = \"a@b\"\n",
            "line 2, column 8: the value of auth is invalid; use on or off",
        ),
        (
            "demo = 'a:b'",
            "line 1, column 8: the value of demo has a wrong type, expected a boolean",
        ),
        (
            "store = \"sqlite:docent.db\n",
            ": this is not valid TOML; check quotes and brackets",
        ),
    ] {
        let (_directory, store) = file(text);
        let error = Settings::resolve(&store, ServeFlags::default()).unwrap_err();
        assert!(error.to_string().contains(expected), "{text}: {error}");
    }
}

#[test]
fn invalid_store_urls_are_rejected_with_an_example() {
    for url in ["docent.db", "sqlite:", "sqlite::memory:", "mysql://x"] {
        let error = StoreUrl::parse(Some(url)).unwrap_err().to_string();
        assert!(error.contains("sqlite:"), "{url}: {error}");
    }
    assert_eq!(
        StoreUrl::parse(Some("sqlite:///tmp/x.db")).unwrap(),
        StoreUrl::Sqlite(PathBuf::from("/tmp/x.db"))
    );
}

#[test]
fn messages_never_contain_the_password_of_the_store() {
    for url in [
        "postgres://ada:hunter2@db/catalog",
        "postgresql://ada:hunter2@db:5433/catalog?sslmode=require",
    ] {
        let parsed = StoreUrl::parse(Some(url)).unwrap();
        let shown = format!("{parsed} {parsed:?}");
        assert!(
            shown.contains("ada@db") && !shown.contains("hunter2"),
            "{shown}"
        );
    }
    for url in [
        "mysql://ada:hunter2@db/catalog",
        "sqlite:postgres://ada:hunter2@db/catalog",
        "sqlite://postgres://ada:hunter2@db/catalog",
        "postgres://ada:hunter2@db/catalog?pool_size=x",
    ] {
        let error = format!("{:#}", StoreUrl::parse(Some(url)).unwrap_err());
        assert!(!error.contains("hunter2"), "{error}");
    }
}

#[test]
fn view_policies_are_off_by_default_and_need_authentication() {
    let (_directory, store) = file("");
    let settings = Settings::resolve(&store, ServeFlags::default()).unwrap();
    assert_eq!(settings.view_policies, Switch::Off);
    let (_directory, store) = file("view-policies = 'on'\n");
    let settings = Settings::resolve(&store, ServeFlags::default()).unwrap();
    assert_eq!(settings.view_policies, Switch::On);
    let off = ServeFlags {
        view_policies: Some(Switch::Off),
        ..ServeFlags::default()
    };
    let settings = Settings::resolve(&store, off).unwrap();
    assert_eq!(settings.view_policies, Switch::Off);
    let unauthenticated = ServeFlags {
        auth: Some(Switch::Off),
        ..ServeFlags::default()
    };
    let error = Settings::resolve(&store, unauthenticated).unwrap_err();
    assert!(error.to_string().contains("--auth off"), "{error}");
}

#[test]
fn agents_may_change_what_their_user_may_unless_limited() {
    let (_directory, store) = file("");
    let settings = Settings::resolve(&store, ServeFlags::default()).unwrap();
    assert_eq!(settings.agent_writes, AgentChanges::Allow);
    let (_directory, store) = file("agent-writes = 'propose'\n");
    let settings = Settings::resolve(&store, ServeFlags::default()).unwrap();
    assert_eq!(settings.agent_writes, AgentChanges::Propose);
    let off = ServeFlags {
        agent_writes: Some(AgentChanges::Off),
        ..ServeFlags::default()
    };
    let settings = Settings::resolve(&store, off).unwrap();
    assert_eq!(settings.agent_writes, AgentChanges::Off);
    let (_directory, store) = file("agent-writes = 'sometimes'\n");
    let error = Settings::resolve(&store, ServeFlags::default()).unwrap_err();
    assert!(format!("{error:#}").contains("propose"), "{error:#}");
}

#[test]
fn administrators_see_settings_without_secrets() {
    let directory = tempfile::tempdir().unwrap();
    let secret_file = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let key = secret_file("key", "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=");
    let client = secret_file("client", "clientsecret");
    let (_directory, store) = file(&format!(
        "store = 'postgres://catalog:dbsecret@localhost/docent'\n\
         token-rate-limit = '600/m'\n\
         admin-password-file = 'adminsecret'\n\
         secret-key-file = '{key}'\n\
         tls-cert = 'cert.pem'\n\
         tls-key = 'tlssecret'\n\
         public-url = 'https://docent.example.com'\n\
         [[oidc]]\n\
         issuer = 'https://id.example.com'\n\
         client-id = 'docent'\n\
         client-secret-file = '{client}'\n"
    ));
    let settings = Settings::resolve(&store, ServeFlags::default()).unwrap();
    let shown = settings.shown();
    let value = |name: &str| {
        let setting = shown.iter().find(|it| it.name == name);
        setting.unwrap_or_else(|| panic!("{name}")).value.as_deref()
    };
    for (name, expected) in [
        ("store", "postgres://catalog@localhost:5432/docent"),
        ("listen", "127.0.0.1:8080"),
        ("ui-listen", "none"),
        ("slow-ms", "1000"),
        ("metrics-listen", "none"),
        ("auth", "on"),
        ("address-rate-limit", "off"),
        ("token-rate-limit", "600/m"),
        ("request-timeout", "30s"),
        ("session-ttl", "24h"),
        ("max-token-ttl", "90d"),
        ("previous-secret-key-file", "none"),
        ("tls-cert", "cert.pem"),
        ("audit-retention", "365"),
        ("oidc.oidc.issuer", "https://id.example.com"),
    ] {
        assert_eq!(value(name), Some(expected), "{name}");
    }
    for name in [
        "tls-key",
        "admin-password-file",
        "secret-key-file",
        "oidc.oidc.client-secret-file",
    ] {
        assert_eq!(value(name), None, "{name}");
    }
    let texts = format!("{shown:?}");
    for secret in [
        "dbsecret",
        "adminsecret",
        "clientsecret",
        "tlssecret",
        "MDEy",
        &key,
    ] {
        assert!(!texts.contains(secret), "{secret}");
    }
}

#[test]
fn webhooks_send_to_public_addresses_for_a_day_unless_set() {
    let (_directory, store) = file("");
    let settings = Settings::resolve(&store, ServeFlags::default()).unwrap();
    assert!(settings.webhook_networks.is_empty());
    assert_eq!(settings.webhook_retry_ms, 24 * 60 * 60 * 1000);
    let (_directory, store) =
        file("webhook-allow-private = ['10.1.0.0/16', '::1']\nwebhook-retry = '2h'\n");
    let flags = ServeFlags {
        webhook_retry: Some("3h".to_owned()),
        ..ServeFlags::default()
    };
    let settings = Settings::resolve(&store, flags).unwrap();
    let networks: Vec<String> = settings
        .webhook_networks
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(networks, ["10.1.0.0/16", "::1/128"]);
    assert_eq!(settings.webhook_retry_ms, 3 * 60 * 60 * 1000);
    for (text, part) in [
        ("webhook-retry = 'never'", "'never' is not a time"),
        ("webhook-retry = '8d'", "'8d' is not a time"),
        (
            "webhook-allow-private = ['local']",
            "'local' is not a network",
        ),
    ] {
        let (_directory, store) = file(text);
        let error = Settings::resolve(&store, ServeFlags::default()).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
}
