//! Getting at a database and staying there: passwords, encryption, hosts that hang, lines that are cut, and who has it alone.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use docent_store::{ReadRequest, StoreError, StoreMaintenance as _, StoreReader as _, transact};
use docent_store_postgres::{OpenOptions, PostgresStore, Settings, restore};
use docent_test_store::{open_postgres, postgres_database};

use crate::{logged, put, put_in, status};

#[tokio::test]
async fn a_wrong_password_is_refused_without_being_repeated() {
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
        opened.map_err(|refused| (format!("{refused} {refused:?} {settings:?}"), refused))
    };
    let store = open(":right-one").await.unwrap();
    put(&store, &status("a"), "1").await;
    for wrong in [":hunter2", ""] {
        let (text, refused) = open(wrong).await.unwrap_err();
        assert!(!text.contains("hunter2"), "{text}");
        assert!(text.contains("password"), "{text}");
        assert!(
            matches!(refused, StoreError::Unavailable { .. }) || wrong.is_empty(),
            "{text}"
        );
    }
}

/// Whatever it calls itself.
#[tokio::test(flavor = "multi_thread")]
async fn what_needs_a_database_for_itself_is_refused_while_a_server_runs_and_holds_servers_off() {
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
    let refused = restore(&backup, &settings, true, &mut |_, _| {}).await;
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("stop it first"), "{refused}");
    let refused = PostgresStore::open_exclusive(&settings, false).await;
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("stop it first"), "{refused}");
    drop(server);
    let started = Instant::now();
    let alone = loop {
        match PostgresStore::open_exclusive(&settings, false).await {
            Ok(alone) => break alone,
            Err(error) => assert!(started.elapsed() < Duration::from_secs(20), "{error}"),
        }
    };
    let refused = open_postgres(&url).await.unwrap_err().to_string();
    assert!(refused.contains("exclusive use"), "{refused}");
    drop(alone);
    open_postgres(database.url()).await.unwrap();
}

#[tokio::test]
async fn encryption_is_as_strict_as_sslmode_says() {
    let (server, port) = docent_test_postgres::Server::start_encrypted(
        include_str!("../tls/server.pem"),
        include_str!("../tls/server.key"),
    )
    .unwrap();
    // Without encryption nobody comes in.
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
    // Somebody who has signed nothing of it.
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
        // The certificate is made out to a name.
        ("127.0.0.1", format!("sslmode=verify-ca&{known}"), true),
        ("127.0.0.1", format!("sslmode=verify-full&{known}"), false),
        // Nobody on this machine trusts the authority.
        ("localhost", "sslmode=verify-ca".to_owned(), false),
        ("localhost", "sslmode=verify-full".to_owned(), false),
    ] {
        let opened = open(host, &parameters).await;
        assert_eq!(opened.is_ok(), works, "{host} {parameters}: {opened:?}");
    }
    let missing = open("localhost", "sslmode=verify-full&sslrootcert=/no/such/file").await;
    assert!(missing.unwrap_err().to_string().contains("/no/such/file"));
}

/// A host that is there and says nothing, as one whose database is stopped in the middle: its kernel takes connections.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_hangs_keeps_nobody_from_the_next_one() {
    let database = postgres_database().unwrap();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let (before, hosts) = database.url().split_once("host=").unwrap();
    let url = format!("{before}host=127.0.0.1&host={hosts}&port={port},5432");
    let started = Instant::now();
    let store = open_postgres(&url).await.unwrap();
    put(&store, &status("a"), "1").await;
    assert_eq!(logged(&store, 0).await.len(), 1);
    assert!(
        started.elapsed() < Duration::from_secs(4),
        "{:?}",
        started.elapsed()
    );
}

/// A line to the database that can be cut without either end being told.
struct Line {
    port: u16,
    cut: Arc<AtomicBool>,
}

impl Line {
    fn to(url: &str) -> Self {
        let (_, host) = url.split_once("host=").unwrap();
        let directory = percent_encoding::percent_decode_str(host).decode_utf8();
        let socket = format!("{}/.s.PGSQL.5432", directory.unwrap());
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let cut = Arc::new(AtomicBool::new(false));
        let is_cut = Arc::clone(&cut);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let database = UnixStream::connect(&socket).unwrap();
                let (other_client, other_database) =
                    (client.try_clone().unwrap(), database.try_clone().unwrap());
                let (one_way, other_way) = (Arc::clone(&is_cut), Arc::clone(&is_cut));
                std::thread::spawn(move || carry(client, database, &one_way));
                std::thread::spawn(move || carry(other_database, other_client, &other_way));
            }
        });
        Self { port, cut }
    }

    fn url(&self, url: &str) -> String {
        let (base, _) = url.split_once('?').unwrap();
        base.replace("tests@", &format!("tests@127.0.0.1:{}", self.port))
    }
}

fn carry(mut from: impl Read, mut to: impl Write, cut: &AtomicBool) {
    let mut bytes = vec![0; 1 << 16];
    while let Ok(read) = from.read(&mut bytes) {
        if cut.load(Ordering::Relaxed) {
            // Whatever is sent is taken and goes nowhere.
            continue;
        }
        if read == 0 || to.write_all(&bytes[..read]).is_err() {
            break;
        }
    }
}

/// One that hangs is worse than one that is gone: each connection has to be found out.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_falls_silent_is_noticed_once_and_not_for_each_connection() {
    let database = postgres_database().unwrap();
    let line = Line::to(database.url());
    let url = format!(
        "{}?sslmode=disable&statement_timeout=1&connect_timeout=1",
        line.url(database.url())
    );
    let store = Arc::new(open_postgres(&url).await.unwrap());
    put(&*store, &status("a"), "1").await;
    // Several connections, all of which will be dead.
    let keys = [status("a")];
    let reads = (0..8).map(|_| store.read(ReadRequest::rows(&keys)));
    futures_util::future::join_all(reads).await;
    line.cut.store(true, Ordering::Relaxed);
    let cut = Instant::now();
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
    // A statement and what it is given beyond, and then a connection; each once.
    assert!(
        cut.elapsed() < Duration::from_secs(7),
        "{:?}",
        cut.elapsed()
    );
}
