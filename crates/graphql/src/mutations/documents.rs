//! Documents.

use docent_catalog::Error;
use docent_catalog::documents::{DocumentUpdate, ImportOptions, ImportedFile, NewDocument};
use serde::Deserialize;
use serde_json::{Value, json};

use super::owners::{OwnerInput, new_owners};
use super::{optional_urn, urn, urns};
use crate::{Args, Context, Resolvers};

pub(super) fn register(resolvers: Resolvers) -> Resolvers {
    resolvers
        .mutation("createDocument", create_document)
        .mutation("updateDocumentContents", update_contents)
        .mutation("updateDocumentRelatedEntities", update_related_entities)
        .mutation("updateDocumentStatus", update_status)
        .mutation("updateDocumentSubType", update_sub_type)
        .mutation("updateDocumentSettings", update_settings)
        .mutation("moveDocument", move_document)
        .mutation("deleteDocument", delete_document)
        .mutation("importDocumentsFromFiles", import_documents)
}

const PUBLISHED: &str = "PUBLISHED";

#[derive(Deserialize)]
struct ContentInput {
    text: String,
}

pub(super) async fn create_document(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        id: Option<String>,
        sub_type: Option<String>,
        title: Option<String>,
        state: Option<String>,
        contents: ContentInput,
        owners: Option<Vec<OwnerInput>>,
        parent_document: Option<String>,
        related_assets: Option<Vec<String>>,
        related_documents: Option<Vec<String>>,
        settings: Option<SettingsInput>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct SettingsInput {
        show_in_global_context: Option<bool>,
    }
    let input: Input = arguments.input()?;
    let settings = input.settings.and_then(|it| it.show_in_global_context);
    let new = NewDocument {
        id: input.id,
        title: input.title,
        text: input.contents.text,
        sub_type: input.sub_type,
        is_published: input.state.as_deref() == Some(PUBLISHED),
        parent: optional_urn(input.parent_document.as_deref())?,
        related_assets: urns(&input.related_assets.unwrap_or_default())?,
        related_documents: urns(&input.related_documents.unwrap_or_default())?,
        show_in_global_context: settings.unwrap_or(true),
        owners: new_owners(input.owners.unwrap_or_default())?,
    };
    let catalog = &context.catalog;
    Ok(json!(catalog.create_document(&context.caller, new).await?))
}

pub(super) async fn update_contents(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        urn: String,
        title: Option<String>,
        contents: Option<ContentInput>,
        sub_type: Option<String>,
    }
    let input: Input = arguments.input()?;
    let update = DocumentUpdate {
        title: input.title,
        text: input.contents.map(|contents| contents.text),
        sub_type: input.sub_type,
        ..DocumentUpdate::default()
    };
    change(context, &input.urn, update).await
}

pub(super) async fn update_related_entities(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        urn: String,
        related_assets: Option<Vec<String>>,
        related_documents: Option<Vec<String>>,
    }
    let input: Input = arguments.input()?;
    let parsed = |texts: Option<Vec<String>>| texts.map(|texts| urns(&texts)).transpose();
    let update = DocumentUpdate {
        related_assets: parsed(input.related_assets)?,
        related_documents: parsed(input.related_documents)?,
        ..DocumentUpdate::default()
    };
    change(context, &input.urn, update).await
}

pub(super) async fn update_status(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    struct Input {
        urn: String,
        state: String,
    }
    let input: Input = arguments.input()?;
    let update = DocumentUpdate {
        is_published: Some(input.state == PUBLISHED),
        ..DocumentUpdate::default()
    };
    change(context, &input.urn, update).await
}

async fn change(context: &Context, document: &str, update: DocumentUpdate) -> Result<Value, Error> {
    let document = urn(document)?;
    let catalog = &context.catalog;
    catalog
        .update_document(&context.caller, &document, update)
        .await?;
    Ok(json!(true))
}

pub(super) async fn update_sub_type(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        urn: String,
        sub_type: Option<String>,
    }
    let input: Input = arguments.input()?;
    let document = urn(&input.urn)?;
    let catalog = &context.catalog;
    catalog
        .set_document_type(&context.caller, &document, input.sub_type.as_deref())
        .await?;
    Ok(json!(true))
}

pub(super) async fn update_settings(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        urn: String,
        show_in_global_context: bool,
    }
    let input: Input = arguments.input()?;
    let document = urn(&input.urn)?;
    let catalog = &context.catalog;
    catalog
        .set_document_visibility(&context.caller, &document, input.show_in_global_context)
        .await?;
    Ok(json!(true))
}

pub(super) async fn move_document(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        urn: String,
        parent_document: Option<String>,
    }
    let input: Input = arguments.input()?;
    let document = urn(&input.urn)?;
    let parent = optional_urn(input.parent_document.as_deref())?;
    let catalog = &context.catalog;
    catalog
        .move_document(&context.caller, &document, parent.as_ref())
        .await?;
    Ok(json!(true))
}

pub(super) async fn delete_document(
    context: &Context,
    arguments: Args<'_>,
) -> Result<Value, Error> {
    let document = arguments.urn("urn")?;
    let catalog = &context.catalog;
    catalog.delete_document(&context.caller, &document).await?;
    Ok(json!(true))
}

async fn import_documents(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        documents: Vec<File>,
        show_in_global_context: Option<bool>,
        use_case: Option<String>,
        parent_document_urn: Option<String>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct File {
        file_name: String,
        content: String,
    }
    let input: Input = arguments.input()?;
    let files = input.documents.into_iter().map(|file| ImportedFile {
        name: file.file_name,
        text: file.content,
    });
    let files: Vec<ImportedFile> = files.collect();
    let is_skill = input.use_case.as_deref() == Some("SKILL");
    let options = ImportOptions {
        parent: optional_urn(input.parent_document_urn.as_deref())?,
        show_in_global_context: input.show_in_global_context.unwrap_or(true),
        sub_type: is_skill.then_some("SKILL"),
    };
    let (catalog, caller) = (&context.catalog, &context.caller);
    let result = catalog.import_documents(caller, &files, &options).await?;
    let documents = result.created.iter().chain(&result.updated);
    Ok(json!({
        "createdCount": result.created.len(),
        "updatedCount": result.updated.len(),
        "failedCount": result.errors.len(),
        "errors": result.errors,
        "documentUrns": documents.collect::<Vec<_>>(),
    }))
}
