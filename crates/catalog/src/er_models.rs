//! Relationships of ER models: which columns of two datasets refer to each other.

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, Registry, Urn, hex};
use docent_store::AspectKey;
use md5::{Digest, Md5};
use serde_json::{Map, Value, json};

use crate::about_assets::AboutAssets;
use crate::limits::{check_name, check_note};
use crate::privilege::{CREATE_ENTITY_ER_MODEL_RELATIONSHIP, EDIT_ENTITY};
use crate::proposal::{Proposal, Requirement, require_all};
use crate::target::expect_few;
use crate::{Caller, Catalog, Change, Error};

const ENTITY: &str = "erModelRelationship";
/// That of a relationship without columns.
const NO_CARDINALITY: &str = "N_N";

const ABOUT: AboutAssets = AboutAssets {
    aspect: AspectName::ER_MODEL_RELATIONSHIP_PROPERTIES,
    assets_in: |value| {
        let ends = [&value["source"], &value["destination"]];
        let urns = ends.map(|end| Urn::parse(end.as_str()?).ok());
        urns.into_iter().flatten().collect()
    },
    privileges: &[CREATE_ENTITY_ER_MODEL_RELATIONSHIP, EDIT_ENTITY],
};

/// The two datasets of a relationship, and the columns that refer to each other.
#[derive(Debug, Clone)]
pub struct ErModelProperties {
    pub name: String,
    pub source: Urn,
    pub destination: Urn,
    /// Without them, the stored ones stay.
    pub mappings: Option<Vec<ColumnPair>>,
    /// `ONE_ONE`, `ONE_N`, `N_ONE` or `N_N`. Without it, the columns that occur several times in
    /// the mappings decide, and without those the stored one stays.
    pub cardinality: Option<String>,
}

/// A column of the source and one of the destination.
#[derive(Debug, Clone)]
pub struct ColumnPair {
    pub source: String,
    pub destination: String,
}

/// What users write about a relationship. Blank texts are removed.
#[derive(Debug, Clone, Default)]
pub struct ErModelTexts {
    pub name: Option<String>,
    pub description: Option<String>,
}

impl Catalog {
    /// Creates the relationship of two datasets with a name, or replaces it. Returns its URN.
    pub async fn create_er_model_relationship(
        &self,
        caller: &Caller,
        new: ErModelProperties,
        texts: Option<ErModelTexts>,
    ) -> Result<Urn, Error> {
        new.check()?;
        let urn = self.new_urn(ENTITY, Some(&new.id()))?;
        let mut datasets = vec![new.source.clone()];
        if new.destination != new.source {
            datasets.push(new.destination.clone());
        }
        // One that was soft-deleted is back.
        let restored = |mut status: Map<String, Value>, _: &AuditStamp| {
            status.insert("removed".to_owned(), json!(false));
            Ok(status)
        };
        let restore = Proposal::edit_present(urn.clone(), AspectName::STATUS, restored);
        let columns = self.required_columns(&new).await?;
        let mut proposals = vec![new.edit(&urn, false), restore];
        require_all(&mut proposals, columns);
        if let Some(texts) = texts {
            proposals.push(texts.edit(&urn)?);
        }
        self.apply_about_assets(caller, ABOUT, &urn, &datasets, proposals)
            .await?;
        Ok(urn)
    }

    /// Changes a relationship. It keeps its two datasets.
    pub async fn update_er_model_relationship(
        &self,
        caller: &Caller,
        relationship: &Urn,
        properties: Option<ErModelProperties>,
        texts: Option<ErModelTexts>,
    ) -> Result<(), Error> {
        relationship.expect_type(ENTITY)?;
        let mut proposals = Vec::new();
        if let Some(properties) = properties {
            properties.check()?;
            let columns = self.required_columns(&properties).await?;
            proposals.push(properties.edit(relationship, true));
            require_all(&mut proposals, columns);
        }
        if let Some(texts) = texts {
            proposals.push(texts.edit(relationship)?);
        }
        if proposals.is_empty() {
            let message = "nothing to change: send properties or editableProperties";
            return Err(Error::invalid(message));
        }
        let proposals = proposals.into_iter().map(Proposal::requires_target);
        self.apply(caller, proposals.collect()).await?;
        Ok(())
    }

    /// Requires the columns of the mappings, as far as the caller sees the schemas: a relationship
    /// may be stored before them.
    async fn required_columns(&self, of: &ErModelProperties) -> Result<Vec<Requirement>, Error> {
        let mappings = of.mappings.as_deref().unwrap_or_default();
        let source = mappings.iter().map(|it| it.source.clone()).collect();
        let destination = mappings.iter().map(|it| it.destination.clone());
        let ends = [
            (&of.source, source),
            (&of.destination, destination.collect::<Vec<String>>()),
        ];
        let schema =
            |(dataset, _): &(&Urn, _)| AspectKey::new(dataset, AspectName::SCHEMA_METADATA);
        let keys: Vec<AspectKey> = ends.iter().map(schema).collect();
        let are_stored = self.are_stored(&keys).await?;
        let stored = ends.into_iter().zip(are_stored).filter(|(_, is)| *is);
        let required = stored.map(|((dataset, field_paths), _)| Requirement::HasColumns {
            dataset: dataset.clone(),
            field_paths,
        });
        Ok(required.collect())
    }

