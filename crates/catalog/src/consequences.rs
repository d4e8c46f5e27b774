//! What follows a change, in transactions of its own: entities lose the values of a deleted
//! structured property and the forms that are deleted, and get the forms that are for them.
//!
//! Such references are no edges, so the index finds them. It has every committed change, so a chunk
//! that was changed is not found again. After a failure half-way, the same change continues.

use docent_model::{AspectName, Registry, Urn};
use docent_search::{Criterion, Filter, SearchPage, SearchRequest};

use crate::forms::{assignment, prompt_ids, removal, without_prompts_of};
use crate::proposal::{Change, Proposal};
use crate::stored::aspect_value;
use crate::structured_properties::without_property;
use crate::views::ViewFilter;
use crate::{AspectKey, Caller, Catalog, Error, ReadRequest};

/// How many entities one transaction changes.
const CHANGED_AT_ONCE: usize = 200;

/// A change that others follow from.
#[derive(Debug, Clone)]
pub(crate) enum Cause {
    DeletedProperty(Urn),
    DeletedForm(Urn),
    /// The assets that a form is for.
    FormFilter(Urn),
}

/// The changes in a list that others follow from.
pub(crate) fn causes(proposals: &[Proposal]) -> Vec<Cause> {
    let cause = |it: &Proposal| {
        let urn = || it.urn.clone();
        let is_deleted = it.change.deletes_entity(&it.urn);
        let is_write = !matches!(it.change, Change::DeleteAspect { .. });
        let aspect = it.change.aspect();
        match it.urn.entity_type() {
            "structuredProperty" if is_deleted => Some(Cause::DeletedProperty(urn())),
            "form" if is_deleted => Some(Cause::DeletedForm(urn())),
            "form" if is_write && aspect == Some(AspectName::DYNAMIC_FORM_ASSIGNMENT) => {
                Some(Cause::FormFilter(urn()))
            }
            _ => None,
        }
    };
    proposals.iter().filter_map(cause).collect()
}

impl Catalog {
    /// Makes the changes that follow. The right to make the first one suffices.
    pub(crate) async fn follow_up(&self, caller: &Caller, causes: &[Cause]) -> Result<(), Error> {
        for cause in causes {
            match cause {
                // The caller may only have proposed the deletion.
                Cause::DeletedProperty(urn) | Cause::DeletedForm(urn)
                    if self.exists(std::slice::from_ref(urn)).await? == [true] => {}
                Cause::DeletedProperty(property) => {
                    self.change_found(caller, &with_property(property), |it| {
                        without_property(it, property)
                    })
                    .await?;
                    let forms = SearchRequest {
                        types: vec!["form".to_owned()],
                        ..found_by(vec![Criterion::equal(
                            "structuredPropertyPromptUrns",
                            property.as_str(),
                        )])
                    };
                    self.change_found(caller, &forms, |it| without_prompts_of(it, property))
                        .await?;
                }
                Cause::DeletedForm(form) => {
                    let remove = |it: &Urn| removal(it, form, true);
                    self.change_found(caller, &with_form(form), remove).await?;
                }
                Cause::FormFilter(form) => self.assign_to_matching(caller, form).await?,
            }
        }
        Ok(())
    }

    /// Some entities that have values of a property, hidden and soft-deleted ones included.
    pub(crate) async fn holders_of(&self, property: &Urn) -> Result<Vec<Urn>, Error> {
        self.search_unrestricted(&with_property(property)).await
    }

    /// Some assets that have a form, hidden and soft-deleted ones included.
    pub(crate) async fn assets_with(&self, form: &Urn) -> Result<Vec<Urn>, Error> {
        self.search_unrestricted(&with_form(form)).await
    }

    async fn assign_to_matching(&self, caller: &Caller, form: &Urn) -> Result<(), Error> {
        let key = AspectKey::new(form, AspectName::DYNAMIC_FORM_ASSIGNMENT);
        let row = self.store().read(ReadRequest::row(&key)).await?.into_row();
        let stored: Option<serde_json::Value> = aspect_value(&row);
        let filter = stored.and_then(|mut it| serde_json::from_value(it["filter"].take()).ok());
        let filter: ViewFilter = filter.unwrap_or_default();
        let any = filter.alternatives()?;
        if any.iter().all(Vec::is_empty) {
            return Ok(());
        }
        // Ingestion may write the filter without the form, or before it.
        let Some(info) = self.stored_form(form).await? else {
            return Ok(());
        };
        let prompts = prompt_ids(&info);
        let mut request = SearchRequest {
            filter: Filter { any },
            include_removed: false,
            types: types_with(AspectName::FORMS),
            ..found_by(Vec::new())
        };
        for field in ["incompleteForms", "completedForms"] {
            let has_form = Criterion::equal(field, form.as_str());
            request.filter = request.filter.and(Criterion {
                negated: true,
                ..has_form
            });
        }
        let assign = |it: &Urn| assignment(it, form, prompts.clone());
        self.change_found(caller, &request, assign).await
    }

    /// Changes all entities that a search finds, until it finds none.
    async fn change_found(
        &self,
        caller: &Caller,
        request: &SearchRequest,
        change: impl Fn(&Urn) -> Proposal,
    ) -> Result<(), Error> {
        let mut last = Vec::new();
        loop {
            let found = self.search_unrestricted(request).await?;
            // What cannot be changed is not tried again.
            if found.is_empty() || found == last {
                return Ok(());
            }
            let changes = found.iter().map(|it| change(it).authorized()).collect();
            self.apply_all(caller, changes).await?;
            last = found;
        }
    }
}

fn types_with(aspect: AspectName) -> Vec<String> {
    let types = Registry::get().entities();
    let types = types.filter(|it| it.has_aspect(aspect));
    types.map(|it| it.name.to_owned()).collect()
}

fn found_by(criteria: Vec<Criterion>) -> SearchRequest {
    SearchRequest {
        filter: Filter::all(criteria),
        include_removed: true,
        page: SearchPage::Offset {
            start: 0,
            count: CHANGED_AT_ONCE,
        },
        ..SearchRequest::default()
    }
}

fn with_property(property: &Urn) -> SearchRequest {
    let field = format!("structuredProperties.{}", property.key());
    SearchRequest {
        types: types_with(AspectName::STRUCTURED_PROPERTIES),
        ..found_by(vec![Criterion::exists(&field)])
    }
}

fn with_form(form: &Urn) -> SearchRequest {
    let fields = ["incompleteForms", "completedForms", "verifiedForms"];
    let any = fields.map(|it| vec![Criterion::equal(it, form.as_str())]);
    SearchRequest {
        types: types_with(AspectName::FORMS),
        filter: Filter { any: any.into() },
        ..found_by(Vec::new())
    }
}
