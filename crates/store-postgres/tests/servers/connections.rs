//! Connecting and staying connected: passwords, encryption, hanging hosts, silent connections,
//! exclusive use.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use docent_store::{ReadRequest, StoreError, StoreMaintenance as _, StoreReader as _, transact};
use docent_store_postgres::{OpenOptions, PostgresStore, Settings, restore};
use docent_test_store::{open_postgres, postgres_database};

use crate::{TIMEOUT, logged, put, put_in, status};

#[tokio::test]
async fn a_wrong_password_is_rejected_without_being_repeated() {
    let server = docent_test_postgres::Server::start().unwrap();
    let guard = "CREATE ROLE guarded LOGIN PASSWORD 'right-one'; \
                 GRANT ALL ON SCHEMA public TO guarded; \
                 CREATE TABLE rules (line text); \
                 INSERT INTO rules VALUES ('local all guarded scram-sha-256'), ('local all all trust'); \
                 DO $$ BEGIN EXECUTE format('COPY rules TO %L', current_setting('hba_file')); END $$; \
                 SELECT pg_reload_conf()";
    server.sql(guard).unwrap();
    let open = async |password: &str| {
        let url = server
            .url()
            .replace("tests@", &format!("guarded{password}@"));
        let settings = Settings::parse(&url).unwrap();
        let options = OpenOptions {
            create: true,
            watch: true,
        };
        let opened = PostgresStore::open(&settings, options).await;
        opened.map_err(|error| (format!("{error} {error:?} {settings:?}"), error))
    };
    let store = open(":right-one").await.unwrap();
    put(&store, &status("a"), "1").await;
    for wrong in [":hunter2", ""] {
        let (text, error) = open(wrong).await.unwrap_err();
        assert!(!text.contains("hunter2"), "{text}");
        assert!(text.contains("password"), "{text}");
        assert!(
            matches!(error, StoreError::Unavailable { .. }) || wrong.is_empty(),
            "{text}"
        );
    }
}

/// Independently of its application name.
#[tokio::test(flavor = "multi_thread")]
async fn exclusive_use_is_rejected_while_a_server_runs_and_keeps_servers_from_starting() {
    let database = postgres_database().unwrap();
    let url = format!(
        "{}&application_name=metadata&statement_timeout=1",
        database.url()
    );
    let server = open_postgres(&url).await.unwrap();
    put(&server, &status("a"), "1").await;
    let directory = tempfile::tempdir().unwrap();
    let backup = directory.path().join("backup");
    server.backup(&backup, Box::new(|_, _| {})).await.unwrap();
    let settings = Settings::parse(database.url()).unwrap();
    let rejection = restore(&backup, &settings, true, &mut |_, _| {}).await;
    let rejection = rejection.unwrap_err().to_string();
    assert!(rejection.contains("stop it first"), "{rejection}");
    let rejection = PostgresStore::open_exclusive(&settings, false).await;
    let rejection = rejection.unwrap_err().to_string();
    assert!(rejection.contains("stop it first"), "{rejection}");
    drop(server);
    let started = Instant::now();
    let exclusive = loop {
        match PostgresStore::open_exclusive(&settings, false).await {
            Ok(store) => break store,
            Err(error) => assert!(started.elapsed() < Duration::from_secs(20), "{error}"),
        }
    };
    let rejection = open_postgres(&url).await.unwrap_err().to_string();
    assert!(rejection.contains("exclusive use"), "{rejection}");
    drop(exclusive);
    open_postgres(database.url()).await.unwrap();
}

#[tokio::test]
async fn sslmode_determines_which_certificates_are_accepted() {
    let (server, port) = docent_test_postgres::Server::start_encrypted(
        include_str!("../tls/server.pem"),
        include_str!("../tls/server.key"),
    )
    .unwrap();
    // The server rejects TCP connections without TLS.
    let file = "CREATE TABLE rules (line text); INSERT INTO rules VALUES ('local all all trust'), \
                ('hostssl all all 127.0.0.1/32 trust'); \
                DO $$ BEGIN EXECUTE format('COPY rules TO %L', current_setting('hba_file')); END $$; \
                SELECT pg_reload_conf()";
    server.sql(file).unwrap();
    let authority = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tls/authority.pem");
    let open = async |host: &str, parameters: &str| {
        let url = format!("postgres://tests@{host}:{port}/postgres?{parameters}");
        let options = OpenOptions {
            create: true,
            watch: false,
        };
        PostgresStore::open(&Settings::parse(&url).unwrap(), options).await
    };
    let known = format!("sslrootcert={authority}");
    // An authority that did not issue the certificate.
    let other = concat!(
        "sslrootcert=",
        env!("CARGO_MANIFEST_DIR"),
        "/tests/tls/other.pem"
    );
    for (host, parameters, works) in [
        ("localhost", "sslmode=disable".to_owned(), false),
        ("localhost", "sslmode=prefer".to_owned(), true),
        ("127.0.0.1", "sslmode=require".to_owned(), true),
        ("127.0.0.1", format!("sslmode=require&{known}"), true),
        ("127.0.0.1", format!("sslmode=require&{other}"), false),
        ("localhost", format!("sslmode=verify-full&{known}"), true),
        // The certificate is for a name.
        ("127.0.0.1", format!("sslmode=verify-ca&{known}"), true),
        ("127.0.0.1", format!("sslmode=verify-full&{known}"), false),
        // The system does not trust the authority.
        ("localhost", "sslmode=verify-ca".to_owned(), false),
        ("localhost", "sslmode=verify-full".to_owned(), false),
    ] {
        let opened = open(host, &parameters).await;
        assert_eq!(opened.is_ok(), works, "{host} {parameters}: {opened:?}");
    }
    for (host, parameters, hint) in [
        (
            "localhost",
            format!("sslmode=verify-ca&{other}"),
            "set sslrootcert",
        ),
        (
            "127.0.0.1",
            format!("sslmode=verify-full&{known}"),
            "for another host name",
        ),
    ] {
        let error = open(host, &parameters).await.unwrap_err().to_string();
        assert!(error.contains(hint), "{error}");
    }
    let missing = open("localhost", "sslmode=verify-full&sslrootcert=/no/such/file").await;
    assert!(missing.unwrap_err().to_string().contains("/no/such/file"));
}

