//! Looking for damage: SQLite's own check, and what must hold between the tables.
//!
//! To add an invariant: a function here that adds a sentence per violation, and a test that breaks it.

use std::path::Path;

use docent_model::{Registry, SystemMetadata, Urn, derive};
use docent_store::StoreError;
use docent_store::version::RETAINED_VERSIONS;
use rusqlite::{Connection, ErrorCode};
use serde_json::Value;

use crate::connection::open_visitor;
use crate::error::{EngineError, opening};
use crate::lock::expect_one_name;
use crate::path::expect_file;
use crate::readers::Snapshot;
use crate::{derived, migrations, read};

/// More findings than this say nothing new.
const MAX_FINDINGS: usize = 100;

/// Looks at a database without opening a store on it, which would bring its schema up to date first: a damaged file is
/// left as it is.
pub fn check_file(path: &Path) -> Result<Vec<String>, StoreError> {
    Ok(check_opened(path)?)
}

fn check_opened(path: &Path) -> Result<Vec<String>, EngineError> {
    expect_file(path)?;
    expect_one_name(path)?;
    let connection = open_visitor(path)?;
    let findings = integrity(&connection).map_err(|error| match error {
        EngineError::Sqlite(error) => opening(path)(error),
        store @ EngineError::Store(_) => store,
    })?;
    if !findings.is_empty() {
        return Ok(findings);
    }
    if migrations::state(&connection, path)? != migrations::NEWEST {
        return Err(EngineError::Store(StoreError::Refused {
            reason: format!(
                "{} was written by an older docent: the file itself is sound, but what is in it can be checked only \
                 after 'docent serve' or 'docent rebuild' has brought its schema up to date",
                path.display()
            ),
        }));
    }
    check(&connection)
}

/// One sentence per finding, at most a hundred.
pub(crate) fn check(connection: &Connection) -> Result<Vec<String>, EngineError> {
    let _snapshot = Snapshot::begin(connection)?;
    let mut findings = integrity(connection)?;
    if findings.is_empty() {
        // On a damaged file the rest would only repeat it, or fail.
        Pass::new(connection, &mut findings).run()?;
        orphans(connection, &mut findings)?;
    }
    findings.truncate(MAX_FINDINGS);
    Ok(findings)
}

/// SQLite's own opinion.
pub(crate) fn integrity(connection: &Connection) -> Result<Vec<String>, EngineError> {
    let lines = match integrity_lines(connection) {
        Ok(lines) => lines,
        // So damaged that the check itself cannot go on.
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseCorrupt) => {
            vec![error.to_string()]
        }
        Err(error) => return Err(error.into()),
    };
    let findings = lines.into_iter().filter(|line| line != "ok");
    Ok(findings
        .map(|line| format!("the database file is damaged: {line}"))
        .collect())
}

fn integrity_lines(connection: &Connection) -> Result<Vec<String>, rusqlite::Error> {
    connection
        .prepare(&format!("PRAGMA integrity_check({MAX_FINDINGS})"))?
        .query_map([], |row| row.get(0))?
        .collect()
}

fn orphans(connection: &Connection, findings: &mut Vec<String>) -> Result<(), EngineError> {
    for table in derived::TABLES {
        let sql = format!(
            "SELECT DISTINCT {},aspect FROM {} WHERE {} LIMIT {MAX_FINDINGS}",
            table.owner,
            table.name,
            table.is_orphan()
        );
        let mut statement = connection.prepare(&sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let (urn, aspect): (String, String) = (row.get(0)?, row.get(1)?);
            findings.push(format!(
                "{urn} has rows in table {} that follow from its aspect {aspect}, which it does not have; \
                 run `docent rebuild`",
                table.name
            ));
        }
    }
    Ok(())
}

/// One walk over all rows, entity by entity, aspect by aspect, version by version.
struct Pass<'a> {
    connection: &'a Connection,
    findings: &'a mut Vec<String>,
    urn: String,
    /// Whether the current entity misses its key aspect so far, and which that is.
    missing_key: Option<&'static str>,
    aspect: String,
    /// The logical version of the current aspect's row 0; `None` if it has no row 0.
    logical_version: Option<i64>,
    versions: i64,
}

