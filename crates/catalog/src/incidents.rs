//! Incidents, raised and changed by users. [`crate::quality`] reads them.

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, EpochMillis, Urn};
use serde_json::{Value, json};

use crate::about_assets::{AboutAssets, urns_in};
use crate::owners::check_owner;
use crate::privilege::{EDIT_ENTITY, EDIT_ENTITY_INCIDENTS};
use crate::proposal::{Proposal, Requirement};
use crate::target::expect_few;
use crate::{Caller, Catalog, Error};

const ENTITY: &str = "incident";

const ABOUT: AboutAssets = AboutAssets {
    aspect: AspectName::INCIDENT_INFO,
    assets_in: |info| urns_in(&info["entities"]),
    privileges: &[EDIT_ENTITY_INCIDENTS, EDIT_ENTITY],
};

/// An incident to raise.
#[derive(Debug, Clone, Default)]
pub struct NewIncident {
    /// Without an id, a random one is made.
    pub id: Option<String>,
    /// `FRESHNESS`, `CUSTOM` and so on.
    pub kind: String,
    /// The name of a custom kind.
    pub custom_kind: Option<String>,
    pub details: IncidentUpdate,
}

/// Changes of an incident.
#[derive(Debug, Clone, Default)]
pub struct IncidentUpdate {
    pub title: Option<String>,
    pub description: Option<String>,
    pub started_ms: Option<EpochMillis>,
    pub status: Option<NewIncidentStatus>,
    /// 0 is the highest.
    pub priority: Option<i64>,
    pub assets: Option<Vec<Urn>>,
    pub assignees: Option<Vec<Urn>>,
    /// Whether a title, description or priority that is `None` is removed, instead of unchanged.
    pub removes_missing: bool,
}

/// The state of an incident.
#[derive(Debug, Clone)]
pub struct NewIncidentStatus {
    /// `ACTIVE` or `RESOLVED`.
    pub state: String,
    pub stage: Option<String>,
    pub message: Option<String>,
}

impl Catalog {
    /// Raises an incident about assets and returns its URN.
    pub async fn raise_incident(&self, caller: &Caller, new: NewIncident) -> Result<Urn, Error> {
        let urn = self.new_urn(ENTITY, new.id.as_deref())?;
        let custom = new.custom_kind.filter(|kind| !kind.trim().is_empty());
        if new.kind == "CUSTOM" && custom.is_none() {
            return Err(Error::invalid(
                "Failed to raise incident: customType is required when type is CUSTOM",
            ));
        }
        let assets = new.details.assets.clone().unwrap_or_default();
        if assets.is_empty() {
            return Err(Error::invalid(
                "At least 1 resource urn must be defined to raise an incident.",
            ));
        }
        new.details.check()?;
        let mut details = new.details;
        details.status.get_or_insert_with(|| NewIncidentStatus {
            state: "ACTIVE".to_owned(),
            stage: None,
            message: None,
        });
        let kind = new.kind;
        let proposal = Proposal::edit::<Value, _>(urn.clone(), ABOUT.aspect, {
            let details = details.clone();
            move |_, stamp| {
                let source = json!({"type": "MANUAL"});
                let mut info = json!({"type": kind, "created": stamp, "source": source});
                if let Some(custom) = &custom {
                    info["customType"] = json!(custom);
                }
                details.apply_to(&mut info, stamp);
                Ok(info)
            }
        })
        .requires(Requirement::IsNew {
            otherwise: format!("Incident with id {} already exists.", urn.key()),
        });
        let proposals = vec![details.requiring_assignees(proposal)];
        self.apply_about_assets(caller, ABOUT, &urn, &assets, proposals)
            .await?;
        Ok(urn)
    }

    /// Changes an incident.
    pub async fn update_incident(
        &self,
        caller: &Caller,
        incident: &Urn,
        update: IncidentUpdate,
    ) -> Result<(), Error> {
        incident.expect_type(ENTITY)?;
        if update.assets.as_ref().is_some_and(Vec::is_empty) {
            return Err(Error::invalid("resourceUrns cannot be empty if provided"));
        }
        update.check()?;
        let missing = "Failed to update incident. Incident does not exist.";
        self.expect_existing(incident, missing.to_owned()).await?;
        let proposal = Proposal::edit::<Value, _>(incident.clone(), ABOUT.aspect, {
            let update = update.clone();
            move |current, stamp| {
                let mut info = current.ok_or_else(|| Error::no_entity(missing))?;
                update.apply_to(&mut info, stamp);
                Ok(info)
            }
        })
        .requires_existing(incident, missing);
        let assets = update.assets.clone().unwrap_or_default();
        let proposals = vec![update.requiring_assignees(proposal)];
        self.apply_about_assets(caller, ABOUT, incident, &assets, proposals)
            .await
    }
}

impl IncidentUpdate {
    fn check(&self) -> Result<(), Error> {
        expect_few("assets", self.assets.as_ref().map_or(0, Vec::len))?;
        let assignees = self.assignees.as_deref().unwrap_or_default();
        expect_few("assignees", assignees.len())?;
        for assignee in assignees {
            check_owner(assignee)?;
        }
        Ok(())
    }

    /// Requires that all new assignees exist.
    fn requiring_assignees(&self, proposal: Proposal) -> Proposal {
        let assignees = self.assignees.iter().flatten();
        assignees.fold(proposal, |proposal, assignee| {
            let missing = format!("Failed to update incident. {assignee} does not exist.");
            proposal.requires_existing(assignee, missing)
        })
    }

    /// Changes the aspect.
    fn apply_to(&self, info: &mut Value, stamp: &AuditStamp) {
        let mut set = |name: &str, value: Option<Value>| match (value, info.as_object_mut()) {
            (Some(value), Some(members)) => drop(members.insert(name.to_owned(), value)),
            (None, Some(members)) if self.removes_missing => drop(members.remove(name)),
            _ => {}
        };
        set("title", self.title.as_ref().map(|it| json!(it)));
        set("description", self.description.as_ref().map(|it| json!(it)));
        set("priority", self.priority.map(|it| json!(it)));
        if let Some(started_ms) = self.started_ms {
            info["startedAt"] = json!(started_ms);
        }
        if let Some(status) = &self.status {
            info["status"] = json!({"state": status.state, "lastUpdated": stamp});
            if let Some(stage) = &status.stage {
                info["status"]["stage"] = json!(stage);
            }
            if let Some(message) = &status.message {
                info["status"]["message"] = json!(message);
            }
        }
        if let Some(assets) = &self.assets {
            info["entities"] = json!(assets);
        }
        if let Some(assignees) = &self.assignees {
            let assigned = |actor: &Urn| json!({"actor": actor, "assignedAt": stamp});
            info["assignees"] = assignees.iter().map(assigned).collect();
        }
    }
}
