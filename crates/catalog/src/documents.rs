//! Documents: texts about the organization's data. They form a tree, and name the assets that they
//! are about.
//!
//! A published document is found by everybody, another one by its owners and by those who manage
//! documents. Its lifecycle stage says whether it is published; without one, its state does. Drafts
//! are not found.

mod import;

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, Urn};
use docent_search::LIFECYCLE_STAGE;
use serde_json::{Map, Value, json};

use crate::limits::{check_length, check_name};
use crate::owners::{NewOwner, created_by, ownership};
use crate::privilege::MANAGE_DOCUMENTS;
use crate::proposal::{Change, Proposal, Requirement};
use crate::search::{Criterion, Filter, Operator};
use crate::{Caller, Catalog, Error};

pub use import::{ImportOptions, ImportResult, ImportedFile};

/// The lifecycle stages with a meaning of their own.
const PUBLISHED_STAGE: &str = "urn:li:lifecycleStageType:PUBLISHED";
const DRAFT_STAGE: &str = "urn:li:lifecycleStageType:DRAFT";
/// The most assets or documents that a document is related to.
const MAX_RELATED: usize = 1_000;
/// A type is a word or two, such as FAQ.
const MAX_TYPE_CHARACTERS: usize = 100;

/// A document to create.
#[derive(Debug, Clone, Default)]
pub struct NewDocument {
    /// Without an id, a random one is made.
    pub id: Option<String>,
    pub title: Option<String>,
    pub text: String,
    /// Such as FAQ.
    pub sub_type: Option<String>,
    pub is_published: bool,
    pub parent: Option<Urn>,
    pub related_assets: Vec<Urn>,
    pub related_documents: Vec<Urn>,
    pub show_in_global_context: bool,
    /// Without owners, the caller is the owner.
    pub owners: Vec<NewOwner>,
}

/// What to change of a document; `None` leaves it as it is.
#[derive(Debug, Clone, Default)]
pub struct DocumentUpdate {
    pub title: Option<String>,
    pub text: Option<String>,
    pub sub_type: Option<String>,
    pub is_published: Option<bool>,
    pub related_assets: Option<Vec<Urn>>,
    pub related_documents: Option<Vec<Urn>>,
}

impl Catalog {
    /// Creates a document and returns its URN.
    pub async fn create_document(&self, caller: &Caller, new: NewDocument) -> Result<Urn, Error> {
        let urn = self.new_urn("document", new.id.as_deref())?;
        let update = DocumentUpdate {
            title: new.title,
            text: Some(new.text),
            sub_type: new.sub_type,
            is_published: Some(new.is_published),
            related_assets: Some(new.related_assets),
            related_documents: Some(new.related_documents),
        };
        update.check()?;
        let parent = new.parent.clone();
        let info = {
            let update = update.clone();
            move |_: Option<Map<String, Value>>, stamp: &AuditStamp| {
                let mut info = Map::new();
                info.insert("source".to_owned(), json!({"sourceType": "NATIVE"}));
                info.insert("created".to_owned(), json!(stamp));
                set_parent(&mut info, parent.as_ref());
                update.write_to(&mut info, stamp);
                Ok(info)
            }
        };
        let mut info = Proposal::edit(urn.clone(), AspectName::DOCUMENT_INFO, info).requires(
            Requirement::IsNew {
                otherwise: format!("a document with the id '{}' already exists", urn.key()),
            },
        );
        if let Some(parent) = &new.parent {
            info = info.requires_existing(parent, missing_parent(parent)?);
        }
        let mut proposals = vec![info, settings(&urn, new.show_in_global_context)];
        proposals.extend(update.sub_type.map(|name| sub_types(&urn, Some(&name))));
        proposals.push(match new.owners.as_slice() {
            [] => created_by(&urn, caller)?,
            owners => ownership(&urn, owners)?,
        });
        self.apply(caller, proposals).await?;
        Ok(urn)
    }

    /// Changes the title, the text, the type, the state or the related entities of a document.
    pub async fn update_document(
        &self,
        caller: &Caller,
        document: &Urn,
        update: DocumentUpdate,
    ) -> Result<(), Error> {
        update.check()?;
        let sub_type = update.sub_type.clone();
        let info = edit_info(document, move |info, stamp| {
            update.write_to(info, stamp);
            Ok(())
        })?;
        let mut proposals = vec![info];
        proposals.extend(sub_type.map(|name| sub_types(document, Some(&name))));
        self.apply(caller, proposals).await?;
        Ok(())
    }

