//! Views: filters of searches that users save, for themselves or for everybody.

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, Urn};
use docent_store::{AspectKey, ReadRequest};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::access::scope::{check_unscoped, check_writer};
use crate::limits::{check_name, check_note};
use crate::privilege::{MANAGE_GLOBAL_SETTINGS, MANAGE_GLOBAL_VIEWS};
use crate::proposal::{Change, Proposal, Requirement};
use crate::search::{Criterion, Operator, SearchRequest, criterion, joined};
use crate::service_accounts::no_such_account;
use crate::settings::global_settings_urn;
use crate::stored::aspect_value;
use crate::{Caller, Catalog, Error, ErrorKind};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ViewKind {
    Personal,
    Global,
}

/// What a view shows, as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ViewDefinition {
    /// Registry names; empty means all types.
    pub entity_types: Vec<String>,
    pub filter: ViewFilter,
}

/// Alternatives, each a list of conditions that must all hold.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ViewFilter {
    pub or: Vec<ViewConditions>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ViewConditions {
    pub and: Vec<ViewCondition>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ViewCondition {
    pub field: String,
    #[serde(default)]
    pub values: Vec<String>,
    /// The first value, for clients that know one only.
    #[serde(default)]
    pub value: String,
    #[serde(default)]
    pub condition: Option<String>,
    #[serde(default)]
    pub negated: bool,
}

impl ViewFilter {
    pub(crate) fn alternatives(&self) -> Result<Vec<Vec<Criterion>>, Error> {
        let criteria =
            |all: &ViewConditions| all.and.iter().map(ViewCondition::criterion).collect();
        self.or.iter().map(criteria).collect()
    }
}

impl ViewCondition {
    fn criterion(&self) -> Result<Criterion, Error> {
        let values = match self.values.as_slice() {
            [] if !self.value.is_empty() => vec![self.value.clone()],
            values => values.to_vec(),
        };
        let condition = self.condition.as_deref();
        criterion(self.field.clone(), values, condition, self.negated)
    }
}

/// A view to create.
#[derive(Debug, Clone)]
pub struct NewView {
    pub kind: ViewKind,
    pub name: String,
    pub description: Option<String>,
    pub definition: ViewDefinition,
}

/// What to change of a view; `None` leaves it as it is.
#[derive(Debug, Clone, Default)]
pub struct ViewUpdate {
    pub name: Option<String>,
    pub description: Option<String>,
    pub definition: Option<ViewDefinition>,
}

impl Catalog {
    /// Creates a view and returns its URN. Everybody may create personal ones.
    pub async fn create_view(&self, caller: &Caller, new: NewView) -> Result<Urn, Error> {
        match new.kind {
            ViewKind::Global => self.authorize(caller, &[MANAGE_GLOBAL_VIEWS], None).await?,
            ViewKind::Personal => check_unscoped(caller)?,
        }
        check_name("a view", &new.name)?;
        check_note("the description", new.description.as_deref())?;
        check_definition(&new.definition)?;
        let urn = self.new_urn("dataHubView", None)?;
        let info = move |_: Option<Value>, stamp: &AuditStamp| {
            Ok(json!({
                "type": new.kind, "name": new.name, "description": new.description,
                "definition": new.definition, "created": stamp, "lastModified": stamp,
            }))
        };
        let proposal =
            Proposal::edit(urn.clone(), AspectName::VIEW_INFO, info).requires(Requirement::IsNew {
                otherwise: format!("{urn} already exists"),
            });
        self.apply_authorized(caller, vec![proposal]).await?;
        Ok(urn)
    }

    /// Changes a view. Those who created it may, and for global ones those who manage them.
    pub async fn update_view(
        &self,
        caller: &Caller,
        view: &Urn,
        update: ViewUpdate,
    ) -> Result<(), Error> {
        self.authorize_view(caller, view).await?;
        if let Some(name) = &update.name {
            check_name("a view", name)?;
        }
        check_note("the description", update.description.as_deref())?;
        if let Some(definition) = &update.definition {
            check_definition(definition)?;
        }
        let missing = missing(view);
        let edit = move |current: Option<Value>, stamp: &AuditStamp| {
            let mut info = current.ok_or_else(|| Error::not_found(missing.clone()))?;
            if let Some(name) = &update.name {
                info["name"] = json!(name);
            }
            if let Some(description) = &update.description {
                info["description"] = json!(description);
            }
            if let Some(definition) = &update.definition {
                info["definition"] = json!(definition);
            }
            info["lastModified"] = json!(stamp);
            Ok(info)
        };
        let proposal = Proposal::edit(view.clone(), AspectName::VIEW_INFO, edit);
        self.apply_authorized(caller, vec![proposal]).await?;
        Ok(())
    }

    /// Deletes a view, and removes it from the settings that name it.
    pub async fn delete_view(&self, caller: &Caller, view: &Urn) -> Result<(), Error> {
        self.authorize_view(caller, view).await?;
        self.delete_references(&caller.as_system(), view, false)
            .await?;
        let delete = Proposal::new(view.clone(), Change::DeleteEntity);
        self.apply_authorized(caller, vec![delete]).await?;
        Ok(())
    }

    async fn authorize_view(&self, caller: &Caller, view: &Urn) -> Result<(), Error> {
        let info = self.view_info(view).await?;
        if info["created"]["actor"] == caller.actor().as_str() {
            return check_unscoped(caller);
        }
        self.authorize(caller, &[MANAGE_GLOBAL_VIEWS], Some(view))
            .await?;
        if info["type"] == json!(ViewKind::Global) {
            return Ok(());
        }
        Err(Error::forbidden(
            "this is the personal view of another user: only they may change it",
        ))
    }

    async fn view_info(&self, view: &Urn) -> Result<Value, Error> {
        view.expect_type("dataHubView")?;
        let key = AspectKey::new(view, AspectName::VIEW_INFO);
        let row = self.store().read(ReadRequest::row(&key)).await?.into_row();
        aspect_value(&row).ok_or_else(|| Error::not_found(missing(view)))
    }

    /// Restricts a search to what a view shows. A deleted one that is still the caller's default
    /// restricts nothing: pages send it with every search.
    pub async fn restrict_to_view(
        &self,
        caller: &Caller,
        request: &mut SearchRequest,
        view: &Urn,
    ) -> Result<(), Error> {
        let mut info = match self.view_info(view).await {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let is_default = self.is_default_view(caller, view).await?;
                return if is_default { Ok(()) } else { Err(error) };
            }
            info => info?,
        };
        let definition: ViewDefinition = serde_json::from_value(info["definition"].take())
            .map_err(|error| Error::invalid(format!("the view {view} is not readable: {error}")))?;
        if !definition.entity_types.is_empty() {
            if request.types.is_empty() {
                request.types.clone_from(&definition.entity_types);
            } else {
                let of_view = Criterion {
                    field: "_entityType".to_owned(),
                    values: definition.entity_types,
                    operator: Operator::Equal,
                    negated: false,
                };
                request.filter = std::mem::take(&mut request.filter).and(of_view);
            }
        }
        let alternatives = definition.filter.alternatives()?;
        if alternatives.is_empty() {
            return Ok(());
        }
        // Both filters must hold: every alternative of one with every alternative of the other.
        let requested = std::mem::take(&mut request.filter).any;
        let requested = if requested.is_empty() {
            vec![Vec::new()]
        } else {
            requested
        };
        let both = requested.iter().flat_map(|one| {
            let other = alternatives.iter();
            other.map(|other| one.iter().chain(other).cloned().collect())
        });
        request.filter = joined(both.collect(), Vec::new())?;
        Ok(())
    }

    /// Sets the view of users who have not chosen one, or removes it.
    pub async fn set_global_default_view(
        &self,
        caller: &Caller,
        view: Option<&Urn>,
    ) -> Result<(), Error> {
        let privileges = [MANAGE_GLOBAL_VIEWS, MANAGE_GLOBAL_SETTINGS];
        self.authorize(caller, &privileges, None).await?;
        let mut proposal = set_default_view(
            &global_settings_urn()?,
            AspectName::GLOBAL_SETTINGS_INFO,
            view,
        );
        if let Some(view) = view {
            proposal = required_view(proposal, view)?;
        }
        self.apply_authorized(caller, vec![proposal]).await?;
        Ok(())
    }

    /// Sets the view of the caller's searches, or removes it.
    pub async fn set_own_default_view(
        &self,
        caller: &Caller,
        view: Option<&Urn>,
    ) -> Result<(), Error> {
        check_unscoped(caller)?;
        self.set_default_view(caller, caller.actor(), view).await
    }

    /// Sets the view of the searches of a service account, or removes it.
    pub async fn set_default_view_of_service_account(
        &self,
        caller: &Caller,
        account: &Urn,
        view: Option<&Urn>,
    ) -> Result<(), Error> {
        check_writer(caller)?;
        // Checks the right to manage service accounts.
        if self.service_account(caller, account).await?.is_none() {
            return Err(no_such_account());
        }
        self.set_default_view(caller, account, view).await
    }

    /// Whether a view is that of the caller's settings, or of everybody's.
    async fn is_default_view(&self, caller: &Caller, view: &Urn) -> Result<bool, Error> {
        let key = AspectKey::new(caller.actor(), AspectName::CORP_USER_SETTINGS);
        let row = self.store().read(ReadRequest::row(&key)).await?.into_row();
        let own: Value = aspect_value(&row).unwrap_or_default();
        let global = self.global_settings().await?;
        let is_view = |settings: &Value| settings["views"]["defaultView"] == view.as_str();
        Ok(is_view(&own) || is_view(&global))
    }

    async fn set_default_view(
        &self,
        caller: &Caller,
        user: &Urn,
        view: Option<&Urn>,
    ) -> Result<(), Error> {
        let mut proposal = set_default_view(user, AspectName::CORP_USER_SETTINGS, view);
        if let Some(view) = view {
            proposal = required_view(proposal, view)?;
        }
        self.apply_authorized(caller, vec![proposal]).await?;
        Ok(())
    }
}

fn missing(view: &Urn) -> String {
    format!("the view {view} does not exist")
}

fn required_view(proposal: Proposal, view: &Urn) -> Result<Proposal, Error> {
    view.expect_type("dataHubView")?;
    Ok(proposal.requires_existing(view, missing(view)))
}

fn set_default_view(urn: &Urn, aspect: AspectName, view: Option<&Urn>) -> Proposal {
    let view = view.cloned();
    let edit = move |current: Option<Value>, _: &AuditStamp| {
        let mut settings = current.unwrap_or_else(|| {
            if aspect == AspectName::CORP_USER_SETTINGS {
                json!({"appearance": {}})
            } else {
                json!({})
            }
        });
        settings["views"] = view
            .as_ref()
            .map_or_else(|| json!({}), |view| json!({"defaultView": view}));
        Ok(settings)
    };
    Proposal::edit(urn.clone(), aspect, edit)
}

/// A definition must make a search that works.
fn check_definition(definition: &ViewDefinition) -> Result<(), Error> {
    joined(definition.filter.alternatives()?, Vec::new()).map(|_| ())
}
