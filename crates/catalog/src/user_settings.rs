//! The settings that users change for themselves, and the steps of introductions they have taken.

use std::collections::BTreeMap;

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, Registry, Urn};
use docent_store::{AspectKey, ReadRequest};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::access::scope::check_unscoped;
use crate::limits::check_length;
use crate::proposal::Proposal;
use crate::stored::aspect_value;
use crate::{Caller, Catalog, Error};

/// The dismissed announcements that are kept; older ones are long gone from the page.
const MAX_DISMISSED: usize = 500;
/// The steps in one request.
const MAX_STEPS: usize = 200;
const MAX_STEP_CHARACTERS: usize = 1_000;
/// The longest language tag that registries have.
const MAX_LANGUAGE_CHARACTERS: usize = 35;

/// A switch in the settings of a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum UserSetting {
    ShowSimplifiedHomepage,
    #[serde(rename = "SHOW_THEME_V2")]
    ShowThemeV2,
}

/// What to change of a user's home page.
#[derive(Debug, Clone, Default)]
pub struct HomePageUpdate {
    /// `Some(None)` returns to the default template.
    pub template: Option<Option<Urn>>,
    /// Announcements that the user does not want to see again.
    pub dismissed: Vec<Urn>,
}

/// A step of an introduction, by the name that the page has for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepState {
    pub id: String,
    pub properties: BTreeMap<String, String>,
}

impl Catalog {
    /// Turns a setting of the caller on or off.
    pub async fn set_user_setting(
        &self,
        caller: &Caller,
        setting: UserSetting,
        is_on: bool,
    ) -> Result<(), Error> {
        let member = match setting {
            UserSetting::ShowSimplifiedHomepage => "showSimplifiedHomepage",
            UserSetting::ShowThemeV2 => "showThemeV2",
        };
        let proposal = edit_settings(caller, move |settings| {
            settings["appearance"][member] = json!(is_on);
        });
        self.write_own_settings(caller, proposal).await
    }

    /// Changes the home page of the caller.
    pub async fn update_own_home_page(
        &self,
        caller: &Caller,
        update: HomePageUpdate,
    ) -> Result<(), Error> {
        let template = update.template.clone().flatten();
        let mut proposal = edit_settings(caller, move |settings| {
            let home_page = &mut settings["homePage"];
            if home_page.is_null() {
                *home_page = json!({});
            }
            match &update.template {
                Some(Some(template)) => home_page["pageTemplate"] = json!(template),
                Some(None) => {
                    home_page
                        .as_object_mut()
                        .map(|it| it.remove("pageTemplate"));
                }
                None => {}
            }
            dismiss(home_page, &update.dismissed);
        });
        if let Some(template) = template {
            template.expect_type("dataHubPageTemplate")?;
            let missing = format!("the page template {template} does not exist");
            proposal = proposal.requires_existing(&template, missing);
        }
        self.write_own_settings(caller, proposal).await
    }

    /// Sets the language of the caller's pages, or removes it.
    pub async fn set_own_language(
        &self,
        caller: &Caller,
        language: Option<&str>,
    ) -> Result<(), Error> {
        if let Some(language) = language {
            check_length("the language", language, MAX_LANGUAGE_CHARACTERS)?;
            let is_part =
                |part: &str| !part.is_empty() && part.chars().all(|it| it.is_ascii_alphanumeric());
            if !language.split(['-', '_']).all(is_part) {
                return Err(Error::invalid(format!(
                    "'{language}' is not a language: write it like de or pt-BR"
                )));
            }
        }
        let language = language.map(str::to_owned);
        let proposal = edit_settings(caller, move |settings| {
            settings["locale"] = match &language {
                Some(language) => json!({"language": language}),
                None => json!({}),
            };
        });
        self.write_own_settings(caller, proposal).await
    }

    async fn write_own_settings(&self, caller: &Caller, proposal: Proposal) -> Result<(), Error> {
        check_unscoped(caller)?;
        self.apply_authorized(caller, vec![proposal]).await?;
        Ok(())
    }