/// The kernel of a host with a stopped database still accepts connections.
#[tokio::test(flavor = "multi_thread")]
async fn a_hanging_host_does_not_delay_the_next_one() {
    let database = postgres_database().unwrap();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let (before, hosts) = database.url().split_once("host=").unwrap();
    let url = format!("{before}host=127.0.0.1&host={hosts}&port={port},5432&connect_timeout=120");
    let started = Instant::now();
    let store = open_postgres(&url).await.unwrap();
    put(&store, &status("a"), "1").await;
    assert_eq!(logged(&store, 0).await.len(), 1);
    assert!(started.elapsed() < TIMEOUT, "{:?}", started.elapsed());
}

/// A proxy to the database that can stop forwarding without closing a connection.
struct Proxy {
    port: u16,
    is_silent: Arc<AtomicBool>,
}

impl Proxy {
    fn start(url: &str) -> Self {
        let (_, host) = url.split_once("host=").unwrap();
        let directory = percent_encoding::percent_decode_str(host).decode_utf8();
        let socket = format!("{}/.s.PGSQL.5432", directory.unwrap());
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let is_silent = Arc::new(AtomicBool::new(false));
        let silent = Arc::clone(&is_silent);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let database = UnixStream::connect(&socket).unwrap();
                let (other_client, other_database) =
                    (client.try_clone().unwrap(), database.try_clone().unwrap());
                let (one_way, other_way) = (Arc::clone(&silent), Arc::clone(&silent));
                std::thread::spawn(move || forward(client, database, &one_way));
                std::thread::spawn(move || forward(other_database, other_client, &other_way));
            }
        });
        Self { port, is_silent }
    }

    fn url(&self, url: &str) -> String {
        let (base, _) = url.split_once('?').unwrap();
        base.replace("tests@", &format!("tests@127.0.0.1:{}", self.port))
    }
}

fn forward(mut from: impl Read, mut to: impl Write, is_silent: &AtomicBool) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(read) = from.read(&mut bytes) {
        if is_silent.load(Ordering::Relaxed) {
            // Reads and discards.
            continue;
        }
        if read == 0 || to.write_all(&bytes[..read]).is_err() {
            break;
        }
    }
}

/// Each pooled connection would time out separately.
#[tokio::test(flavor = "multi_thread")]
async fn a_silent_database_times_out_once_and_not_per_connection() {
    let database = postgres_database().unwrap();
    let proxy = Proxy::start(database.url());
    let url = format!(
        "{}?sslmode=disable&statement_timeout=1&connect_timeout=1",
        proxy.url(database.url())
    );
    let store = Arc::new(open_postgres(&url).await.unwrap());
    put(&*store, &status("a"), "1").await;
    // Fills the pool.
    let keys = [status("a")];
    let reads = (0..8).map(|_| store.read(ReadRequest::rows(&keys)));
    futures_util::future::join_all(reads).await;
    proxy.is_silent.store(true, Ordering::Relaxed);
    let silenced = Instant::now();
    let key = status("b");
    let writing = transact::<(), StoreError, _>(&*store, move |tx| {
        let key = key.clone();
        Box::pin(async move { put_in(tx, &key, "1").await })
    });
    let (written, read) = tokio::join!(writing, store.read(ReadRequest::rows(&keys)));
    for failed in [written.unwrap_err(), read.unwrap_err()] {
        assert!(
            matches!(failed, StoreError::Unavailable { .. }),
            "{failed:?}"
        );
    }
    // About five seconds: the timeouts of one statement and one connection. Eight connections would
    // take 24.
    let elapsed = silenced.elapsed();
    assert!(elapsed < Duration::from_secs(15), "{elapsed:?}");
}