    /// Deletes a relationship; the datasets stay.
    pub async fn delete_er_model_relationship(
        &self,
        caller: &Caller,
        relationship: &Urn,
    ) -> Result<(), Error> {
        relationship.expect_type(ENTITY)?;
        let missing = format!("the relationship {relationship} does not exist");
        let proposal = Proposal::new(relationship.clone(), Change::DeleteEntity)
            .requires_existing(relationship, missing);
        self.apply(caller, vec![proposal]).await?;
        Ok(())
    }
}

impl ErModelProperties {
    fn check(&self) -> Result<(), Error> {
        check_name("a relationship", &self.name)?;
        for dataset in [&self.source, &self.destination] {
            dataset.expect_type("dataset")?;
            Registry::get().check_urn(dataset)?;
        }
        let mappings = self.mappings.as_deref().unwrap_or_default();
        expect_few("pairs of columns", mappings.len())?;
        let mut columns = mappings
            .iter()
            .flat_map(|pair| [&pair.source, &pair.destination]);
        if columns.any(|column| column.trim().is_empty()) {
            return Err(Error::invalid(
                "a pair of columns is incomplete: it needs sourceField and destinationField",
            ));
        }
        Ok(())
    }

    /// The id that DataHub's ingestion gives to the relationship too: a hash of the name and the
    /// two datasets in alphabetical order.
    fn id(&self) -> String {
        let (low, high) = if self.source.as_str() <= self.destination.as_str() {
            (&self.source, &self.destination)
        } else {
            (&self.destination, &self.source)
        };
        let name = &self.name;
        let key = format!(
            r#"{{"Destination":"{low}","ERModelRelationName":"{name}","Source":"{high}"}}"#
        );
        hex(&Md5::digest(key))
    }

    /// The given cardinality, or that of the given mappings.
    fn cardinality(&self) -> Option<&str> {
        if let Some(cardinality) = &self.cardinality {
            return Some(cardinality);
        }
        let mappings = self.mappings.as_ref()?;
        let is_distinct = |column: fn(&ColumnPair) -> &String| {
            let mut columns: Vec<_> = mappings.iter().map(column).collect();
            columns.sort_unstable();
            columns.windows(2).all(|pair| pair[0] != pair[1])
        };
        Some(
            match (
                is_distinct(|it| &it.source),
                is_distinct(|it| &it.destination),
            ) {
                _ if mappings.is_empty() => NO_CARDINALITY,
                (true, true) => "ONE_ONE",
                (true, false) => "N_ONE",
                (false, true) => "ONE_N",
                (false, false) => "N_N",
            },
        )
    }

    fn edit(self, urn: &Urn, keeps_datasets: bool) -> Proposal {
        let aspect = ABOUT.aspect;
        Proposal::edit::<Map<String, Value>, _>(urn.clone(), aspect, move |current, stamp| {
            let mut properties = current.unwrap_or_default();
            if keeps_datasets {
                self.expect_datasets_of(&properties)?;
            }
            properties.entry("created").or_insert_with(|| json!(stamp));
            let pair = |it: &ColumnPair| json!({"sourceField": it.source, "destinationField": it.destination});
            let mappings: Option<Value> = self
                .mappings
                .as_ref()
                .map(|it| it.iter().map(pair).collect());
            let members = [
                ("name", Some(json!(self.name))),
                ("source", Some(json!(self.source))),
                ("destination", Some(json!(self.destination))),
                ("relationshipFieldMappings", mappings),
                ("cardinality", self.cardinality().map(|it| json!(it))),
                ("lastModified", Some(json!(stamp))),
            ];
            let given = |(name, value): (&str, Option<Value>)| Some((name.to_owned(), value?));
            properties.extend(members.into_iter().filter_map(given));
            for (name, value) in [
                ("relationshipFieldMappings", json!([])),
                ("cardinality", json!(NO_CARDINALITY)),
            ] {
                properties.entry(name).or_insert(value);
            }
            Ok(properties)
        })
    }

    /// Fails if the stored relationship has other datasets: its id depends on them, and so do
    /// rights.
    fn expect_datasets_of(&self, stored: &Map<String, Value>) -> Result<(), Error> {
        let mut before = (ABOUT.assets_in)(&Value::Object(stored.clone()));
        let mut after = vec![self.source.clone(), self.destination.clone()];
        before.sort_unstable();
        after.sort_unstable();
        if before.is_empty() || before == after {
            return Ok(());
        }
        Err(Error::invalid(
            "a relationship keeps its datasets: create another one for others",
        ))
    }
}

impl ErModelTexts {
    fn edit(self, urn: &Urn) -> Result<Proposal, Error> {
        if let Some(name) = self.name.as_deref().filter(|it| !it.trim().is_empty()) {
            check_name("a relationship", name)?;
        }
        check_note("the description", self.description.as_deref())?;
        let aspect = AspectName::EDITABLE_ER_MODEL_RELATIONSHIP_PROPERTIES;
        let edit = move |current: Option<Map<String, Value>>, stamp: &AuditStamp| {
            let mut texts = current.unwrap_or_else(|| {
                let created = ("created".to_owned(), json!(stamp));
                [created].into_iter().collect()
            });
            texts.insert("lastModified".to_owned(), json!(stamp));
            for (member, text) in [("name", &self.name), ("description", &self.description)] {
                match text.as_deref().filter(|text| !text.trim().is_empty()) {
                    Some(text) => texts.insert(member.to_owned(), json!(text)),
                    None => texts.remove(member),
                };
            }
            Ok(texts)
        };
        Ok(Proposal::edit(urn.clone(), aspect, edit))
    }
}
