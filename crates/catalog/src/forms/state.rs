//! The state of the forms of an asset: edits of its `forms` aspect.

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, Urn};
use serde_json::{Value, json};

use super::list_member::list_in;
use crate::Error;
use crate::proposal::Proposal;

const COMPLETED: &str = "completedForms";
const INCOMPLETE: &str = "incompleteForms";

/// An answered prompt.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) prompt: String,
    /// The column that it was answered for, if it is one of columns.
    pub(super) column: Option<String>,
    /// All columns of the dataset: the prompt is complete when it is answered for each.
    pub(super) columns: Vec<String>,
}

fn edit<F>(asset: &Urn, edit: F) -> Proposal
where
    F: Fn(&mut Value, &AuditStamp) -> Result<(), Error> + Send + Sync + 'static,
{
    let aspect = AspectName::FORMS;
    Proposal::edit_if::<Value, _>(asset.clone(), aspect, move |current, stamp| {
        let before = current.clone();
        let mut forms = current.unwrap_or_else(|| json!({}));
        list_in(&mut forms, INCOMPLETE);
        list_in(&mut forms, COMPLETED);
        edit(&mut forms, stamp)?;
        let is_empty = [INCOMPLETE, COMPLETED]
            .into_iter()
            .all(|list| forms[list].as_array().is_some_and(Vec::is_empty));
        let is_same = before.as_ref() == Some(&forms) || (before.is_none() && is_empty);
        Ok((!is_same).then_some(forms))
    })
}

/// Whether an entry of one of the lists is about the form.
fn is_about(entry: &Value, form: &Urn) -> bool {
    entry["urn"].as_str() == Some(form.as_str())
}

/// Adds a form with all prompts incomplete, unless the asset has it.
pub(crate) fn assignment(asset: &Urn, form: &Urn, prompts: Vec<String>) -> Proposal {
    let form = form.clone();
    edit(asset, move |forms, stamp| {
        let has_form = [INCOMPLETE, COMPLETED]
            .into_iter()
            .any(|list| list_in(forms, list).iter().any(|it| is_about(it, &form)));
        if !has_form {
            let prompt = |id: &String| json!({"id": id, "lastModified": stamp});
            let prompts: Vec<Value> = prompts.iter().map(prompt).collect();
            list_in(forms, INCOMPLETE)
                .push(json!({"urn": form, "incompletePrompts": prompts, "completedPrompts": []}));
        }
        Ok(())
    })
}

/// Removes a form, and its verifications if the form is deleted.
pub(crate) fn removal(asset: &Urn, form: &Urn, is_deleted: bool) -> Proposal {
    let form = form.clone();
    edit(asset, move |forms, _| {
        for list in [INCOMPLETE, COMPLETED] {
            list_in(forms, list).retain(|it| !is_about(it, &form));
        }
        if is_deleted {
            unverify(forms, &form);
        }
        Ok(())
    })
}

fn unverify(forms: &mut Value, form: &Urn) {
    if forms["verifications"].is_array() {
        list_in(forms, "verifications").retain(|it| it["form"].as_str() != Some(form.as_str()));
    }
}

/// Records the answer to a prompt. A form is complete when all its required prompts are.
pub(super) fn answered(asset: &Urn, form: &Urn, info: &Value, answer: Answer) -> Proposal {
    let prompts = info["prompts"].as_array().into_iter().flatten();
    let required = prompts.filter(|it| it["required"].as_bool() == Some(true));
    let required: Vec<Value> = required.map(|it| it["id"].clone()).collect();
    let is_verification = info["type"] == super::VERIFICATION;
    let (asset_urn, form) = (asset.clone(), form.clone());
    edit(asset, move |forms, stamp| {
        let mut found = None;
        for list in [COMPLETED, INCOMPLETE] {
            let mut list = list_in(forms, list);
            if let Some(index) = list.iter().position(|it| is_about(it, &form)) {
                found = found.or(Some(list.remove(index)));
            }
        }
        let Some(mut state) = found else {
            let message = format!("Form {form} has not been assigned to entity {asset_urn}");
            return Err(Error::invalid(message));
        };
        let is_prompt_complete = answer.record(&mut state, stamp);
        if is_prompt_complete {
            answer.complete(&mut state);
        }
        let done = list_in(&mut state, "completedPrompts");
        let is_complete = required
            .iter()
            .all(|id| done.iter().any(|it| it["id"] == *id));
        drop(done);
        let list = if is_complete { COMPLETED } else { INCOMPLETE };
        list_in(forms, list).push(state);
        if !is_complete && is_verification {
            unverify(forms, &form);
        }
        Ok(())
    })
}

impl Answer {
    /// Records the answer in the state of the prompt. Returns whether the prompt is complete.
    fn record(&self, state: &mut Value, stamp: &AuditStamp) -> bool {
        let is_mine = |it: &Value| it["id"].as_str() == Some(&self.prompt);
        let lists = ["completedPrompts", "incompletePrompts"];
        let known = lists
            .into_iter()
            .find(|list| list_in(state, list).iter().any(is_mine));
        let mut list = list_in(state, known.unwrap_or("incompletePrompts"));
        if known.is_none() {
            list.push(json!({ "id": self.prompt }));
        }
        let Some(prompt) = list.iter_mut().find(|it| is_mine(it)) else {
            return false;
        };
        prompt["lastModified"] = json!(stamp);
        let Some(column) = &self.column else {
            return true;
        };
        let columns = &mut prompt["fieldAssociations"];
        if !columns.is_object() {
            *columns = json!({});
        }
        let is_column = |it: &Value| it["fieldPath"].as_str() == Some(column);
        list_in(columns, "incompleteFieldPrompts").retain(|it| !is_column(it));
        let mut done = list_in(columns, "completedFieldPrompts");
        done.retain(|it| !is_column(it));
        done.push(json!({"fieldPath": column, "lastModified": stamp}));
        let is_done = |column: &String| {
            done.iter()
                .any(|it| it["fieldPath"].as_str() == Some(column))
        };
        self.columns.iter().all(is_done)
    }

    /// Moves the prompt to the completed ones.
    fn complete(&self, state: &mut Value) {
        let is_mine = |it: &Value| it["id"].as_str() == Some(&self.prompt);
        let mut mine = None;
        for list in ["completedPrompts", "incompletePrompts"] {
            let mut list = list_in(state, list);
            if let Some(index) = list.iter().position(is_mine) {
                mine = mine.or(Some(list.remove(index)));
            }
        }
        list_in(state, "completedPrompts").extend(mine);
    }
}

/// Records that the caller verifies a completed form, instead of whoever did before.
pub(super) fn verification(asset: &Urn, form: &Urn) -> Proposal {
    let (asset_urn, form) = (asset.clone(), form.clone());
    edit(asset, move |forms, stamp| {
        if !list_in(forms, COMPLETED)
            .iter()
            .any(|it| is_about(it, &form))
        {
            let message = format!(
                "Form {form} is not in the list of completed forms of {asset_urn}: answer its required prompts first"
            );
            return Err(Error::invalid(message));
        }
        unverify(forms, &form);
        list_in(forms, "verifications").push(json!({"form": form, "lastModified": stamp}));
        Ok(())
    })
}
