//! Entities added to the warehouse by hand: the only expected result of a query, and entities that
//! are easily confused with it.
//!
//! If a judgement prefers one of two similar entities, the other one comes first here, and in half
//! of the pairs also in URN order, so that no tie is won by accident. To plant another entity, add
//! it to its group, with unique words, and add a line to `queries.jsonl`.

use crate::entity::{Dataset, Entity};
use crate::generator::{group, tag, term, user};

pub(crate) fn planted() -> Vec<Entity> {
    let mut entities = vec![
        user("u2001", "Margarethe Oyelaran"),
        user("u2002", "Tomasz Wiśniewski"),
        user("u2003", "Zoë Brontë"),
        group("grp-77", "Night Watch"),
        tag("t-017", "Golden Source"),
        tag("t-018", "Under Embargo"),
        term("gt-200", "Days Sales Outstanding"),
        term("gt-201", "Churned Subscriber"),
    ];
    let groups = [
        copies(),
        spellings(),
        topics(),
        texts(),
        labels(),
        fields_of_a_word(),
        names_of_a_word(),
        equal_texts(),
        phrases(),
        accents(),
        together_and_apart(),
    ];
    entities.extend(groups.into_iter().flatten().map(Dataset::entity));
    entities
}

fn table(platform: &str, path: &str) -> Dataset {
    Dataset::new(platform, path)
        .column("id")
        .column("created_at")
        .column("updated_at")
}

/// A table and leftover copies of it.
fn copies() -> Vec<Dataset> {
    vec![
        table("snowflake", "analytics.sales.fct_bookings_tmp"),
        table("snowflake", "backup.sales.fct_bookings_backup_2023"),
        table("snowflake", "archive.sales.fct_bookings_archive"),
        table("bigquery", "sandbox.fct_bookings_copy_of_copy"),
        table("snowflake", "analytics.sales.fct_bookings")
            .described("Every reservation of a guided tour, one row each.")
            .column_described("guide_id", "Who leads the tour"),
        table("mysql", "tours_app.tourGuideRosterOld"),
        table("mysql", "tours_app.tourGuideRoster").described("Who leads which walk on which day."),
        table("snowflake", "analytics.sales.fct_crates").described("Wooden boxes sold."),
        table("snowflake", "analytics.sales.fct_grates").described("Grills sold."),
    ]
}

/// Names in several spellings.
fn spellings() -> Vec<Dataset> {
    vec![
        table("bigquery", "web.basket_funnel").described("Steps from the basket to the order."),
        table("bigquery", "web.checkout_steps").described("Steps of the last page."),
        table("bigquery", "web.checkout_funnel").described("How many visitors reach each step."),
        table("mysql", "crm_app.voucherWallet").described("Open credits."),
        table("mysql", "crm_app.voucherWalletBalanceSheet").described("Open credits, summed up."),
        table("postgres", "ops.glacierForecastRunsV3").described("Runs of the weather model."),
        table("snowflake", "analytics.treasury.fx_hedge_positions")
            .described("Open forward deals.")
            .domain("d-111"),
        table("snowflake", "analytics.treasury.reconciliation_breaks")
            .described("Differences between bank and books."),
    ]
}

fn topics() -> Vec<Dataset> {
    let described = "Signs of life of the tills.";
    vec![
        Dataset::new("kafka", "heartbeat-events-v1-dlq").column("till_id"),
        Dataset::new("kafka", "heartbeat-events-v2")
            .described(described)
            .column("till_id"),
        Dataset::new("kafka", "heartbeat-events-v1")
            .described(described)
            .column("till_id"),
    ]
}

/// Words that occur in one kind of text only.
fn texts() -> Vec<Dataset> {
    vec![
        table("s3", "lake.landing.maps.geo_tiles")
            .described("Elevation raster behind the avalanche warnings on product pages."),
        table("mysql", "support_app.macro_texts")
            .described("Texts for replies.")
            .edited("Canned apologies, reviewed by the **ombudsman** every spring."),
        table("bigquery", "logistics.pallet_moves")
            .described("Where a pallet stood, and when.")
            .column_described("t_c", "Reading of the thermocouple in the trailer")
            .column_edited("x17", "Set by the gyroscope when the pallet tilted"),
        table("snowflake", "raw.hr.emp_master")
            .described("One row per person on the payroll.")
            .column("shoe_size_eu")
            .column("nextOfKinPhone")
            .column(
                "[version=2.0].[type=struct].[type=struct].allergies.[type=string].epipenShelf",
            ),
        table("postgres", "ops.rota_export")
            .described("Loaded by hand.")
            .link(
                "https://wiki.northmere.example/p/9",
                "Penguin migration playbook",
            ),
        table("postgres", "ops.scratch_numbers")
            .described("Loaded by a script.")
            .property("pager_rotation", "quokka-7")
            .property("datacontract", "wombat"),
    ]
}