    /// Sets the type of a document, such as FAQ, or removes it.
    pub async fn set_document_type(
        &self,
        caller: &Caller,
        document: &Urn,
        sub_type: Option<&str>,
    ) -> Result<(), Error> {
        document.expect_type("document")?;
        check_type(sub_type)?;
        let proposal = sub_types(document, sub_type).requires_target();
        self.apply(caller, vec![proposal]).await?;
        Ok(())
    }

    /// Sets whether a document is shown outside of the assets that it is about.
    pub async fn set_document_visibility(
        &self,
        caller: &Caller,
        document: &Urn,
        show_in_global_context: bool,
    ) -> Result<(), Error> {
        document.expect_type("document")?;
        let proposal = settings(document, show_in_global_context).requires_target();
        self.apply(caller, vec![proposal]).await?;
        Ok(())
    }

    /// Moves a document below another one, or to the top level.
    pub async fn move_document(
        &self,
        caller: &Caller,
        document: &Urn,
        parent: Option<&Urn>,
    ) -> Result<(), Error> {
        let new_parent = parent.cloned();
        let mut proposal = edit_info(document, move |info, stamp| {
            set_parent(info, new_parent.as_ref());
            info.insert("lastModified".to_owned(), json!(stamp));
            Ok(())
        })?;
        if let Some(parent) = parent {
            proposal = proposal.requires_existing(parent, missing_parent(parent)?);
            proposal = proposal.requires(not_inside(parent));
        }
        self.apply(caller, vec![proposal]).await?;
        Ok(())
    }

    /// Deletes a document, and removes the references to it. Its children move to the top level.
    pub async fn delete_document(&self, caller: &Caller, document: &Urn) -> Result<(), Error> {
        document.expect_type("document")?;
        self.expect_existing(document, format!("the document {document} does not exist"))
            .await?;
        self.delete_references(caller, document, false).await?;
        let delete = Proposal::new(document.clone(), Change::DeleteEntity);
        self.apply(caller, vec![delete]).await?;
        Ok(())
    }

    /// The filter for the documents that the caller finds. `states` are PUBLISHED and UNPUBLISHED,
    /// all if empty; `is_global` leaves out those that are shown with their assets only.
    pub async fn found_documents(
        &self,
        caller: &Caller,
        states: &[String],
        is_global: bool,
    ) -> Result<Filter, Error> {
        let is_requested = |state: &str| states.is_empty() || states.iter().any(|it| it == state);
        let has_no_stage = Criterion::missing(LIFECYCLE_STAGE);
        let mut any = Vec::new();
        if is_requested("PUBLISHED") {
            any.push(vec![Criterion::equal(LIFECYCLE_STAGE, PUBLISHED_STAGE)]);
            let state = Criterion::equal("state", "PUBLISHED");
            any.push(vec![has_no_stage.clone(), state]);
        }
        if is_requested("UNPUBLISHED") {
            let is_other_stage = Criterion {
                values: [PUBLISHED_STAGE, DRAFT_STAGE].map(str::to_owned).to_vec(),
                negated: true,
                ..Criterion::equal(LIFECYCLE_STAGE, "")
            };
            let state = Criterion::equal("state", "UNPUBLISHED");
            let mut own = [
                vec![Criterion::exists(LIFECYCLE_STAGE), is_other_stage],
                vec![has_no_stage, state],
            ];
            let manages = self.is_allowed(caller, &[MANAGE_DOCUMENTS], None).await?;
            if !manages {
                let me = self.identities_of(caller.actor()).await?;
                let is_mine = Criterion {
                    field: "owners".to_owned(),
                    values: me.into_iter().collect(),
                    operator: Operator::Equal,
                    negated: false,
                };
                for alternative in &mut own {
                    alternative.push(is_mine.clone());
                }
            }
            any.extend(own);
        }
        if is_global {
            // A document without settings is shown, but search reads a missing flag as false.
            let shown = [
                Criterion::equal("showInGlobalContext", "true"),
                Criterion::missing("showInGlobalContext"),
            ];
            let alternatives = any.iter().flat_map(|alternative| {
                shown
                    .iter()
                    .map(|it| alternative.iter().chain([it]).cloned().collect())
            });
            any = alternatives.collect();
        }
        Ok(Filter { any })
    }
}

