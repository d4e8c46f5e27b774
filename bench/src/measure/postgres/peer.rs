//! The plain client: the point query, and multi-row inserts of the rows that docent wrote.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, Result, ensure};
use tokio::task::JoinSet;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, Statement};

use crate::data::dataset_urn;
use crate::load::Done;
use crate::postgres_server::PostgresServer;

/// The equivalent of docent's read of a single aspect.
const POINT_QUERY: &str = "SELECT a.version, a.metadata, a.systemmetadata, a.createdon, a.createdby, a.createdfor \
     FROM metadata_aspect_v2 a WHERE a.urn = $1 AND a.aspect = $2 AND a.version = 0";

const ASPECT: &str = "datasetProperties";

/// Connections that send one query at a time each.
pub(super) struct Reader {
    connections: Vec<Arc<(Client, Statement)>>,
    urns: Arc<Vec<String>>,
}

impl Reader {
    pub(super) async fn open(
        server: &PostgresServer,
        count: usize,
        datasets: usize,
    ) -> Result<Self> {
        let mut connections = Vec::with_capacity(count);
        for _ in 0..count {
            let client = server.connect("docent").await?;
            let statement = client.prepare(POINT_QUERY).await?;
            connections.push(Arc::new((client, statement)));
        }
        let urns = Arc::new((0..datasets).map(dataset_urn).collect());
        Ok(Self { connections, urns })
    }

    /// Reads for this long and returns the number of queries.
    pub(super) async fn read(&mut self, duration: Duration) -> Result<Done> {
        let started = Instant::now();
        let mut running = JoinSet::new();
        for (index, connection) in self.connections.iter().enumerate() {
            let (connection, urns) = (Arc::clone(connection), Arc::clone(&self.urns));
            let connections = self.connections.len();
            running.spawn(async move {
                let (client, statement) = &*connection;
                let mut turn = 0;
                while started.elapsed() < duration {
                    let urn = &urns[(turn * connections + index) * 7919 % urns.len()];
                    let row = client.query_one(statement, &[urn, &ASPECT]).await?;
                    // Decoded, as in docent.
                    let metadata: String = row.try_get(1)?;
                    ensure!(!metadata.is_empty(), "{urn} has no properties");
                    turn += 1;
                }
                anyhow::Ok(turn)
            });
        }
        let mut requests = 0;
        while let Some(ended) = running.join_next().await {
            requests += ended?? as u64;
        }
        let elapsed = started.elapsed();
        Ok(Done { requests, elapsed })
    }
}

/// A table that ingestion fills: a query for the rows of one transaction, and its column types.
struct Table {
    insert: &'static str,
    written: &'static str,
    columns: &'static [Column],
}

#[derive(Clone, Copy)]
enum Column {
    Text,
    Long,
    Int,
    Time,
}
use Column::{Int, Long, Text, Time};

const TABLES: [Table; 4] = [
    Table {
        insert: "INSERT INTO metadata_aspect_v2 (urn, aspect, version, metadata, systemmetadata, createdon, createdby, createdfor)",
        written: "SELECT a.urn, a.aspect, a.version, a.metadata, a.systemmetadata, a.createdon, a.createdby, a.createdfor \
                  FROM change_log l JOIN metadata_aspect_v2 a ON a.urn = l.urn AND a.aspect = l.aspect AND a.version = 0 \
                  WHERE l.transaction = $1 ORDER BY l.item",
        columns: &[Text, Text, Long, Text, Text, Time, Text, Text],
    },
    Table {
        insert: "INSERT INTO edge (source, aspect, relationship, destination)",
        written: "SELECT e.source, e.aspect, e.relationship, e.destination FROM change_log l \
                  JOIN edge e ON e.source = l.urn AND e.aspect = l.aspect WHERE l.transaction = $1 ORDER BY l.item",
        columns: &[Text, Text, Text, Text],
    },
    Table {
        insert: "INSERT INTO change_log (transaction, item, urn, aspect, kind, logical_version, time_ms, actor)",
        written: "SELECT transaction, item, urn, aspect, kind, logical_version, time_ms, actor FROM change_log \
                  WHERE transaction = $1 ORDER BY item",
        columns: &[Long, Int, Text, Text, Text, Long, Long, Text],
    },
    Table {
        insert: "INSERT INTO change_pending (transaction, changes)",
        written: "SELECT transaction, count(*)::integer FROM change_log WHERE transaction = $1 GROUP BY transaction",
        columns: &[Long, Int],
    },
];

type Value = Box<dyn ToSql + Sync + Send>;

/// The rows of one transaction, by table.
type Batch = [Vec<Vec<Value>>; TABLES.len()];

pub(super) struct Writer {
    source: Client,
    connections: Vec<Client>,
    /// The latest replayed transaction.
    last: i64,
}

