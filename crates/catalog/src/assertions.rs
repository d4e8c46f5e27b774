//! Data checks of other tools, and their results.
//!
//! A custom assertion describes its check in the tool's own words. Its runs are points of a time
//! series.

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, EpochMillis, Registry, Urn};
use docent_store::{AspectKey, ReadRequest};
use serde_json::{Map, Value, json};

use crate::about_assets::AboutAssets;
use crate::access::denied;
use crate::privilege::{EDIT_ENTITY, EDIT_ENTITY_ASSERTIONS, Privilege};
use crate::proposal::Proposal;
use crate::stored::aspect_value;
use crate::target::column_urn;
use crate::{Caller, Catalog, Change, ConflictReason, Error};

/// The member of the aspect that names the asset of each kind of assertion.
const ABOUT: [&str; 8] = [
    "/entityUrn",
    "/customAssertion/entity",
    "/datasetAssertion/dataset",
    "/freshnessAssertion/entity",
    "/volumeAssertion/entity",
    "/sqlAssertion/entity",
    "/fieldAssertion/entity",
    "/schemaAssertion/entity",
];

/// A check that another tool runs.
#[derive(Debug, Clone)]
pub struct CustomAssertion {
    /// The checked entity.
    pub entity: Urn,
    pub description: String,
    pub external_url: Option<String>,
    /// The tool.
    pub platform: Option<Urn>,
    /// The checked columns.
    pub columns: Vec<String>,
    /// The other members of the aspect: the tool's name for the kind, and how it checks.
    pub details: Map<String, Value>,
}

/// The privileges for the assertions of an asset.
const ASSERTION_EDITORS: &[Privilege] = &[EDIT_ENTITY_ASSERTIONS, EDIT_ENTITY];

impl Catalog {
    /// Stores an assertion; without a URN as a new one. User edits of an existing one stay. The
    /// asset may be missing: tools report their checks before a connector has reported the table.
    pub async fn upsert_custom_assertion(
        &self,
        caller: &Caller,
        urn: Option<Urn>,
        assertion: CustomAssertion,
    ) -> Result<Urn, Error> {
        let urn = urn.map_or_else(|| self.new_urn("assertion", None), Ok)?;
        urn.expect_type("assertion")?;
        let entity = assertion.entity.clone();
        let stored_asset = self.authorize_stored(caller, &urn).await?;
        let stored_assets = stored_asset.clone().into_iter();
        let platform = assertion.platform.clone();
        let custom = custom(&assertion)?;
        let info = Proposal::edit(urn.clone(), AspectName::ASSERTION_INFO, {
            let urn = urn.clone();
            move |current: Option<Value>, stamp: &AuditStamp| {
                check_asset(&urn, current.as_ref(), stored_asset.as_ref())?;
                let mut info = current.unwrap_or_else(
                    || json!({"type": "CUSTOM", "source": {"type": "EXTERNAL", "created": stamp}}),
                );
                if info["type"] != "CUSTOM" {
                    return Err(Error::conflict(
                        ConflictReason::UnexpectedValue,
                        format!(
                            "{urn} is an assertion of another kind: omit the URN to create a new one"
                        ),
                    ));
                }
                info["entityUrn"] = json!(assertion.entity);
                info["customAssertion"] = custom.clone();
                info["description"] = json!(assertion.description);
                info["lastUpdated"] = json!(stamp);
                match (&assertion.external_url, info.as_object_mut()) {
                    (Some(url), _) => info["externalUrl"] = json!(url),
                    (None, Some(members)) => drop(members.remove("externalUrl")),
                    (None, None) => {}
                }
                Ok(info)
            }
        });
        self.authorize(caller, ASSERTION_EDITORS, Some(&entity))
            .await?;
        let mut proposals = vec![info];
        if let Some(platform) = platform {
            platform.expect_type("dataPlatform")?;
            let value = json!({ "platform": platform }).to_string();
            let aspect = AspectName::DATA_PLATFORM_INSTANCE;
            proposals.push(Proposal::upsert(urn.clone(), aspect, value));
        }
        let assets = stored_assets.chain([entity]);
        self.apply_with_right_on(caller, ASSERTION_EDITORS, assets, proposals)
            .await?;
        Ok(urn)
    }

    /// Fails unless the caller may edit an assertion that is stored, by its asset, which is
    /// returned.
    async fn authorize_stored(
        &self,
        caller: &Caller,
        assertion: &Urn,
    ) -> Result<Option<Urn>, Error> {
        let key = AspectKey::new(assertion, AspectName::ASSERTION_INFO);
        let row = self.store().read(ReadRequest::row(&key)).await?.into_row();
        let info: Option<Value> = aspect_value(&row);
        let asset = info.as_ref().map(|info| asset_of(assertion, info));
        let Some(asset) = asset.transpose()?.flatten() else {
            return Ok(None);
        };
        if !self.hidden_among([assertion]).await?.is_empty() {
            return Err(denied(
                caller.actor(),
                None,
                ASSERTION_EDITORS,
                Some(assertion),
            ));
        }
        self.authorize(caller, ASSERTION_EDITORS, Some(&asset))
            .await?;
        Ok(Some(asset))
    }