impl DocumentUpdate {
    fn check(&self) -> Result<(), Error> {
        if let Some(title) = self.title.as_deref() {
            check_name("a document", title)?;
        }
        check_type(self.sub_type.as_deref())?;
        for (what, urns) in [
            ("assets", &self.related_assets),
            ("documents", &self.related_documents),
        ] {
            let count = urns.as_ref().map_or(0, Vec::len);
            if count > MAX_RELATED {
                return Err(Error::invalid(format!(
                    "{count} related {what} are too many: at most {MAX_RELATED} are allowed"
                )));
            }
        }
        for document in self.related_documents.iter().flatten() {
            document.expect_type("document")?;
        }
        Ok(())
    }

    fn write_to(&self, info: &mut Map<String, Value>, stamp: &AuditStamp) {
        let mut set = |name: &str, value: Value| info.insert(name.to_owned(), value);
        if let Some(title) = &self.title {
            set("title", json!(title));
        }
        if let Some(text) = &self.text {
            set("contents", json!({"text": text}));
        }
        if let Some(is_published) = self.is_published {
            let state = if is_published {
                "PUBLISHED"
            } else {
                "UNPUBLISHED"
            };
            set("status", json!({"state": state}));
        }
        if let Some(assets) = &self.related_assets {
            let assets = assets.iter().map(|urn| json!({"asset": urn}));
            set("relatedAssets", assets.collect());
        }
        if let Some(documents) = &self.related_documents {
            let documents = documents.iter().map(|urn| json!({"document": urn}));
            set("relatedDocuments", documents.collect());
        }
        set("lastModified", json!(stamp));
    }
}

fn check_type(sub_type: Option<&str>) -> Result<(), Error> {
    check_length(
        "the type of a document",
        sub_type.unwrap_or_default(),
        MAX_TYPE_CHARACTERS,
    )
}

fn missing_parent(parent: &Urn) -> Result<String, Error> {
    parent.expect_type("document")?;
    Ok(format!("the parent document {parent} does not exist"))
}

fn not_inside(parent: &Urn) -> Requirement {
    Requirement::NotInside {
        parent: parent.clone(),
        aspect: AspectName::DOCUMENT_INFO,
        at: "/parentDocument/document",
        otherwise: "a document can't be moved below itself or below one of its children",
    }
}

fn set_parent(info: &mut Map<String, Value>, parent: Option<&Urn>) {
    match parent {
        Some(parent) => info.insert("parentDocument".to_owned(), json!({"document": parent})),
        None => info.remove("parentDocument"),
    };
}

/// An edit of an existing document.
fn edit_info<F>(document: &Urn, edit: F) -> Result<Proposal, Error>
where
    F: Fn(&mut Map<String, Value>, &AuditStamp) -> Result<(), Error> + Send + Sync + 'static,
{
    document.expect_type("document")?;
    let missing = format!("the document {document} does not exist");
    let edit = move |current: Option<Map<String, Value>>, stamp: &AuditStamp| {
        let mut info = current.ok_or_else(|| Error::not_found(missing.clone()))?;
        edit(&mut info, stamp)?;
        Ok(info)
    };
    Ok(Proposal::edit(
        document.clone(),
        AspectName::DOCUMENT_INFO,
        edit,
    ))
}

fn settings(document: &Urn, show_in_global_context: bool) -> Proposal {
    Proposal::edit(
        document.clone(),
        AspectName::DOCUMENT_SETTINGS,
        move |_: Option<Value>, stamp: &AuditStamp| {
            Ok(json!({"showInGlobalContext": show_in_global_context, "lastModified": stamp}))
        },
    )
}

fn sub_types(document: &Urn, name: Option<&str>) -> Proposal {
    let names: Vec<&str> = name.into_iter().collect();
    let value = json!({"typeNames": names}).to_string();
    Proposal::upsert(document.clone(), AspectName::SUB_TYPES, value)
}
