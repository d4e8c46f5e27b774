//! Definitions of structured properties: creation, changes and deletion.
//!
//! The write path checks every new definition
//! ([`crate::structured_properties::definition::Definition::check_change`]), whichever API it comes
//! through.

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, Urn};
use docent_search::{Criterion, Filter, SearchPage, SearchRequest};
use serde_json::{Map, Value, json};

use crate::limits::{check_name, check_note};
use crate::proposal::{Proposal, Requirement};
use crate::structured_properties::definition::check_settings;
use crate::structured_properties::{PropertyValue, same};
use crate::{Caller, Catalog, Change, ConflictReason, Error};

const ENTITY: &str = "structuredProperty";

/// A property to create.
#[derive(Debug, Clone)]
pub struct NewProperty {
    /// The id is the qualified name. Without both, a random one is made.
    pub id: Option<String>,
    pub qualified_name: Option<String>,
    pub value_type: Urn,
    pub details: PropertyDetails,
}

/// What a new property has, and what a change of one adds. `None` leaves a member unchanged, and
/// lists add to the stored ones.
#[derive(Debug, Clone, Default)]
pub struct PropertyDetails {
    pub display_name: Option<String>,
    pub description: Option<String>,
    pub immutable: Option<bool>,
    pub is_multiple: bool,
    pub entity_types: Vec<Urn>,
    /// The types of entities that URN values may have.
    pub allowed_types: Vec<Urn>,
    pub allowed_values: Vec<AllowedValue>,
    pub allowed_platforms: Vec<Urn>,
    /// The display settings by the names of their members.
    pub settings: Option<Vec<(&'static str, Option<bool>)>>,
}

/// A value that a property allows.
#[derive(Debug, Clone)]
pub struct AllowedValue {
    pub value: PropertyValue,
    pub description: Option<String>,
}

impl PropertyDetails {
    fn check(&self) -> Result<(), Error> {
        if let Some(name) = &self.display_name {
            check_name("a structured property", name)?;
        }
        check_note("the description", self.description.as_deref())?;
        for entity_type in self.entity_types.iter().chain(&self.allowed_types) {
            entity_type.expect_type("entityType")?;
        }
        for platform in &self.allowed_platforms {
            platform.expect_type("dataPlatform")?;
        }
        Ok(())
    }

    fn changes_definition(&self) -> bool {
        self.display_name.is_some()
            || self.description.is_some()
            || self.immutable.is_some()
            || self.is_multiple
            || !self.entity_types.is_empty()
            || !self.allowed_types.is_empty()
            || !self.allowed_values.is_empty()
            || !self.allowed_platforms.is_empty()
    }

    fn add_to(&self, definition: &mut Map<String, Value>, stamp: &AuditStamp) {
        let mut set = |member: &str, value: Value| {
            definition.insert(member.to_owned(), value);
        };
        if let Some(name) = &self.display_name {
            set("displayName", json!(name));
        }
        if let Some(description) = &self.description {
            set("description", json!(description));
        }
        if let Some(immutable) = self.immutable {
            set("immutable", json!(immutable));
        }
        if self.is_multiple {
            set("cardinality", json!("MULTIPLE"));
        }
        set("lastModified", json!(stamp));
        add_urns(definition, "entityTypes", &self.entity_types);
        add_urns(definition, "allowedPlatforms", &self.allowed_platforms);
        if !self.allowed_types.is_empty() {
            let qualifier = definition.entry("typeQualifier");
            let qualifier = qualifier.or_insert_with(|| json!({}));
            if let Value::Object(qualifier) = qualifier {
                add_urns(qualifier, "allowedTypes", &self.allowed_types);
            }
        }
        if !self.allowed_values.is_empty() {
            let allowed = definition.entry("allowedValues");
            if let Value::Array(allowed) = allowed.or_insert_with(|| json!([])) {
                for new in &self.allowed_values {
                    new.add_to(allowed);
                }
            }
        }
    }
}

impl AllowedValue {
    /// Adds the value, or gives the one that is in the list the new description.
    fn add_to(&self, allowed: &mut Vec<Value>) {
        let value = self.value.stored();
        let mut entry = json!({ "value": value });
        if let Some(description) = &self.description {
            entry["description"] = json!(description);
        }
        match allowed.iter_mut().find(|it| same(&it["value"], &value)) {
            Some(known) => *known = entry,
            None => allowed.push(entry),
        }
    }
}

fn add_urns(holder: &mut Map<String, Value>, member: &str, new: &[Urn]) {
    if new.is_empty() {
        return;
    }
    let list = holder.entry(member).or_insert_with(|| json!([]));
    if let Value::Array(list) = list {
        for urn in new {
            let urn = json!(urn);
            if !list.contains(&urn) {
                list.push(urn);
            }
        }
    }
}

impl Catalog {
    /// Creates a structured property and returns its URN.
    pub async fn create_structured_property(
        &self,
        caller: &Caller,
        new: NewProperty,
    ) -> Result<Urn, Error> {
        if let (Some(id), Some(name)) = (&new.id, &new.qualified_name)
            && id != name
        {
            return Err(Error::invalid(format!(
                "the id is '{id}' and the qualified name is '{name}': they must be the same, or send one of them"
            )));
        }
        let id = new.qualified_name.as_deref().or(new.id.as_deref());
        let urn = self.new_urn(ENTITY, id)?;
        new.value_type.expect_type("dataType")?;
        let details = new.details;
        details.check()?;
        if details.entity_types.is_empty() {
            return Err(Error::invalid(
                "entityTypes is empty: send the types of entities that may have the property",
            ));
        }
        let settings = self.settings_change(&urn, &details).await?;
        let (name, value_type) = (urn.key().to_owned(), new.value_type);
        let aspect = AspectName::PROPERTY_DEFINITION;
        let definition =
            Proposal::edit::<Map<String, Value>, _>(urn.clone(), aspect, move |_, stamp| {
                let mut definition = Map::new();
                definition.insert("qualifiedName".to_owned(), json!(name));
                definition.insert("valueType".to_owned(), json!(value_type));
                definition.insert("cardinality".to_owned(), json!("SINGLE"));
                definition.insert("immutable".to_owned(), json!(false));
                definition.insert("created".to_owned(), json!(stamp));
                details.add_to(&mut definition, stamp);
                Ok(definition)
            })
            .requires(Requirement::IsNew {
                otherwise: "A structured property already exists with this urn".to_owned(),
            });
        let mut proposals = vec![definition];
        proposals.extend(settings);
        self.apply(caller, proposals).await?;
        Ok(urn)
    }