    /// Deletes an assertion, and removes it from contracts.
    pub async fn delete_assertion(&self, caller: &Caller, assertion: &Urn) -> Result<(), Error> {
        assertion.expect_type("assertion")?;
        let missing = format!("Failed to delete {assertion}. It does not exist.");
        self.expect_existing(assertion, missing.clone()).await?;
        let about = AboutAssets {
            aspect: AspectName::ASSERTION_INFO,
            assets_in: |info| {
                asset_text(info)
                    .and_then(|it| Urn::parse(it).ok())
                    .into_iter()
                    .collect()
            },
            privileges: ASSERTION_EDITORS,
        };
        let proposal = Proposal::new(assertion.clone(), Change::DeleteEntity)
            .requires_existing(assertion, missing);
        self.apply_about_assets(caller, about, assertion, &[], vec![proposal])
            .await
    }

    /// Stores the result of an assertion run, in the form of the aspect's `result`.
    pub async fn report_assertion_result(
        &self,
        caller: &Caller,
        assertion: &Urn,
        time_ms: EpochMillis,
        result: &Value,
    ) -> Result<(), Error> {
        assertion.expect_type("assertion")?;
        let key = AspectKey::new(assertion, AspectName::ASSERTION_INFO);
        let row = self.reader().read(ReadRequest::row(&key)).await?.into_row();
        let missing = format!("Failed to report a result of {assertion}. It does not exist.");
        let Some(row) = row else {
            return Err(Error::no_entity(missing));
        };
        let info: Value = serde_json::from_str(&row.metadata).unwrap_or_default();
        let asset = asset_of(assertion, &info)?.ok_or_else(|| {
            Error::conflict(
                ConflictReason::UnexpectedValue,
                format!("{assertion} does not name the asset that it checks"),
            )
        })?;
        let event = json!({
            "timestampMillis": time_ms,
            "assertionUrn": assertion,
            "asserteeUrn": asset,
            "runId": self.options.ids.next_id(),
            "status": "COMPLETE",
            "result": result,
        });
        let aspect = AspectName::ASSERTION_RUN_EVENT;
        let proposal = Proposal::upsert(assertion.clone(), aspect, event.to_string());
        let is_unchanged = {
            let (assertion, asset) = (assertion.clone(), asset.clone());
            move |current: Option<Value>| check_asset(&assertion, current.as_ref(), Some(&asset))
        };
        let proposal = proposal
            .requires_existing(assertion, missing)
            .requires_value(assertion, AspectName::ASSERTION_INFO, is_unchanged);
        self.authorize(caller, ASSERTION_EDITORS, Some(&asset))
            .await?;
        self.apply_with_right_on(caller, ASSERTION_EDITORS, [asset], vec![proposal])
            .await?;
        Ok(())
    }
}

/// The asset that an assertion checks. Its rights decide, so a text that is no URN is an error.
fn asset_of(assertion: &Urn, info: &Value) -> Result<Option<Urn>, Error> {
    asset_text(info).map(Urn::parse).transpose().map_err(|error| {
        let message = format!(
            "{assertion} does not name the asset that it checks ({error}): write its assertionInfo again"
        );
        Error::conflict(ConflictReason::UnexpectedValue, message)
    })
}

/// The text that names the asset of an assertion.
fn asset_text(info: &Value) -> Option<&str> {
    ABOUT.iter().find_map(|path| info.pointer(path)?.as_str())
}

/// Fails if an assertion has another asset than when the rights on it were checked.
fn check_asset(assertion: &Urn, info: Option<&Value>, checked: Option<&Urn>) -> Result<(), Error> {
    let asset = info.map(|info| asset_of(assertion, info)).transpose()?;
    if asset.flatten().as_ref() == checked {
        return Ok(());
    }
    Err(Error::conflict(
        ConflictReason::UnexpectedValue,
        format!("{assertion} was changed meanwhile: send the request again"),
    ))
}

/// The part of the aspect that belongs to the tool.
fn custom(assertion: &CustomAssertion) -> Result<Value, Error> {
    let columns = assertion
        .columns
        .iter()
        .map(|column| {
            let urn = column_urn(&assertion.entity, column)?;
            Registry::get().check_urn(&urn)?;
            Ok(urn)
        })
        .collect::<Result<Vec<Urn>, Error>>()?;
    let mut custom = assertion.details.clone();
    custom.insert("entity".to_owned(), json!(assertion.entity));
    // Older clients read the first column only.
    if let Some(first) = columns.first() {
        custom.insert("field".to_owned(), json!(first));
        custom.insert("fields".to_owned(), json!(columns));
    }
    Ok(Value::Object(custom))
}