    /// The steps with these ids that the caller or, if they are nobody's own, somebody has taken.
    pub async fn step_states(
        &self,
        caller: &Caller,
        ids: &[String],
    ) -> Result<Vec<StepState>, Error> {
        check_steps(ids.len())?;
        let keys = ids.iter().map(|id| step_key(caller, id));
        // DataHub stores all of them by their ids.
        let keys = keys.chain(ids.iter().map(|id| step_key_of_datahub(id)));
        let keys: Vec<AspectKey> = keys.collect::<Result<_, _>>()?;
        let rows = self.store().read(ReadRequest::rows(&keys)).await?.rows;
        let (rows, of_datahub) = rows.split_at(ids.len().min(rows.len()));
        let rows = rows.iter().zip(of_datahub);
        let states = ids.iter().zip(rows).filter_map(|(id, (row, of_datahub))| {
            let of_datahub = || {
                let stored = aspect_value::<Value>(of_datahub)?;
                let is_mine = stored["lastModified"]["actor"] == caller.actor().as_str();
                (is_mine || !is_personal(id)).then_some(stored)
            };
            let own = aspect_value::<Value>(row).filter(|_| is_own_step(caller, id));
            let properties = own.or_else(of_datahub)?["properties"].take();
            Some(StepState {
                id: id.clone(),
                properties: serde_json::from_value(properties).unwrap_or_default(),
            })
        });
        Ok(states.collect())
    }

    /// Stores that the caller has taken steps, and returns for each whether the caller may.
    pub async fn set_step_states(
        &self,
        caller: &Caller,
        states: &[StepState],
    ) -> Result<Vec<bool>, Error> {
        check_unscoped(caller)?;
        check_steps(states.len())?;
        let mut proposals = Vec::new();
        let mut results = Vec::new();
        for state in states {
            let texts = state
                .properties
                .iter()
                .flat_map(|(key, value)| [key, value]);
            for text in texts {
                check_length("a property of a step", text, MAX_STEP_CHARACTERS)?;
            }
            let is_allowed = is_own_step(caller, &state.id);
            results.push(is_allowed);
            if is_allowed {
                let key = step_key(caller, &state.id)?;
                let properties = state.properties.clone();
                let edit = move |_: Option<Value>, stamp: &AuditStamp| {
                    Ok(json!({"properties": properties, "lastModified": stamp}))
                };
                proposals.push(Proposal::edit(key.urn, key.aspect, edit));
            }
        }
        self.apply_authorized(caller, proposals).await?;
        Ok(results)
    }
}

/// An edit of the caller's settings.
fn edit_settings<F>(caller: &Caller, edit: F) -> Proposal
where
    F: Fn(&mut Value) + Send + Sync + 'static,
{
    let edit = move |current: Option<Value>, _: &AuditStamp| {
        let mut settings = current.unwrap_or_else(|| json!({"appearance": {}}));
        edit(&mut settings);
        Ok(settings)
    };
    Proposal::edit(caller.actor().clone(), AspectName::CORP_USER_SETTINGS, edit)
}

fn dismiss(home_page: &mut Value, announcements: &[Urn]) {
    if announcements.is_empty() {
        return;
    }
    let known = home_page["dismissedAnnouncements"].as_array();
    let mut dismissed: Vec<Value> = known.cloned().unwrap_or_default();
    for urn in announcements {
        let urn = json!(urn);
        if !dismissed.contains(&urn) {
            dismissed.push(urn);
        }
    }
    let oldest = dismissed.len().saturating_sub(MAX_DISMISSED);
    home_page["dismissedAnnouncements"] = json!(dismissed[oldest..]);
}

/// Where a step is stored. Whose it is cannot be told from its id alone: `ada-b-tour` may be the
/// step `b-tour` of ada, or the step `tour` of ada-b. So the length of the user's URN precedes the
/// ids of that user's steps.
fn step_key(caller: &Caller, id: &str) -> Result<AspectKey, Error> {
    if is_personal(id) && is_own_step(caller, id) {
        let length = caller.actor().as_str().len();
        return step_key_of_datahub(&format!("{length}:{id}"));
    }
    step_key_of_datahub(id)
}

fn step_key_of_datahub(id: &str) -> Result<AspectKey, Error> {
    check_length("the id of a step", id, MAX_STEP_CHARACTERS)?;
    let urn = Registry::get().parse_urn(&format!("urn:li:dataHubStepState:{id}"))?;
    Ok(AspectKey::new(&urn, AspectName::STEP_STATE_PROPERTIES))
}

/// The page puts the URN of a user before the names of that user's steps. Ids as [`step_key`]
/// stores them are personal, too, and nobody's own: otherwise they would name the steps of others.
fn is_personal(id: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    let stored = id.split_once(':').filter(|(length, _)| is_number(length));
    let id = stored.map_or(id, |(_, id)| id);
    id.starts_with("urn:li:corpuser:")
}

fn is_own_step(caller: &Caller, id: &str) -> bool {
    if !is_personal(id) {
        return true;
    }
    let rest = id.strip_prefix(caller.actor().as_str());
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

fn check_steps(count: usize) -> Result<(), Error> {
    if count > MAX_STEPS {
        return Err(Error::invalid(format!(
            "there are {count} steps: at most {MAX_STEPS} are allowed"
        )));
    }
    Ok(())
}
