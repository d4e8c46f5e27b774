//! Forms: what users are to say about assets, and whether they have.
//!
//! A form has prompts, each of which collects values of a structured property, and assignees. The
//! `forms` aspect of an asset says which forms it has, and which of their prompts are answered.

mod assignees;
mod list_member;
mod state;

use std::collections::HashSet;

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, Urn};
use docent_search::{Criterion, Filter, SearchPage, SearchRequest};
use serde_json::{Value, json};

use self::list_member::list_in;
use crate::limits::{check_name, check_note};
use crate::privilege::{EDIT_ENTITY_PROPERTIES, MANAGE_DOCUMENTATION_FORMS};
use crate::proposal::{Proposal, Requirement, require_all};
use crate::search::joined;
use crate::stored::aspect_value;
use crate::structured_properties::{PropertyValues, upsert_proposal};
use crate::target::{Target, column_urn, edit_list, expect_few};
use crate::views::ViewFilter;
use crate::{AspectKey, Caller, Catalog, Change, ConflictReason, Error, ReadRequest};

pub(crate) use state::{assignment, removal};

const ENTITY: &str = "form";
const VERIFICATION: &str = "VERIFICATION";
const OF_COLUMNS: &str = "FIELDS_STRUCTURED_PROPERTY";
/// How many missing assets an error names.
const MAX_NAMED: usize = 20;
/// How many prompts a form has.
const MAX_PROMPTS: usize = 200;

/// A form to create.
#[derive(Debug, Clone)]
pub struct NewForm {
    /// Without an id, a random one is made.
    pub id: Option<String>,
    pub name: String,
    pub description: Option<String>,
    /// COMPLETION or VERIFICATION.
    pub kind: Option<String>,
    pub prompts: Vec<NewPrompt>,
    pub actors: Option<FormActors>,
}

/// A prompt to add to a form.
#[derive(Debug, Clone)]
pub struct NewPrompt {
    /// Unique among all forms. Without an id, a random one is made.
    pub id: Option<String>,
    pub title: String,
    pub description: Option<String>,
    /// `STRUCTURED_PROPERTY` or `FIELDS_STRUCTURED_PROPERTY`.
    pub kind: String,
    pub property: Option<Urn>,
    pub required: bool,
}

/// The assignees of a new form.
#[derive(Debug, Clone)]
pub struct FormActors {
    /// Whether the owners of an asset are among them.
    pub owners: bool,
    pub lists: ActorLists,
}

