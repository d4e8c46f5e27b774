//! Metadata tests: conditions that assets should meet. Docent stores them; other tools evaluate
//! them and write the results.

use docent_model::{AspectName, Urn};
use serde_json::{Value, json};

use crate::limits::{check_name, check_note};
use crate::proposal::{Proposal, Requirement};
use crate::{Caller, Catalog, Change, Error};

const ENTITY: &str = "test";

/// A test to create, or to replace another one.
#[derive(Debug, Clone)]
pub struct TestDetails {
    pub name: String,
    pub category: String,
    pub description: Option<String>,
    /// The conditions as JSON text.
    pub definition: Option<String>,
}

impl TestDetails {
    fn check(&self) -> Result<(), Error> {
        check_name("a test", &self.name)?;
        check_name("a category", &self.category)?;
        check_note("the description", self.description.as_deref())?;
        match self
            .definition
            .as_deref()
            .map(serde_json::from_str::<Value>)
        {
            Some(Err(error)) => Err(Error::invalid(format!(
                "definition.json is not JSON: {error}"
            ))),
            _ => Ok(()),
        }
    }

    fn proposal(self, test: &Urn) -> Proposal {
        let mut definition = json!({"type": "JSON"});
        if let Some(text) = self.definition {
            definition["json"] = json!(text);
        }
        let mut info =
            json!({"name": self.name, "category": self.category, "definition": definition});
        if let Some(description) = self.description {
            info["description"] = json!(description);
        }
        let aspect = AspectName::TEST_INFO;
        Proposal::edit::<Value, _>(test.clone(), aspect, move |_, _| Ok(info.clone()))
    }
}

impl Catalog {
    /// Creates a test and returns its URN.
    pub async fn create_test(
        &self,
        caller: &Caller,
        id: Option<&str>,
        details: TestDetails,
    ) -> Result<Urn, Error> {
        let urn = self.new_urn(ENTITY, id)?;
        details.check()?;
        let proposal = details.proposal(&urn).requires(Requirement::IsNew {
            otherwise: "This Test already exists!".to_owned(),
        });
        self.apply(caller, vec![proposal]).await?;
        Ok(urn)
    }

    /// Replaces a test.
    pub async fn update_test(
        &self,
        caller: &Caller,
        test: &Urn,
        details: TestDetails,
    ) -> Result<(), Error> {
        test.expect_type(ENTITY)?;
        details.check()?;
        let proposal = existing(details.proposal(test), test);
        self.apply(caller, vec![proposal]).await?;
        Ok(())
    }

    /// Deletes a test, and its results.
    pub async fn delete_test(&self, caller: &Caller, test: &Urn) -> Result<(), Error> {
        test.expect_type(ENTITY)?;
        let proposal = Proposal::new(test.clone(), Change::DeleteEntity);
        self.apply(caller, vec![existing(proposal, test)]).await?;
        Ok(())
    }
}

fn existing(proposal: Proposal, test: &Urn) -> Proposal {
    proposal.requires_existing(test, format!("The test {test} does not exist"))
}
