//! Data contracts: the assertions that a dataset promises to meet.

use docent_model::{AspectName, Urn};
use serde_json::{Map, Value, json};

use crate::about_assets::AboutAssets;
use crate::privilege::{EDIT_ENTITY, EDIT_ENTITY_DATA_CONTRACT};
use crate::proposal::Proposal;
use crate::target::expect_few;
use crate::{Caller, Catalog, Error};

const ENTITY: &str = "dataContract";

const ABOUT: AboutAssets = AboutAssets {
    aspect: AspectName::DATA_CONTRACT_PROPERTIES,
    assets_in: |value| {
        let asset = value["entity"].as_str();
        asset
            .and_then(|text| Urn::parse(text).ok())
            .into_iter()
            .collect()
    },
    privileges: &[EDIT_ENTITY_DATA_CONTRACT, EDIT_ENTITY],
};

/// The contract of a dataset, as a whole.
#[derive(Debug, Clone)]
pub struct NewContract {
    pub dataset: Urn,
    /// The id if the dataset has none yet. Without an id, a random one is made.
    pub id: Option<String>,
    pub freshness: Option<Vec<Urn>>,
    pub schema: Option<Vec<Urn>>,
    pub data_quality: Option<Vec<Urn>>,
    /// `ACTIVE` or `PENDING`.
    pub state: Option<String>,
}

impl Catalog {
    /// Creates or replaces the contract of a dataset, and returns its URN.
    pub async fn upsert_contract(&self, caller: &Caller, new: NewContract) -> Result<Urn, Error> {
        let dataset = new.dataset.clone();
        dataset.expect_type("dataset")?;
        let stored = self.contracts_of(std::slice::from_ref(&dataset)).await?;
        let urn = match stored.into_iter().flatten().next() {
            Some(urn) => urn,
            None => self.new_urn(ENTITY, new.id.as_deref())?,
        };
        let mut lists = Map::new();
        let mut assertions = Vec::new();
        for (member, list) in [
            ("freshness", new.freshness),
            ("schema", new.schema),
            ("dataQuality", new.data_quality),
        ] {
            let Some(list) = list else {
                continue;
            };
            for assertion in &list {
                assertion.expect_type("assertion")?;
            }
            let item = |assertion: &Urn| json!({ "assertion": assertion });
            let items = list.iter().map(item).collect();
            lists.insert(member.to_owned(), items);
            assertions.extend(list);
        }
        expect_few("assertions", assertions.len())?;
        let properties = Proposal::edit::<Map<String, Value>, _>(urn.clone(), ABOUT.aspect, {
            let dataset = dataset.clone();
            move |_, _| {
                let mut properties = lists.clone();
                properties.insert("entity".to_owned(), json!(dataset));
                Ok(properties)
            }
        });
        let properties = assertions.iter().fold(properties, |proposal, assertion| {
            let missing = format!("Provided assertion with urn {assertion} does not exist!");
            proposal.requires_existing(assertion, missing)
        });
        let state = new.state.unwrap_or_else(|| "ACTIVE".to_owned());
        let status = Proposal::edit::<Map<String, Value>, _>(
            urn.clone(),
            AspectName::DATA_CONTRACT_STATUS,
            move |current, _| {
                let mut status = current.unwrap_or_default();
                status.insert("state".to_owned(), json!(state));
                Ok(status)
            },
        );
        let proposals = vec![properties, status];
        self.apply_about_assets(caller, ABOUT, &urn, &[dataset], proposals)
            .await?;
        Ok(urn)
    }
}
