//! SQLite's own full-text search, in this process on the core of the servers.

use std::time::Instant;

use anyhow::{Context, Result};
use rusqlite::{Connection, OpenFlags};

use super::peers::{self, FACET_VALUES, Peer, WEIGHTS};
use crate::bench::Bench;
use crate::report::Report;
use crate::search_data::{Catalog, domain_urn, owner_urn, tag_urn};

/// Indexes the words without storing the texts, which are in the catalog.
const TABLES: &str = "
    PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -1048576;
    CREATE VIRTUAL TABLE words USING fts5 (name, columns, description, content='');
    CREATE TABLE dataset (id INTEGER PRIMARY KEY, urn TEXT, platform TEXT, origin TEXT, domain TEXT, documented INTEGER);
    CREATE TABLE dataset_tag (id INTEGER, tag TEXT, PRIMARY KEY (id, tag)) WITHOUT ROWID;
    CREATE TABLE dataset_owner (id INTEGER, owner TEXT, PRIMARY KEY (id, owner)) WITHOUT ROWID;";

const BEST: &str = "SELECT dataset.urn FROM words JOIN dataset ON dataset.id = words.rowid \
     WHERE words MATCH ?1 ORDER BY words.rank LIMIT 10";

#[derive(Debug)]
pub(super) struct Fts5 {
    connection: Connection,
    facets: String,
}

pub(super) fn load(
    bench: &Bench,
    catalog: &Catalog,
    our_rate: f64,
    report: &mut Report,
) -> Result<Fts5> {
    report.progress("loading SQLite FTS5");
    let path = bench.path("fts5.db");
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(&path, flags)
        .with_context(|| format!("cannot open {}", path.display()))?;
    let started = Instant::now();
    peers::on_server_core(|| fill(&connection, catalog))?;
    let rate = catalog.len() as f64 / started.elapsed().as_secs_f64();
    peers::loaded("SQLite FTS5", rate, our_rate, report);
    Ok(Fts5 {
        connection,
        facets: facets(),
    })
}

fn fill(connection: &Connection, catalog: &Catalog) -> Result<()> {
    connection.execute_batch(TABLES)?;
    let [name, column, description] = WEIGHTS;
    connection.execute(
        "INSERT INTO words (words, rank) VALUES ('rank', ?1)",
        [format!("bm25({name:.1}, {column:.1}, {description:.1})")],
    )?;
    connection.execute_batch("BEGIN")?;
    for (id, dataset) in catalog.datasets().enumerate() {
        let id = i64::try_from(id)?;
        connection
            .prepare_cached(
                "INSERT INTO words (rowid, name, columns, description) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute((
                id,
                dataset.name_text(),
                dataset.column_text(),
                &dataset.description,
            ))?;
        connection
            .prepare_cached("INSERT INTO dataset VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
            .execute((
                id,
                dataset.urn(),
                dataset.platform,
                dataset.origin,
                dataset.domain.map(domain_urn),
                !dataset.description.is_empty(),
            ))?;
        for tag in dataset.tags {
            connection
                .prepare_cached("INSERT INTO dataset_tag VALUES (?1, ?2)")?
                .execute((id, tag_urn(tag)))?;
        }
        for owner in dataset.owners {
            connection
                .prepare_cached("INSERT INTO dataset_owner VALUES (?1, ?2)")?
                .execute((id, owner_urn(owner)))?;
        }
    }
    connection.execute_batch("COMMIT; INSERT INTO words (words) VALUES ('optimize')")?;
    Ok(())
}

/// One statement that counts all facets over the matches.
fn facets() -> String {
    let of_dataset = ["platform", "origin", "domain", "documented"].map(|column| {
        format!(
            "SELECT '{column}', {column}, count(*) FROM matching JOIN dataset USING (id) GROUP BY 2"
        )
    });
    let of_others = ["tag", "owner"].map(|column| {
        format!("SELECT '{column}', {column}, count(*) FROM matching JOIN dataset_{column} USING (id) GROUP BY 2")
    });
    let counts: Vec<String> = of_dataset
        .into_iter()
        .chain(of_others)
        .map(|count| format!("SELECT * FROM ({count} ORDER BY 3 DESC LIMIT {FACET_VALUES})"))
        .collect();
    format!(
        "WITH matching (id) AS MATERIALIZED (SELECT rowid FROM words WHERE words MATCH ?1) {}",
        counts.join(" UNION ALL ")
    )
}

impl Peer for Fts5 {
    fn answer(&mut self, words: &[String; 2]) -> Result<usize> {
        let either = format!("\"{}\" OR \"{}\"", words[0], words[1]);
        peers::on_server_core(|| {
            let mut count = 0;
            for sql in [BEST, &self.facets] {
                let mut statement = self.connection.prepare_cached(sql)?;
                let mut rows = statement.query([&either])?;
                while rows.next()?.is_some() {
                    count += 1;
                }
            }
            Ok(count)
        })
    }

    fn best(&mut self, words: &[String]) -> Result<Vec<String>> {
        let any = words.iter().map(|word| format!("\"{word}\""));
        let any = any.collect::<Vec<_>>().join(" OR ");
        let mut statement = self.connection.prepare_cached(BEST)?;
        let urns = statement.query_map([&any], |row| row.get(0))?;
        Ok(urns.collect::<rusqlite::Result<_>>()?)
    }
}
