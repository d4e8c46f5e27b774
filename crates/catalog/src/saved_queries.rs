//! Queries on datasets that users write down.

use docent_model::{AspectName, Urn};
use serde_json::{Value, json};

use crate::about_assets::AboutAssets;
use crate::limits::{check_length, check_name};
use crate::privilege::{EDIT_ENTITY, EDIT_ENTITY_QUERIES};
use crate::proposal::Proposal;
use crate::target::expect_few;
use crate::{Caller, Catalog, Change, Error};

const ENTITY: &str = "query";
/// The most characters of a statement.
const MAX_STATEMENT: usize = 1_000_000;

const ABOUT: AboutAssets = AboutAssets {
    aspect: AspectName::QUERY_SUBJECTS,
    assets_in: |value| {
        let subjects = value["subjects"].as_array().into_iter().flatten();
        subjects
            .filter_map(|subject| Urn::parse(subject["entity"].as_str()?).ok())
            .collect()
    },
    privileges: &[EDIT_ENTITY_QUERIES, EDIT_ENTITY],
};

/// The text of a query.
#[derive(Debug, Clone)]
pub struct Statement {
    pub text: String,
    /// `SQL` or `UNKNOWN`.
    pub language: String,
}

/// A query to create, or changes of one, where `None` leaves a member unchanged.
#[derive(Debug, Clone, Default)]
pub struct QueryUpdate {
    pub name: Option<String>,
    pub description: Option<String>,
    pub statement: Option<Statement>,
    /// The datasets that it reads.
    pub subjects: Option<Vec<Urn>>,
}

impl Catalog {
    /// Stores a query of a user and returns its URN.
    pub async fn create_query(&self, caller: &Caller, new: QueryUpdate) -> Result<Urn, Error> {
        let urn = self.new_urn(ENTITY, None)?;
        new.check()?;
        let subjects = new.subjects.clone().unwrap_or_default();
        let proposals = vec![
            new.edit_properties(&urn, None),
            edit_subjects(&urn, &subjects),
        ];
        self.apply_about_assets(caller, ABOUT, &urn, &subjects, proposals)
            .await?;
        Ok(urn)
    }

    /// Changes a query.
    pub async fn update_query(
        &self,
        caller: &Caller,
        query: &Urn,
        update: QueryUpdate,
    ) -> Result<(), Error> {
        query.expect_type(ENTITY)?;
        update.check()?;
        let missing = format!("Failed to find query with urn {query}");
        self.expect_existing(query, missing.clone()).await?;
        let properties = update.edit_properties(query, Some(missing.clone()));
        let mut proposals = vec![properties.requires_existing(query, missing)];
        let subjects = update.subjects.clone().unwrap_or_default();
        if update.subjects.is_some() {
            proposals.push(edit_subjects(query, &subjects));
        }
        self.apply_about_assets(caller, ABOUT, query, &subjects, proposals)
            .await
    }

    /// Deletes a query.
    pub async fn delete_query(&self, caller: &Caller, query: &Urn) -> Result<(), Error> {
        query.expect_type(ENTITY)?;
        let missing = format!("Failed to find query with urn {query}");
        self.expect_existing(query, missing.clone()).await?;
        let proposal =
            Proposal::new(query.clone(), Change::DeleteEntity).requires_existing(query, missing);
        self.apply_about_assets(caller, ABOUT, query, &[], vec![proposal])
            .await
    }
}

impl QueryUpdate {
    fn check(&self) -> Result<(), Error> {
        if let Some(name) = &self.name {
            check_name("a query", name)?;
        }
        let text = self.statement.as_ref().map(|it| it.text.as_str());
        check_length("the statement", text.unwrap_or_default(), MAX_STATEMENT)?;
        for subject in self.subjects.iter().flatten() {
            subject.expect_type("dataset")?;
        }
        expect_few("subjects", self.subjects.as_ref().map_or(0, Vec::len))
    }

    /// Sets the given members. `missing` is the error message if there must be properties.
    fn edit_properties(&self, query: &Urn, missing: Option<String>) -> Proposal {
        let update = self.clone();
        let aspect = AspectName::QUERY_PROPERTIES;
        Proposal::edit::<Value, _>(query.clone(), aspect, move |current, stamp| {
            let mut properties = match (current, &missing) {
                (Some(current), _) => current,
                (None, Some(missing)) => return Err(Error::no_entity(missing.clone())),
                (None, None) => json!({"source": "MANUAL", "created": stamp}),
            };
            if let Some(name) = &update.name {
                properties["name"] = json!(name);
            }
            if let Some(description) = &update.description {
                properties["description"] = json!(description);
            }
            if let Some(Statement { text, language }) = &update.statement {
                properties["statement"] = json!({"value": text, "language": language});
            }
            properties["lastModified"] = json!(stamp);
            Ok(properties)
        })
    }
}

fn edit_subjects(query: &Urn, subjects: &[Urn]) -> Proposal {
    let subject = |entity: &Urn| json!({ "entity": entity });
    let value = json!({"subjects": subjects.iter().map(subject).collect::<Vec<_>>()});
    let aspect = AspectName::QUERY_SUBJECTS;
    Proposal::edit::<Value, _>(query.clone(), aspect, move |_, _| Ok(value.clone()))
}
