//! PostgreSQL's full-text search: a server on the core of the servers, queried through `psql` on
//! the other core.

use std::fs::File;
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

use super::peers::{self, FACET_VALUES, Peer, WEIGHTS};
use crate::bench::Bench;
use crate::postgres_server::{self, PostgresServer, USER};
use crate::process::Cores;
use crate::report::Report;
use crate::search_data::{Catalog, Dataset, domain_urn, owner_urn, tag_urn};

/// Marks the end of psql's output for a query.
const END: &str = "=end=";

/// Settings that the manual recommends. One core leaves nothing to run in parallel.
const SETTINGS: [&str; 7] = [
    "shared_buffers=4GB",
    "work_mem=256MB",
    "maintenance_work_mem=1GB",
    "max_wal_size=8GB",
    "fsync=off",
    "jit=off",
    "max_parallel_workers_per_gather=0",
];

const TABLE: &str = "CREATE UNLOGGED TABLE dataset (id int, urn text, name text, columns text, description text, \
     platform text, origin text, domain text, documented bool, tags text[], owners text[], words tsvector \
     GENERATED ALWAYS AS (setweight(to_tsvector('simple', name), 'A') || \
     setweight(to_tsvector('simple', columns), 'B') || setweight(to_tsvector('simple', description), 'C')) STORED);";

const COPY: &str = "COPY dataset (id, urn, name, columns, description, platform, origin, domain, documented, tags, \
     owners) FROM STDIN;";

#[derive(Debug)]
pub(super) struct Postgres {
    session: Session,
    // Dropped after the session.
    _server: PostgresServer,
}

/// Loads the catalog; `None` if PostgreSQL is not installed.
pub(super) fn load(
    bench: &Bench,
    catalog: &Catalog,
    our_rate: f64,
    report: &mut Report,
) -> Result<Option<Postgres>> {
    if !postgres_server::is_installed() {
        return Ok(None);
    }
    report.progress("loading PostgreSQL");
    let server = PostgresServer::start(bench, Cores::Server, &SETTINGS)?;
    let mut session = Session::open(bench)?;
    let started = Instant::now();
    session.run(TABLE)?;
    session.send(COPY)?;
    for (id, dataset) in catalog.datasets().enumerate() {
        session.send(&row(id, &dataset))?;
    }
    session.run("\\.\nCREATE INDEX ON dataset USING gin (words); ANALYZE dataset;")?;
    let rate = catalog.len() as f64 / started.elapsed().as_secs_f64();
    peers::loaded("PostgreSQL tsvector", rate, our_rate, report);
    Ok(Some(Postgres {
        session,
        _server: server,
    }))
}

/// A row in the format of COPY. No text needs escaping.
fn row(id: usize, dataset: &Dataset) -> String {
    let set = |urns: Vec<String>| format!("{{{}}}", urns.join(","));
    [
        id.to_string(),
        dataset.urn(),
        dataset.name_text(),
        dataset.column_text(),
        dataset.description.clone(),
        dataset.platform.to_owned(),
        dataset.origin.to_owned(),
        dataset.domain.map_or_else(|| "\\N".to_owned(), domain_urn),
        (!dataset.description.is_empty()).to_string(),
        set(dataset.tags.iter().map(|tag| tag_urn(*tag)).collect()),
        set(dataset
            .owners
            .iter()
            .map(|owner| owner_urn(*owner))
            .collect()),
    ]
    .join("\t")
}

impl Peer for Postgres {
    fn answer(&mut self, words: &[String; 2]) -> Result<usize> {
        let (either, best) = best_of(words);
        let columns = ["platform", "origin", "domain", "documented::text"];
        let lists = ["unnest(tags)", "unnest(owners)"];
        let counts: Vec<String> = columns
            .into_iter()
            .chain(lists)
            .map(|value| {
                format!("(SELECT {value}, count(*) FROM matching GROUP BY 1 ORDER BY 2 DESC LIMIT {FACET_VALUES})")
            })
            .collect();
        let facets = format!(
            "WITH matching AS MATERIALIZED (SELECT platform, origin, domain, documented, tags, owners FROM dataset \
             WHERE words @@ {either}) {};",
            counts.join(" UNION ALL ")
        );
        Ok(self.session.run(&format!("{best}\n{facets}"))?.len())
    }

    fn best(&mut self, words: &[String]) -> Result<Vec<String>> {
        let (_, best) = best_of(words);
        let rows = self.session.run(&best)?;
        let urn = |row: String| row.split('|').next().unwrap_or_default().to_owned();
        Ok(rows.into_iter().map(urn).collect())
    }
}

/// The tsquery for any of the words, and the statement for the best ten.
fn best_of(words: &[String]) -> (String, String) {
    let any = format!("to_tsquery('simple', '{}')", words.join(" | "));
    let [name, column, description] = WEIGHTS;
    let largest = name.max(1.0);
    // From weight D, which is unused, to A.
    let weights = format!(
        "'{{0, {}, {}, {}}}'",
        description / largest,
        column / largest,
        name / largest
    );
    let best = format!(
        "SELECT urn, ts_rank({weights}, words, {any}) AS score FROM dataset WHERE words @@ {any} \
         ORDER BY score DESC LIMIT 10;"
    );
    (any, best)
}

/// A running psql.
#[derive(Debug)]
struct Session {
    child: Child,
    input: BufWriter<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Session {
    fn open(bench: &Bench) -> Result<Self> {
        let mut child = Command::new("psql")
            .args([
                "-X",
                "-q",
                "-A",
                "-t",
                "-v",
                "ON_ERROR_STOP=1",
                "-U",
                USER,
                "-d",
                "postgres",
                "-h",
            ])
            .arg(bench.path("postgres"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(bench.path("psql.log"))?)
            .spawn()
            .context("cannot start psql")?;
        let input = child.stdin.take().context("psql has no input")?;
        let output = child.stdout.take().context("psql has no output")?;
        Ok(Self {
            child,
            input: BufWriter::with_capacity(1 << 16, input),
            output: BufReader::new(output),
        })
    }

    fn send(&mut self, line: &str) -> Result<()> {
        Ok(writeln!(self.input, "{line}")?)
    }

    /// Runs statements and returns their rows.
    fn run(&mut self, statements: &str) -> Result<Vec<String>> {
        self.send(statements)?;
        self.send(&format!("\\echo {END}"))?;
        self.input.flush()?;
        let mut rows = Vec::new();
        let mut line = String::new();
        loop {
            line.clear();
            let read = self.output.read_line(&mut line)?;
            ensure!(read > 0, "psql ended; its log says why");
            if line.trim_end() == END {
                return Ok(rows);
            }
            rows.push(line.trim_end().to_owned());
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