impl<'a> Pass<'a> {
    fn new(connection: &'a Connection, findings: &'a mut Vec<String>) -> Self {
        Self {
            connection,
            findings,
            urn: String::new(),
            missing_key: None,
            aspect: String::new(),
            logical_version: None,
            versions: 0,
        }
    }

    fn run(mut self) -> Result<(), EngineError> {
        let mut statement = self.connection.prepare(
            "SELECT urn,aspect,version,metadata,systemmetadata FROM metadata_aspect_v2 \
             ORDER BY urn,aspect,version",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            if self.findings.len() >= MAX_FINDINGS {
                return Ok(());
            }
            let urn = read::text_at(row, 0, read::ASPECTS, "urn", "unknown")?;
            let aspect = read::text_at(row, 1, read::ASPECTS, "aspect", urn)?;
            if urn != self.urn {
                self.leave_entity();
                self.enter_entity(urn);
            }
            if aspect != self.aspect {
                self.leave_aspect();
                self.enter_aspect(aspect);
            }
            let metadata = read::text_at(row, 3, read::ASPECTS, "metadata", urn)?;
            let system_metadata: Option<String> = row.get(4)?;
            self.row(row.get(2)?, metadata, system_metadata.as_deref())?;
        }
        self.leave_entity();
        Ok(())
    }

    fn enter_entity(&mut self, urn: &str) {
        urn.clone_into(&mut self.urn);
        self.missing_key = None;
        match Urn::parse(urn) {
            Ok(urn) => {
                let entity = Registry::get().entity(urn.entity_type());
                self.missing_key = entity.map(|entity| entity.key_aspect.as_str());
            }
            Err(error) => self.findings.push(format!("a stored URN is none: {error}")),
        }
    }

    fn leave_entity(&mut self) {
        self.leave_aspect();
        self.aspect.clear();
        if let Some(key_aspect) = self.missing_key.take() {
            let finding = format!(
                "{} has aspects but not its key aspect {key_aspect}",
                self.urn
            );
            self.findings.push(finding);
        }
    }

    fn enter_aspect(&mut self, aspect: &str) {
        aspect.clone_into(&mut self.aspect);
        self.logical_version = None;
        self.versions = 0;
    }

    fn leave_aspect(&mut self) {
        if self.versions > RETAINED_VERSIONS {
            let versions = self.versions;
            self.find(&format!(
                "has {versions} versions where at most {RETAINED_VERSIONS} are kept"
            ));
        }
        self.versions = 0;
    }

    fn row(
        &mut self,
        version: i64,
        metadata: &str,
        system_metadata: Option<&str>,
    ) -> Result<(), EngineError> {
        self.versions += 1;
        let value = serde_json::from_str::<Value>(metadata);
        if let Err(error) = &value {
            self.find(&format!("has no JSON in version {version}: {error}"));
        }
        let noted = system_metadata.map(serde_json::from_str::<SystemMetadata>);
        if let Some(Err(error)) = &noted {
            self.find(&format!(
                "has unreadable system metadata in version {version}: {error}"
            ));
        }
        if version == 0 {
            let noted = noted.and_then(Result::ok).unwrap_or_default();
            self.logical_version = Some(noted.logical_version().unwrap_or(1).max(1));
            if self.missing_key == Some(self.aspect.as_str()) {
                self.missing_key = None;
            }
            if let Ok(value) = value {
                self.derived_rows(&value)?;
            }
            return Ok(());
        }
        match self.logical_version {
            None if self.versions == 1 => self.find("has history but no latest version"),
            Some(latest) if !(1..latest).contains(&version) => self.find(&format!(
                "has version {version} in its history although its latest version is {latest}"
            )),
            _ => {}
        }
        Ok(())
    }

    fn derived_rows(&mut self, value: &Value) -> Result<(), EngineError> {
        let Some(aspect) = Registry::get().aspect(&self.aspect) else {
            return Ok(());
        };
        let Ok(urn) = Urn::parse(&self.urn) else {
            return Ok(());
        };
        let expected = derive(&urn, aspect, value);
        if !derived::matches(self.connection, &self.urn, &self.aspect, &expected)? {
            self.find("has derived rows that do not follow from it; run `docent rebuild`");
        }
        Ok(())
    }

    fn find(&mut self, what: &str) {
        self.findings
            .push(format!("aspect {} of {} {what}", self.aspect, self.urn));
    }
}
