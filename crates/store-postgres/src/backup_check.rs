//! Checks a backup: restores it into a schema of its own, and checks the store there.

use std::path::Path;

use docent_store::StoreError;

use crate::backup::restore;
use crate::check_database;
use crate::error::EngineError;
use crate::pool::{Connections, Lease};
use crate::settings::Settings;

/// Beside the schema of the catalog. One that a killed process has left is replaced.
const SCHEMA: &str = "docent_backup_check";
/// One check at a time; ends with the connection.
const LOCK: &str = "SELECT pg_try_advisory_lock(hashtext('docent_backup_check'), 0)";
const MAY_CREATE: &str = "SELECT has_database_privilege(current_database(), 'CREATE')";

/// Returns the findings of the check.
pub async fn check_backup(
    backup: &Path,
    settings: &Settings,
    progress: &mut (dyn FnMut(u64, u64) + Send),
) -> Result<Vec<String>, StoreError> {
    let connections = Connections::new(settings)?;
    let lease = connections.lease().await?;
    if !is_true(&lease, MAY_CREATE).await? {
        return Err(rejected(
            "the backup cannot be checked: its check restores it into a schema of its own, and needs \
             GRANT CREATE ON DATABASE for the user in the store URL",
        ));
    }
    if !is_true(&lease, LOCK).await? {
        return Err(rejected("another check of a backup is running"));
    }
    let drop_schema = format!("DROP SCHEMA IF EXISTS {SCHEMA} CASCADE");
    lease.execute(&drop_schema).await?;
    lease.execute(&format!("CREATE SCHEMA {SCHEMA}")).await?;
    let scratch = settings.in_schema(SCHEMA);
    let checked = async {
        restore(backup, &scratch, false, progress).await?;
        check_database(&scratch).await
    };
    let findings = checked.await;
    let dropped = lease.execute(&drop_schema).await;
    let findings = findings?;
    dropped?;
    Ok(findings)
}

async fn is_true(lease: &Lease, query: &str) -> Result<bool, EngineError> {
    let rows = lease.query(query, &[]).await?;
    Ok(match rows.first() {
        Some(row) => row.try_get(0)?,
        None => false,
    })
}

fn rejected(reason: &str) -> StoreError {
    StoreError::Rejected {
        reason: reason.to_owned(),
    }
}