impl Writer {
    pub(super) async fn open(server: &PostgresServer, count: usize) -> Result<Self> {
        let mut connections = Vec::with_capacity(count);
        for _ in 0..count {
            connections.push(server.connect("peer").await?);
        }
        Ok(Self {
            source: server.connect("docent").await?,
            connections,
            last: 0,
        })
    }

    /// Skips everything written so far.
    pub(super) async fn skip(&mut self) -> Result<()> {
        let newest = "SELECT coalesce(max(transaction), 0) FROM change_log";
        self.last = self.source.query_one(newest, &[]).await?.try_get(0)?;
        Ok(())
    }

    /// Replays docent's writes since the last call, in the same transactions. Returns the number of
    /// aspects and the duration.
    pub(super) async fn replay(&mut self, transactions: usize) -> Result<(usize, Duration)> {
        let new = "SELECT DISTINCT transaction FROM change_log WHERE transaction > $1 ORDER BY 1";
        let numbers = self.source.query(new, &[&self.last]).await?;
        ensure!(
            numbers.len() == transactions,
            "docent wrote {} transactions for {transactions} requests",
            numbers.len()
        );
        let (mut batches, mut rows) = (VecDeque::new(), 0);
        for row in &numbers {
            self.last = row.try_get(0)?;
            let batch = self.written(self.last).await?;
            rows += batch[0].len();
            batches.push_back(batch);
        }
        let statements = self.prepare(&batches).await?;
        let batches = Arc::new(Mutex::new(batches));
        let started = Instant::now();
        let mut running = JoinSet::new();
        for (client, statements) in std::mem::take(&mut self.connections)
            .into_iter()
            .zip(statements)
        {
            let batches = Arc::clone(&batches);
            running.spawn(async move {
                loop {
                    let next = batches
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .pop_front();
                    let Some(batch) = next else {
                        return anyhow::Ok(client);
                    };
                    write(&client, &statements, &batch).await?;
                }
            });
        }
        while let Some(ended) = running.join_next().await {
            self.connections.push(ended??);
        }
        Ok((rows, started.elapsed()))
    }

    async fn written(&self, transaction: i64) -> Result<Batch> {
        let mut batch = Batch::default();
        for (table, rows) in TABLES.iter().zip(&mut batch) {
            for row in self.source.query(table.written, &[&transaction]).await? {
                rows.push(values(&row, table.columns)?);
            }
        }
        Ok(batch)
    }

    /// Prepares the statements of each connection before the measurement.
    async fn prepare(&self, batches: &VecDeque<Batch>) -> Result<Vec<Statements>> {
        let mut all = Vec::with_capacity(self.connections.len());
        for client in &self.connections {
            let mut statements = Statements::new();
            for batch in batches {
                for (index, rows) in batch
                    .iter()
                    .enumerate()
                    .filter(|(_, rows)| !rows.is_empty())
                {
                    if let Entry::Vacant(entry) = statements.entry((index, rows.len())) {
                        let sql = insert(&TABLES[index], rows.len());
                        entry.insert(client.prepare(&sql).await?);
                    }
                }
            }
            all.push(statements);
        }
        Ok(all)
    }
}

/// Prepared inserts by table and number of rows.
type Statements = HashMap<(usize, usize), Statement>;

async fn write(client: &Client, statements: &Statements, batch: &Batch) -> Result<()> {
    client.batch_execute("BEGIN").await?;
    for (index, rows) in batch
        .iter()
        .enumerate()
        .filter(|(_, rows)| !rows.is_empty())
    {
        let statement = statements
            .get(&(index, rows.len()))
            .context("a statement was not prepared")?;
        let values: Vec<&(dyn ToSql + Sync)> =
            rows.iter().flatten().map(|value| &**value as _).collect();
        client.execute(statement, &values).await?;
    }
    Ok(client.batch_execute("COMMIT").await?)
}

fn insert(table: &Table, rows: usize) -> String {
    let width = table.columns.len();
    let row = |row: usize| {
        let parameters: Vec<String> = (1..=width)
            .map(|column| format!("${}", row * width + column))
            .collect();
        format!("({})", parameters.join(", "))
    };
    let rows: Vec<String> = (0..rows).map(row).collect();
    format!("{} VALUES {}", table.insert, rows.join(", "))
}

fn values(row: &Row, columns: &[Column]) -> Result<Vec<Value>> {
    let value = |(at, column): (usize, &Column)| -> Result<Value> {
        Ok(match column {
            Text => Box::new(row.try_get::<_, Option<String>>(at)?),
            Long => Box::new(row.try_get::<_, i64>(at)?),
            Int => Box::new(row.try_get::<_, i32>(at)?),
            Time => Box::new(row.try_get::<_, SystemTime>(at)?),
        })
    };
    columns.iter().enumerate().map(value).collect()
}