    /// Changes a structured property. It never allows less than before.
    pub async fn update_structured_property(
        &self,
        caller: &Caller,
        property: &Urn,
        details: PropertyDetails,
    ) -> Result<(), Error> {
        property.expect_type(ENTITY)?;
        details.check()?;
        let missing = missing(property);
        let mut proposals: Vec<Proposal> = self
            .settings_change(property, &details)
            .await?
            .into_iter()
            .collect();
        if details.changes_definition() {
            let aspect = AspectName::PROPERTY_DEFINITION;
            let missing = missing.clone();
            let edit = move |current: Option<Map<String, Value>>, stamp: &AuditStamp| {
                let mut definition = current.ok_or_else(|| Error::no_entity(missing.clone()))?;
                details.add_to(&mut definition, stamp);
                Ok(definition)
            };
            proposals.insert(0, Proposal::edit(property.clone(), aspect, edit));
        }
        if proposals.is_empty() {
            return self.expect_existing(property, missing).await;
        }
        let exists = Requirement::exists(property, missing);
        crate::proposal::require_all(&mut proposals, [exists]);
        self.apply(caller, proposals).await?;
        Ok(())
    }

    /// Deletes a structured property, and its values from all entities.
    pub async fn delete_structured_property(
        &self,
        caller: &Caller,
        property: &Urn,
    ) -> Result<(), Error> {
        property.expect_type(ENTITY)?;
        let mut proposal = Proposal::new(property.clone(), Change::DeleteEntity);
        // After a failure half-way, the property is missing and values are left.
        if self.holders_of(property).await?.is_empty() {
            proposal = proposal.requires_existing(property, missing(property));
        }
        self.apply(caller, vec![proposal]).await?;
        Ok(())
    }

    /// The change of the display settings, if there is one.
    async fn settings_change(
        &self,
        property: &Urn,
        details: &PropertyDetails,
    ) -> Result<Option<Proposal>, Error> {
        let Some(mut given) = details.settings.clone() else {
            return Ok(None);
        };
        let is_given = |member: &str, value: bool| given.contains(&(member, Some(value)));
        if is_given("showAsAssetBadge", true) {
            self.expect_only_badge(property).await?;
        }
        if is_given("showInAssetSummary", false) {
            // It says how the summary shows the property.
            given.retain(|(member, _)| *member != "hideInAssetSummaryWhenEmpty");
            given.push(("hideInAssetSummaryWhenEmpty", Some(false)));
        }
        let aspect = AspectName::STRUCTURED_PROPERTY_SETTINGS;
        let urn = property.clone();
        let edit = move |current: Option<Map<String, Value>>, stamp: &AuditStamp| {
            let is_new = current.is_none();
            let mut settings = current.unwrap_or_default();
            let before = settings.clone();
            for (member, value) in &given {
                if let Some(value) = value {
                    settings.insert((*member).to_owned(), json!(value));
                }
            }
            if is_new || settings != before {
                settings.insert("lastModified".to_owned(), json!(stamp));
            }
            let settings = Value::Object(settings);
            check_settings(&urn, &settings)?;
            Ok(settings)
        };
        let edit = move |current: Option<Value>, stamp: &AuditStamp| {
            let current = current.and_then(|it| it.as_object().cloned());
            edit(current, stamp)
        };
        Ok(Some(Proposal::edit(property.clone(), aspect, edit)))
    }

    /// Fails if another property is shown as the badge of assets: there is room for one.
    async fn expect_only_badge(&self, property: &Urn) -> Result<(), Error> {
        let request = SearchRequest {
            types: vec![ENTITY.to_owned()],
            filter: Filter::all(vec![Criterion::equal("showAsAssetBadge", "true")]),
            include_removed: true,
            page: SearchPage::Offset {
                start: 0,
                count: 10,
            },
            ..SearchRequest::default()
        };
        let mut badges = self.search_unrestricted(&request).await?;
        badges.retain(|it| it != property);
        if badges.is_empty() {
            return Ok(());
        }
        // Who may manage properties sees them, so the message may name them.
        let names: Vec<&str> = badges.iter().map(Urn::as_str).collect();
        let message = format!(
            "Cannot have more than one property set with show as badge. Property urns currently set: {}",
            names.join(", ")
        );
        Err(Error::conflict(ConflictReason::InUse, message))
    }
}

fn missing(property: &Urn) -> String {
    format!("The structured property {property} does not exist")
}
