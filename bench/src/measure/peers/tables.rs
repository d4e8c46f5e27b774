//! The catalog in plain tables of PostgreSQL (`bench/peers/tables.sql`).

use anyhow::Result;
use tokio_postgres::Client;

use crate::data::labels::{Label, LabeledDataset, platform_name};
use crate::postgres_server::PostgresServer;

pub(super) const DATABASE: &str = "peers";

/// How many datasets are inserted at once.
const CHUNK: usize = 500;

/// Creates the tables and fills them. Returns their bytes on disk, indexes included.
pub(super) async fn load(server: &PostgresServer, datasets: usize) -> Result<u64> {
    let admin = server.connect("postgres").await?;
    admin
        .batch_execute(&format!("CREATE DATABASE {DATABASE}"))
        .await?;
    let client = server.connect(DATABASE).await?;
    client
        .batch_execute(include_str!("../../../peers/tables.sql"))
        .await?;
    for (table, labels) in [
        ("domain", Label::domains()),
        ("person", Label::people()),
        ("tag", Label::tags()),
    ] {
        let urns: Vec<&str> = labels.iter().map(|it| it.urn.as_str()).collect();
        let names: Vec<&str> = labels.iter().map(|it| it.name.as_str()).collect();
        let sql = format!(
            "INSERT INTO {table} (id, urn, name) OVERRIDING SYSTEM VALUE \
             SELECT number, urn, name FROM unnest($1::text[], $2::text[]) \
             WITH ORDINALITY AS new (urn, name, number)"
        );
        client.execute(&sql, &[&urns, &names]).await?;
    }
    let all: Vec<LabeledDataset> = (0..datasets).map(LabeledDataset).collect();
    for chunk in all.chunks(CHUNK) {
        insert(&client, chunk).await?;
    }
    client.batch_execute("VACUUM ANALYZE").await?;
    let bytes: i64 = client
        .query_one(
            "SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class \
             WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace",
            &[],
        )
        .await?
        .try_get(0)?;
    Ok(bytes.unsigned_abs())
}

/// Ids count from 1.
fn id(number: usize) -> Result<i64> {
    Ok(i64::try_from(number)? + 1)
}

async fn insert(client: &Client, datasets: &[LabeledDataset]) -> Result<()> {
    let (mut ids, mut domains) = (Vec::new(), Vec::new());
    let (mut urns, mut names, mut descriptions) = (Vec::new(), Vec::new(), Vec::new());
    let (mut owned, mut owners) = (Vec::new(), Vec::new());
    let (mut tagged, mut tags) = (Vec::new(), Vec::new());
    let (mut column_datasets, mut positions) = (Vec::new(), Vec::new());
    let (mut columns, mut column_descriptions) = (Vec::new(), Vec::new());
    for dataset in datasets {
        let own_id = id(dataset.0)?;
        ids.push(own_id);
        domains.push(id(dataset.domain_number())?);
        urns.push(dataset.urn());
        names.push(dataset.name());
        descriptions.push(dataset.description());
        for owner in dataset.owner_numbers() {
            owned.push(own_id);
            owners.push(id(owner)?);
        }
        for tag in dataset.tag_numbers() {
            tagged.push(own_id);
            tags.push(id(tag)?);
        }
        for (position, (name, description)) in dataset.columns().into_iter().enumerate() {
            column_datasets.push(own_id);
            positions.push(i32::try_from(position)?);
            columns.push(name);
            column_descriptions.push(description);
        }
    }
    client
        .execute(
            "INSERT INTO dataset (id, urn, name, platform, description, domain_id) \
             OVERRIDING SYSTEM VALUE SELECT id, urn, name, $6, description, domain \
             FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[]) \
             AS new (id, urn, name, description, domain)",
            &[
                &ids,
                &urns,
                &names,
                &descriptions,
                &domains,
                &platform_name(),
            ],
        )
        .await?;
    client
        .execute(
            "INSERT INTO dataset_column (dataset_id, position, name, type, nullable, description) \
             SELECT dataset, position, name, 'varchar(64)', position > 1, description \
             FROM unnest($1::bigint[], $2::integer[], $3::text[], $4::text[]) \
             AS new (dataset, position, name, description)",
            &[&column_datasets, &positions, &columns, &column_descriptions],
        )
        .await?;
    for (sql, datasets, labels) in [
        (
            "INSERT INTO dataset_owner (dataset_id, person_id) \
             SELECT * FROM unnest($1::bigint[], $2::bigint[])",
            &owned,
            &owners,
        ),
        (
            "INSERT INTO dataset_tag (dataset_id, tag_id) \
             SELECT * FROM unnest($1::bigint[], $2::bigint[])",
            &tagged,
            &tags,
        ),
    ] {
        client.execute(sql, &[datasets, labels]).await?;
    }
    Ok(())
}