/// Datasets to be found by the names of their labels, whose ids differ.
fn labels() -> Vec<Dataset> {
    vec![
        table("snowflake", "analytics.product.article_master")
            .described("All articles.")
            .tag("t-017"),
        table("bigquery", "product.launch_list")
            .described("Articles to come.")
            .tag("t-018")
            .domain("d-210"),
        table("snowflake", "analytics.finance.open_items")
            .described("What is not yet paid.")
            .term("gt-200"),
        table("bigquery", "marketing.winback_targets")
            .described("Whom to write to.")
            .term("gt-201")
            .domain("d-510"),
        table("postgres", "ops.freezer_log")
            .described("Doors and degrees.")
            .domain("d-410"),
        table("postgres", "ops.alarm_rules")
            .described("When to wake somebody.")
            .owner("u2001"),
        table("postgres", "ops.alarm_history")
            .described("When somebody was woken.")
            .owner_group("grp-77"),
    ]
}

/// The same word as a name, as a column, and in a description.
fn fields_of_a_word() -> Vec<Dataset> {
    vec![
        table("bigquery", "logistics.driver_hours")
            .described("Hours at the wheel, as the tachograph recorded them."),
        table("bigquery", "logistics.truck_register")
            .described("All trucks, owned or leased.")
            .column("tachograph_id"),
        table("bigquery", "logistics.tachograph_readings").described("Speed by the minute."),
        table("bigquery", "stores.door_notes").described(
            "The turnstile at the door. Which turnstile? The turnstile on the left: a turnstile with a turnstile number.",
        ),
        table("bigquery", "stores.gate_entries")
            .described("Visitors by the hour.")
            .column("turnstile_number"),
        table("bigquery", "stores.turnstile_counts").described("Visitors by the minute."),
    ]
}

/// The same word as the whole name, as its prefix, and inside it.
fn names_of_a_word() -> Vec<Dataset> {
    vec![
        table("postgres", "manufacturing.raw_kiln").described("Sensor values, unchecked."),
        table("postgres", "manufacturing.kiln_batches").described("What was fired together."),
        table("postgres", "manufacturing.kiln").described("The ovens of the pottery."),
        table("postgres", "manufacturing.stg_loom").described("Sensor values, unchecked."),
        table("postgres", "manufacturing.loom_orders").described("What was woven together."),
        table("postgres", "manufacturing.loom").described("The machines of the weaving mill."),
    ]
}

/// Pairs with the same name that differ in their metadata.
fn equal_texts() -> Vec<Dataset> {
    let used = "Who may act for whom.";
    vec![
        table("bigquery", "risk.exposure_matrix"),
        table("snowflake", "risk.exposure_matrix")
            .described("SearchLimits and what is drawn of them."),
        table("snowflake", "legal.patent_docket"),
        table("bigquery", "legal.patent_docket").described("Filings and their dates."),
        table("mysql", "legal.signing_mandates").described(used),
        table("postgres", "legal.signing_mandates")
            .described(used)
            .queried(4_200),
    ]
}

/// The same words in another order.
fn phrases() -> Vec<Dataset> {
    vec![
        table("bigquery", "logistics.fee_notes").described(
            "A surcharge for freight is never late; late notes on freight go elsewhere.",
        ),
        table("bigquery", "logistics.fee_rules")
            .described("When the late freight surcharge is due."),
        table("bigquery", "logistics.dock_plan")
            .described("Which berth is free, and which is taken by sailcloth."),
        table("bigquery", "logistics.dock_log").described("Which berth was taken."),
    ]
}

fn accents() -> Vec<Dataset> {
    vec![
        table("postgres", "ops.kuechen_bestand")
            .described("Vorräte der Kantine: Crème brûlée, Jalapeños und Smörgåsbord.")
            .column("größenklasse"),
        table("postgres", "ops.Überstunden").described("Hours beyond the plan."),
    ]
}

/// All words against some words in better fields, adjacent words against scattered ones, and a typo
/// in the data.
fn together_and_apart() -> Vec<Dataset> {
    vec![
        table("mysql", "harbour.derrick_bollard").described("Where ships are tied up."),
        table("mysql", "harbour.quay_notes")
            .described("Each derrick and each bollard, with its status."),
        table("mysql", "harbour.bosun_of_the_galley"),
        table("mysql", "harbour.crew_list").column("bosun_galley"),
        table("mysql", "harbour.sextant_log").described("Where the sun stood."),
        table("mysql", "harbour.bridge_notes").described("A sextnat was found on deck."),
    ]
}