/// Assignees by the names of their members in the aspect: `users`, `groups`, `ownershipTypes`.
pub type ActorLists = Vec<(&'static str, Vec<Urn>)>;

/// Changes of a form; `None` leaves a member unchanged.
#[derive(Debug, Clone, Default)]
pub struct FormUpdate {
    pub name: Option<String>,
    pub description: Option<String>,
    pub kind: Option<String>,
    pub added_prompts: Vec<NewPrompt>,
    pub removed_prompts: Vec<String>,
    pub owners: Option<bool>,
    pub added_actors: ActorLists,
    pub removed_actors: ActorLists,
}

/// The answer to a prompt.
#[derive(Debug, Clone)]
pub struct PromptResponse {
    pub form: Urn,
    pub prompt: String,
    /// As [`NewPrompt::kind`].
    pub kind: String,
    /// The column, if the prompt is one of columns.
    pub column: Option<String>,
    pub values: PropertyValues,
}

impl Catalog {
    /// Creates a form and returns its URN.
    pub async fn create_form(&self, caller: &Caller, new: NewForm) -> Result<Urn, Error> {
        let urn = self.new_urn(ENTITY, new.id.as_deref())?;
        check_name("a form", &new.name)?;
        check_note("the description", new.description.as_deref())?;
        let prompts = self.prompts(&urn, new.prompts).await?;
        let mut value = json!({"name": new.name, "type": new.kind.as_deref().unwrap_or("COMPLETION"), "prompts": prompts});
        if let Some(description) = &new.description {
            value["description"] = json!(description);
        }
        let mut actors = json!({"owners": new.actors.as_ref().is_none_or(|it| it.owners)});
        for (member, urns) in new.actors.into_iter().flat_map(|it| it.lists) {
            expect_actors(member, &urns)?;
            if !urns.is_empty() {
                actors[member] = json!(urns);
            }
        }
        value["actors"] = actors;
        let aspect = AspectName::FORM_INFO;
        let proposal =
            Proposal::edit::<Value, _>(urn.clone(), aspect, move |_, _| Ok(value.clone()));
        let proposal = proposal.requires(Requirement::IsNew {
            otherwise: "This Form already exists!".to_owned(),
        });
        self.apply(caller, vec![proposal]).await?;
        Ok(urn)
    }

    /// Changes a form. Assets keep the state of the prompts that they have.
    pub async fn update_form(
        &self,
        caller: &Caller,
        form: &Urn,
        update: FormUpdate,
    ) -> Result<(), Error> {
        form.expect_type(ENTITY)?;
        if let Some(name) = &update.name {
            check_name("a form", name)?;
        }
        check_note("the description", update.description.as_deref())?;
        for (member, urns) in update.added_actors.iter().chain(&update.removed_actors) {
            expect_actors(member, urns)?;
        }
        let added = self.prompts(form, update.added_prompts.clone()).await?;
        let missing = missing(form);
        let edit = move |current: Option<Value>, _: &AuditStamp| {
            let mut info = current.ok_or_else(|| Error::no_entity(missing.clone()))?;
            for (member, value) in [
                ("name", &update.name),
                ("description", &update.description),
                ("type", &update.kind),
            ] {
                if let Some(value) = value {
                    info[member] = json!(value);
                }
            }
            let mut prompts = list_in(&mut info, "prompts");
            let is_replaced = |it: &Value| {
                let id = it["id"].as_str().unwrap_or_default();
                update.removed_prompts.iter().any(|removed| removed == id)
                    || added.iter().any(|new| new["id"] == it["id"])
            };
            prompts.retain(|it| !is_replaced(it));
            prompts.extend(added.iter().cloned());
            expect_few_prompts(prompts.len())?;
            drop(prompts);
            if !info["actors"].is_object() {
                info["actors"] = json!({"owners": true});
            }
            let actors = &mut info["actors"];
            if let Some(owners) = update.owners {
                actors["owners"] = json!(owners);
            }
            for (member, urns) in &update.removed_actors {
                if actors[*member].is_array() {
                    let urns: Vec<Value> = urns.iter().map(|it| json!(it)).collect();
                    list_in(actors, member).retain(|it| !urns.contains(it));
                }
            }
            for (member, urns) in &update.added_actors {
                for urn in urns.iter().map(|it| json!(it)) {
                    let mut list = list_in(actors, member);
                    if !list.contains(&urn) {
                        list.push(urn);
                    }
                }
            }
            Ok(info)
        };
        let proposal = Proposal::edit(form.clone(), AspectName::FORM_INFO, edit);
        self.apply(caller, vec![existing(proposal, form)]).await?;
        Ok(())
    }

    /// Deletes a form, and removes it from all assets.
    pub async fn delete_form(&self, caller: &Caller, form: &Urn) -> Result<(), Error> {
        form.expect_type(ENTITY)?;
        let mut proposal = Proposal::new(form.clone(), Change::DeleteEntity);
        // After a failure half-way, the form is missing and some assets have it.
        if self.assets_with(form).await?.is_empty() {
            proposal = existing(proposal, form);
        }
        self.apply(caller, vec![proposal]).await?;
        Ok(())
    }

    /// Assigns a form to assets. Those that have it stay as they are.
    pub async fn assign_form(
        &self,
        caller: &Caller,
        form: &Urn,
        assets: &[Target],
    ) -> Result<(), Error> {
        let prompts = prompt_ids(&self.form_info(form).await?);
        let edits = assets.iter();
        let edits = edits.map(|it| assignment(&it.urn, form, prompts.clone()));
        self.change_forms(caller, form, assets, edits.collect())
            .await
    }

    /// Removes a form from assets. Not an error if an asset does not have it.
    pub async fn remove_form(
        &self,
        caller: &Caller,
        form: &Urn,
        assets: &[Target],
    ) -> Result<(), Error> {
        let edits = assets.iter().map(|it| removal(&it.urn, form, false));
        self.change_forms(caller, form, assets, edits.collect())
            .await
    }

    async fn change_forms(
        &self,
        caller: &Caller,
        form: &Urn,
        assets: &[Target],
        edits: Vec<Proposal>,
    ) -> Result<(), Error> {
        form.expect_type(ENTITY)?;
        expect_few("assets", assets.len())?;
        if assets.is_empty() {
            return self.expect_existing(form, missing(form)).await;
        }
        self.expect_assets(form, assets).await?;
        let mut proposals = Vec::with_capacity(assets.len());
        for (asset, edit) in assets.iter().zip(edits) {
            asset.expect_aspect(AspectName::FORMS, "forms")?;
            let missing = format!("Failed to assign {form}: {} does not exist", asset.urn);
            let proposal = asset.required_by(edit, missing);
            proposals.push(proposal.also_allowed_by(&[MANAGE_DOCUMENTATION_FORMS]));
        }
        require_all(&mut proposals, [Requirement::exists(form, missing(form))]);
        self.apply(caller, proposals).await?;
        Ok(())
    }

    /// Fails if several assets are missing, and names them. The transaction finds a single one.
    async fn expect_assets(&self, form: &Urn, assets: &[Target]) -> Result<(), Error> {
        let urns: Vec<Urn> = assets.iter().map(|asset| asset.urn.clone()).collect();
        let exist = self.exists(&urns).await?;
        let missing = urns.iter().zip(exist).filter(|(_, exists)| !exists);
        let missing: Vec<&str> = missing.map(|(urn, _)| urn.as_str()).collect();
        if missing.len() < 2 {
            return Ok(());
        }
        let listed = missing[..missing.len().min(MAX_NAMED)].join(", ");
        let more = match missing.len().saturating_sub(MAX_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Err(Error::no_entity(format!(
            "Failed to assign {form}: {listed}{more} do not exist"
        )))
    }

    /// Stores which assets a form is for, and assigns it to those that match now.
    pub async fn assign_form_by_filter(
        &self,
        caller: &Caller,
        form: &Urn,
        filter: ViewFilter,
    ) -> Result<(), Error> {
        form.expect_type(ENTITY)?;
        if filter.or.iter().all(|it| it.and.is_empty()) {
            return Err(Error::invalid(
                "orFilters has no condition, so the form would be for everything: add one",
            ));
        }
        joined(filter.alternatives()?, Vec::new())?;
        let value = json!({ "filter": filter });
        let aspect = AspectName::DYNAMIC_FORM_ASSIGNMENT;
        let proposal =
            Proposal::edit::<Value, _>(form.clone(), aspect, move |_, _| Ok(value.clone()));
        self.apply(caller, vec![existing(proposal, form)]).await?;
        Ok(())
    }

    /// Answers a prompt for an asset: sets the values, and records the state of the form. Assignees
    /// of the form may, and whoever may edit the properties of the asset.
    pub async fn submit_prompt(
        &self,
        caller: &Caller,
        asset: &Urn,
        response: PromptResponse,
    ) -> Result<(), Error> {
        let PromptResponse {
            form,
            prompt,
            kind,
            column,
            values,
        } = response;
        let target = Target::new(asset.clone(), column.clone());
        target.expect_aspect(AspectName::FORMS, "forms")?;
        let info = self.form_info(&form).await?;
        check_response(&info, &prompt, &kind, &values.property)?;
        let (holder, columns) = match &column {
            None if kind == OF_COLUMNS => {
                let message = format!("the prompt {prompt} is one of columns: send the fieldPath");
                return Err(Error::invalid(message));
            }
            Some(column) if kind == OF_COLUMNS => {
                target.expect_columns()?;
                let columns = self.column_paths(asset).await?;
                (column_urn(asset, column)?, Some(columns))
            }
            _ => (asset.clone(), None),
        };
        let is_assigned = self.is_form_assigned(caller, &info, asset).await?;
        let missing = format!("Failed to answer {form}: {asset} does not exist");
        let set = target.required_by(upsert_proposal(&holder, vec![values])?, missing);
        let answered = state::Answer {
            prompt,
            column: column.filter(|_| columns.is_some()),
            columns: columns.unwrap_or_default(),
        };
        let record = state::answered(asset, &form, &info, answered);
        let record = unchanged(record, &form, info);
        let proposals = if is_assigned {
            vec![set.authorized(), record.authorized()]
        } else {
            vec![set, record.also_allowed_by(&[EDIT_ENTITY_PROPERTIES])]
        };
        self.apply(caller, proposals).await?;
        Ok(())
    }

    /// Verifies a completed form for an asset. Only its assignees may.
    pub async fn verify_form(&self, caller: &Caller, form: &Urn, asset: &Urn) -> Result<(), Error> {
        Target::entity(asset.clone()).expect_aspect(AspectName::FORMS, "forms")?;
        let info = self.form_info(form).await?;
        if !self.is_form_assigned(caller, &info, asset).await? {
            let message = format!("{form} is not assigned to you, so you cannot verify it");
            return Err(Error::forbidden(message).naming(form));
        }
        if info["type"] != VERIFICATION {
            let message = format!("{form} is not of type VERIFICATION, so it is not verified");
            return Err(Error::invalid(message));
        }
        let proposal = unchanged(state::verification(asset, form), form, info);
        self.apply_authorized(caller, vec![proposal.requires_target()])
            .await?;
        Ok(())
    }

    /// The definition of a form.
    async fn form_info(&self, form: &Urn) -> Result<Value, Error> {
        form.expect_type(ENTITY)?;
        let info = self.stored_form(form).await?;
        info.ok_or_else(|| Error::no_entity(missing(form)).naming(form))
    }

    /// The definition of a form, if it is stored.
    pub(crate) async fn stored_form(&self, form: &Urn) -> Result<Option<Value>, Error> {
        let key = AspectKey::new(form, AspectName::FORM_INFO);
        let row = self.store().read(ReadRequest::row(&key)).await?.into_row();
        Ok(aspect_value(&row))
    }

    async fn column_paths(&self, dataset: &Urn) -> Result<Vec<String>, Error> {
        let key = AspectKey::new(dataset, AspectName::SCHEMA_METADATA);
        let row = self.store().read(ReadRequest::row(&key)).await?.into_row();
        let schema: Value = aspect_value(&row).unwrap_or_default();
        let fields = schema["fields"].as_array().into_iter().flatten();
        Ok(fields
            .filter_map(|it| it["fieldPath"].as_str().map(str::to_owned))
            .collect())
    }

    /// Prompts as they are stored. Their ids must be unique among all forms.
    async fn prompts(&self, form: &Urn, new: Vec<NewPrompt>) -> Result<Vec<Value>, Error> {
        expect_few_prompts(new.len())?;
        let mut prompts: Vec<Value> = Vec::with_capacity(new.len());
        for it in new {
            check_name("a prompt", &it.title)?;
            check_note("the description of a prompt", it.description.as_deref())?;
            let property = it.property.ok_or_else(|| {
                let message = format!("the prompt '{}' needs structuredPropertyParams", it.title);
                Error::invalid(message)
            })?;
            property.expect_type("structuredProperty")?;
            let id = it.id.unwrap_or_else(|| self.options.ids.next_id());
            let mut prompt = json!({
                "id": id, "title": it.title, "type": it.kind,
                "structuredPropertyParams": {"urn": property}, "required": it.required,
            });
            if let Some(description) = it.description {
                prompt["description"] = json!(description);
            }
            prompts.push(prompt);
        }
        check_prompts(form, &json!({ "prompts": prompts }))?;
        self.expect_own_prompts(form, &prompts).await?;
        Ok(prompts)
    }

    async fn expect_own_prompts(&self, form: &Urn, prompts: &[Value]) -> Result<(), Error> {
        let ids = prompts.iter().filter_map(|it| it["id"].as_str());
        let ids: Vec<String> = ids.map(str::to_owned).collect();
        if ids.is_empty() {
            return Ok(());
        }
        let request = SearchRequest {
            types: vec![ENTITY.to_owned()],
            filter: Filter::all(vec![Criterion {
                values: ids,
                ..Criterion::equal("promptId", "")
            }]),
            include_removed: true,
            page: SearchPage::Offset { start: 0, count: 2 },
            ..SearchRequest::default()
        };
        let others = self.search_unrestricted(&request).await?;
        match others.iter().find(|it| *it != form) {
            None => Ok(()),
            Some(other) => {
                let message = format!(
                    "prompts of {other} have the same ids: the id of a prompt must be unique among all forms, omit it \
                     to have one generated"
                );
                Err(Error::conflict(ConflictReason::AlreadyExists, message))
            }
        }
    }
}

pub(crate) fn prompt_ids(info: &Value) -> Vec<String> {
    let prompts = info["prompts"].as_array().into_iter().flatten();
    prompts
        .filter_map(|it| it["id"].as_str().map(str::to_owned))
        .collect()
}

/// Fails for two prompts with one id.
pub(crate) fn check_prompts(form: &Urn, info: &Value) -> Result<(), Error> {
    let mut ids = HashSet::new();
    let prompts = info["prompts"].as_array().into_iter().flatten();
    for id in prompts.filter_map(|it| it["id"].as_str()) {
        if !ids.insert(id) {
            let message = format!("{form} has two prompts with the id '{id}': ids must be unique");
            return Err(Error::invalid_aspect(message).naming(form));
        }
    }
    Ok(())
}

fn check_response(info: &Value, id: &str, kind: &str, property: &Urn) -> Result<(), Error> {
    let mut prompts = info["prompts"].as_array().into_iter().flatten();
    let Some(prompt) = prompts.find(|it| it["id"] == id) else {
        let message = format!("the form has no prompt '{id}'");
        return Err(Error::invalid(message));
    };
    if prompt["type"] != kind {
        let message = format!("the prompt '{id}' is of type {}", prompt["type"]);
        return Err(Error::invalid(message));
    }
    let requested = &prompt["structuredPropertyParams"]["urn"];
    if requested.as_str() != Some(property.as_str()) {
        let message = format!("the prompt '{id}' collects {requested}, not {property}");
        return Err(Error::invalid(message));
    }
    Ok(())
}

fn expect_actors(member: &str, urns: &[Urn]) -> Result<(), Error> {
    expect_few(member, urns.len())?;
    let entity_type = match member {
        "users" => "corpuser",
        "groups" => "corpGroup",
        _ => "ownershipType",
    };
    for urn in urns {
        urn.expect_type(entity_type)?;
    }
    Ok(())
}

fn expect_few_prompts(count: usize) -> Result<(), Error> {
    if count <= MAX_PROMPTS {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "a form has at most {MAX_PROMPTS} prompts, not {count}: use several forms"
    )))
}

fn missing(form: &Urn) -> String {
    format!("Form {form} does not exist")
}

fn existing(proposal: Proposal, form: &Urn) -> Proposal {
    proposal.requires_existing(form, missing(form))
}

/// Requires that the definition is still the one that the change was made for.
fn unchanged(proposal: Proposal, form: &Urn, info: Value) -> Proposal {
    let urn = form.clone();
    proposal.requires_value::<Value, _>(form, AspectName::FORM_INFO, move |current| {
        if current.as_ref() == Some(&info) {
            return Ok(());
        }
        let message = format!("{urn} was changed meanwhile: send the request again");
        Err(Error::conflict(ConflictReason::ChangedMeanwhile, message))
    })
}

/// The member of an aspect that a removal leaves out: prompts that collect a deleted property.
pub(crate) fn without_prompts_of(form: &Urn, property: &Urn) -> Proposal {
    let property = json!(property);
    let edit = move |prompts: &mut Vec<Value>, _: &AuditStamp| {
        prompts.retain(|it| it["structuredPropertyParams"]["urn"] != property);
    };
    edit_list(form, AspectName::FORM_INFO, "prompts", edit)
}
