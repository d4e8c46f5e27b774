//! The state of the server, for administrators.

use docent_catalog::Error;
use docent_catalog::server_status::IndexStatus;
use serde_json::{Value, json};

use crate::{Args, Context};

pub(super) async fn server_status(context: &Context, _: Args<'_>) -> Result<Value, Error> {
    let status = context.catalog.server_status(&context.caller).await?;
    Ok(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "startedAt": status.started_at_ms,
        "store": {
            "engine": status.engine,
            "sizeBytes": status.store_bytes,
            "isWritable": status.is_writable,
        },
        "searchIndex": status.index.map(search_index),
    }))
}

fn search_index(index: IndexStatus) -> Value {
    json!({
        "pendingChanges": index.pending_changes,
        "built": index.built,
        "sizeBytes": index.size_bytes,
    })
}
