//! The warehouse: about two thousand datasets of an outdoor shop on six platforms, the same in
//! every run.
//!
//! The lists below alone determine which datasets there are: every subject of every schema appears
//! in every [`Variant`], with the usual leftover copies. The contents of a dataset (columns,
//! descriptions, tags and so on) are random. So a judgement may name any generated dataset by its
//! URN, but must not rely on its contents.
//!
//! Words with a single expected result are in [`crate::planted`] and must not appear here.

use serde_json::json;

use crate::entity::{ACTOR, Dataset, Entity, NOON_MS};

/// A schema, the domain of its tables, their source system, and their subjects.
struct Schema {
    name: &'static str,
    domain: &'static str,
    source: &'static str,
    subjects: [&'static str; 8],
}

#[rustfmt::skip]
const SCHEMAS: [Schema; 12] = [
    Schema { name: "finance", domain: "d-100", source: "stripe", subjects: ["invoices", "charges", "ledger_entries", "budgets", "cost_centers", "tax_filings", "payouts", "accruals"] },
    Schema { name: "sales", domain: "d-200", source: "shopify", subjects: ["orders", "order_lines", "quotes", "opportunities", "leads", "contracts", "territories", "discounts"] },
    Schema { name: "crm", domain: "d-200", source: "salesforce", subjects: ["customer", "customer_profile", "accounts", "contacts", "loyalty_points", "segments", "households", "referrals"] },
    Schema { name: "marketing", domain: "d-500", source: "braze", subjects: ["campaigns", "email_sends", "ad_clicks", "impressions", "landing_pages", "coupons", "audiences", "influencers"] },
    Schema { name: "hr", domain: "d-300", source: "workday", subjects: ["employees", "salaries", "leave_requests", "candidates", "interviews", "payroll_runs", "trainings", "job_openings"] },
    Schema { name: "logistics", domain: "d-400", source: "sap", subjects: ["shipments", "parcels", "carriers", "routes", "pallets", "deliveries", "customs_forms", "freight_rates"] },
    Schema { name: "inventory", domain: "d-400", source: "sap", subjects: ["stock_levels", "warehouses", "replenishments", "stock_counts", "suppliers", "purchase_requests", "bin_locations", "write_offs"] },
    Schema { name: "web", domain: "d-700", source: "segment", subjects: ["page_views", "sessions", "searches", "ab_tests", "consent_events", "product_clicks", "form_submits", "error_logs"] },
    Schema { name: "support", domain: "d-600", source: "zendesk", subjects: ["tickets", "chats", "satisfaction_surveys", "escalations", "agents", "call_recordings", "refund_requests", "warranty_claims"] },
    Schema { name: "product", domain: "d-200", source: "akeneo", subjects: ["skus", "prices", "product_reviews", "categories", "bundles", "media_assets", "size_charts", "recalls"] },
    Schema { name: "risk", domain: "d-100", source: "sift", subjects: ["chargebacks", "fraud_scores", "blocklists", "credit_limits", "device_fingerprints", "identity_checks", "alerts", "audits"] },
    Schema { name: "stores", domain: "d-200", source: "square", subjects: ["branches", "tills", "cash_counts", "footfall", "staff_rotas", "fittings", "click_collect", "rentals"] },
];

/// The form of a subject on a platform. `{s}` is the schema, `{t}` the subject, `{k}` the subject
/// with dashes, `{c}` in camel case, `{o}` the source.
struct Variant {
    platform: &'static str,
    pattern: &'static str,
    /// Percentage of these datasets with a description.
    described: u64,
}

#[rustfmt::skip]
const VARIANTS: [Variant; 21] = [
    Variant { platform: "postgres", pattern: "{s}.{t}", described: 60 },
    Variant { platform: "mysql", pattern: "{s}_app.{c}V2", described: 30 },
    Variant { platform: "mysql", pattern: "{s}_app.{c}Audit", described: 10 },
    Variant { platform: "kafka", pattern: "{k}-events-v1", described: 50 },
    Variant { platform: "kafka", pattern: "{k}-changelog", described: 20 },
    Variant { platform: "s3", pattern: "lake.landing.{s}.{t}_export", described: 10 },
    Variant { platform: "snowflake", pattern: "raw.{s}.raw_{o}_{t}", described: 20 },
    Variant { platform: "snowflake", pattern: "staging.{s}.stg_{o}_{t}", described: 50 },
    Variant { platform: "snowflake", pattern: "staging.{s}.int_{t}_deduplicated", described: 30 },
    Variant { platform: "snowflake", pattern: "analytics.{s}.fct_{t}", described: 90 },
    Variant { platform: "snowflake", pattern: "analytics.{s}.dim_{t}", described: 90 },
    Variant { platform: "snowflake", pattern: "analytics.{s}.{t}_daily_agg", described: 60 },
    Variant { platform: "snowflake", pattern: "analytics.{s}.{t}_monthly_agg", described: 60 },
    Variant { platform: "snowflake", pattern: "analytics.{s}.fct_{t}_tmp", described: 0 },
    Variant { platform: "snowflake", pattern: "backup.{s}.fct_{t}_backup_2023", described: 0 },
    Variant { platform: "snowflake", pattern: "archive.{s}.fct_{t}_archive", described: 5 },
    Variant { platform: "bigquery", pattern: "{s}.mart_{t}", described: 70 },
    Variant { platform: "bigquery", pattern: "{s}.{t}_by_region", described: 60 },
    Variant { platform: "bigquery", pattern: "{s}.{t}_history", described: 40 },
    Variant { platform: "bigquery", pattern: "{s}.{t}_snapshot", described: 40 },
    Variant { platform: "bigquery", pattern: "sandbox.{t}_test", described: 5 },
];

#[rustfmt::skip]
const COLUMNS: [(&str, &str); 36] = [
    ("id", "Number of the row"), ("customer_id", "Who it is about"), ("order_id", "Order that it belongs to"), ("employee_id", "Who did it"),
    ("sku", "Article number"), ("status", "Where it stands in its life cycle"), ("currency", "Three-letter code"), ("net_amount", "FeedAmount without tax"),
    ("tax_amount", "Tax on the amount"), ("quantity", "How many pieces"), ("country_code", "Two-letter code of the country"), ("region", "Sales region"),
    ("created_at", "When the row was made"), ("updated_at", "When the row was last changed"), ("deleted_at", "Null while the row is alive"), ("valid_from", "First day on which it holds"),
    ("valid_to", "Last day on which it holds"), ("email", "Address for messages"), ("phone", "Number with country prefix"), ("channel", "Where it came in"),
    ("warehouse_code", "Site that handled it"), ("weight_kg", "Weight with packaging"), ("is_test", "True for rows of testers"), ("source_system", "System that wrote it first"),
    ("batch_id", "Load that brought the row"), ("loaded_at", "When the load ended"), ("row_hash", "Fingerprint of all other columns"), ("comment", "Free text"),
    ("score", "Higher is better"), ("category", "Group for reports"), ("campaign_id", "Campaign that led to it"), ("session_id", "Visit in which it happened"),
    ("store_id", "Branch"), ("language", "Language of the texts"), ("priority", "One is the highest"), ("version", "Counts the changes"),
];

const FREQUENCIES: [&str; 4] = ["hourly", "daily", "weekly", "once"];

/// Ids and display names of users.
const USERS: [(&str, &str); 6] = [
    ("u1001", "Alice Novak"),
    ("u1002", "Ben Castillo"),
    ("u1003", "Chiara Rossi"),
    ("u1004", "David Okafor"),
    ("u1005", "Emma Johansson"),
    ("u1006", "Farid Haddad"),
];

const TAGS: [(&str, &str); 4] = [
    ("t-001", "Tier 1"),
    ("t-002", "Tier 2"),
    ("t-003", "Verified"),
    ("t-004", "Personal"),
];

const TERMS: [(&str, &str); 4] = [
    ("gt-001", "Active Account"),
    ("gt-002", "Gross Margin"),
    ("gt-003", "Lead Time"),
    ("gt-004", "Repeat Purchase"),
];

/// Id, name and parent id of a domain.
type Domain = (&'static str, &'static str, Option<&'static str>);

const DOMAINS: [Domain; 14] = [
    ("d-100", "Corporate Finance", None),
    ("d-110", "Treasury", Some("d-100")),
    ("d-111", "Liquidity Planning", Some("d-110")),
    ("d-200", "Commerce", None),
    ("d-210", "Wholesale Partners", Some("d-200")),
    ("d-300", "People Operations", None),
    ("d-310", "Talent Acquisition", Some("d-300")),
    ("d-400", "Supply Network", None),
    ("d-410", "Cold Storage", Some("d-400")),
    ("d-411", "Reefer Fleet", Some("d-410")),
    ("d-500", "Brand and Demand", None),
    ("d-510", "Lifecycle Messaging", Some("d-500")),
    ("d-600", "Customer Care", None),
    ("d-700", "Digital Experience", None),
];

/// All generated entities, in an order without meaning.
pub(crate) fn generated() -> Vec<Entity> {
    let mut draw = Draw(7);
    let mut entities = Vec::new();
    entities.extend(USERS.map(|(id, name)| user(id, name)));
    entities.extend(TAGS.map(|(id, name)| tag(id, name)));
    entities.extend(TERMS.map(|(id, name)| term(id, name)));
    entities.extend(DOMAINS.map(domain));
    for schema in &SCHEMAS {
        for subject in schema.subjects {
            for variant in &VARIANTS {
                entities.push(dataset(schema, subject, variant, &mut draw));
            }
        }
    }
    entities
}

fn dataset(schema: &Schema, subject: &str, variant: &Variant, draw: &mut Draw) -> Entity {
    let path = variant
        .pattern
        .replace("{s}", schema.name)
        .replace("{t}", subject)
        .replace("{k}", &subject.replace('_', "-"))
        .replace("{c}", &camel_case(subject))
        .replace("{o}", schema.source);
    let words = subject.replace('_', " ");
    let mut dataset = Dataset::new(variant.platform, &path).column(&format!("{subject}_key"));
    if draw.percent(variant.described) {
        let frequency = FREQUENCIES[draw.below(FREQUENCIES.len())];
        let description = match draw.below(4) {
            0 => format!("All {words} known to {}, loaded {frequency}.", schema.name),
            1 => format!("One row per entry of {words}. Refreshed {frequency}."),
            2 => format!("The {words} as {} reports them.", schema.source),
            _ => format!("Cleaned {words}, without test rows; loaded {frequency}."),
        };
        dataset = dataset.described(&description);
    }
    if draw.percent(8) {
        dataset = dataset.edited(&format!(
            "Ask the team of {} before you use it.",
            schema.name
        ));
    }
    let first = draw.below(COLUMNS.len());
    for step in 0..7 + draw.below(13) {
        // Seven and thirty-six are coprime, so no column is repeated.
        let (column, description) = COLUMNS[(first + step * 7) % COLUMNS.len()];
        dataset = match draw.below(5) {
            0 | 1 => dataset.column_described(column, description),
            2 if draw.percent(10) => dataset.column_edited(column, description),
            _ => dataset.column(column),
        };
    }
    if draw.percent(70) {
        dataset = dataset.owner(USERS[draw.below(USERS.len())].0);
    }
    if draw.percent(70) {
        dataset = dataset.domain(schema.domain);
    }
    if draw.percent(20) {
        dataset = dataset.tag(TAGS[draw.below(TAGS.len())].0);
    }
    if draw.percent(15) {
        dataset = dataset.term(TERMS[draw.below(TERMS.len())].0);
    }
    if draw.percent(30) {
        dataset = dataset.property("retention_days", &(30 * (1 + draw.below(12))).to_string());
    }
    if draw.percent(10) {
        let page = format!("https://wiki.northmere.example/{}/{subject}", schema.name);
        dataset = dataset.link(&page, &format!("Notes on {words}"));
    }
    dataset.entity()
}

/// `order_lines` becomes `orderLines`.
fn camel_case(words: &str) -> String {
    let mut camel = String::new();
    for (number, word) in words.split('_').enumerate() {
        let (head, tail) = word.split_at(1);
        if number == 0 {
            camel.push_str(head);
        } else {
            camel.push_str(&head.to_uppercase());
        }
        camel.push_str(tail);
    }
    camel
}

pub(crate) fn user(id: &str, name: &str) -> Entity {
    let info = json!({"active": true, "displayName": name, "fullName": name});
    Entity::new(&format!("urn:li:corpuser:{id}"), "corpUserInfo", info)
}

pub(crate) fn group(id: &str, name: &str) -> Entity {
    let info = json!({"displayName": name, "admins": [], "members": [], "groups": []});
    Entity::new(&format!("urn:li:corpGroup:{id}"), "corpGroupInfo", info)
}

pub(crate) fn tag(id: &str, name: &str) -> Entity {
    let properties = json!({ "name": name });
    Entity::new(&format!("urn:li:tag:{id}"), "tagProperties", properties)
}

pub(crate) fn term(id: &str, name: &str) -> Entity {
    let info = json!({"name": name, "definition": "", "termSource": "INTERNAL"});
    let urn = format!("urn:li:glossaryTerm:{id}");
    Entity::new(&urn, "glossaryTermInfo", info)
}

fn domain((id, name, parent): Domain) -> Entity {
    let mut properties = json!({"name": name, "created": {"time": NOON_MS, "actor": ACTOR}});
    if let Some(parent) = parent {
        properties["parentDomain"] = json!(format!("urn:li:domain:{parent}"));
    }
    Entity::new(
        &format!("urn:li:domain:{id}"),
        "domainProperties",
        properties,
    )
}

/// A linear congruential generator: pseudo-random numbers that are the same in every run.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        // The low bits of such a generator have a short period.
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    fn percent(&mut self, share: u64) -> bool {
        (self.below(100) as u64) < share
    }
}
