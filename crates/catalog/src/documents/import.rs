//! Documents from files, whose URNs are made of the file names: a second import replaces them.

use std::collections::BTreeSet;
use std::slice::from_ref;

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, Registry, Urn, hex};
use serde_json::{Map, Value, json};

use super::{DocumentUpdate, missing_parent, not_inside, set_parent, settings, sub_types};
use crate::owners::created_by;
use crate::privilege::MANAGE_DOCUMENTS;
use crate::proposal::Proposal;
use crate::secret::hash_of;
use crate::{Caller, Catalog, Error, ErrorKind};

const MAX_FILES: usize = 1_000;
/// The characters of a file name in the id of its document; a hyphen and a hash of the whole name
/// follow, up to 200.
const MAX_ID_CHARACTERS: usize = 183;

/// A file as text.
#[derive(Debug, Clone)]
pub struct ImportedFile {
    pub name: String,
    pub text: String,
}

/// What all files of an import have in common.
#[derive(Debug, Clone, Default)]
pub struct ImportOptions {
    pub parent: Option<Urn>,
    pub show_in_global_context: bool,
    pub sub_type: Option<&'static str>,
}

#[derive(Debug, Default)]
pub struct ImportResult {
    pub created: Vec<Urn>,
    pub updated: Vec<Urn>,
    /// The messages of the files that were not imported.
    pub errors: Vec<String>,
}

impl Catalog {
    /// Creates or replaces a published document for each file. A file that cannot be imported does
    /// not stop the others.
    pub async fn import_documents(
        &self,
        caller: &Caller,
        files: &[ImportedFile],
        options: &ImportOptions,
    ) -> Result<ImportResult, Error> {
        self.authorize(caller, &[MANAGE_DOCUMENTS], None).await?;
        if files.len() > MAX_FILES {
            return Err(Error::invalid(format!(
                "{} files are too many: import at most {MAX_FILES} at once",
                files.len()
            )));
        }
        if let Some(parent) = &options.parent {
            self.expect_existing(parent, missing_parent(parent)?)
                .await?;
        }
        let mut result = ImportResult::default();
        let mut known = BTreeSet::new();
        for file in files {
            match self.import_file(caller, file, options, &mut known).await {
                Ok((document, true)) => result.created.push(document),
                Ok((document, false)) => result.updated.push(document),
                Err(error) if !is_about_file(&error) => return Err(error),
                Err(error) => result.errors.push(format!("{}: {error}", file.name)),
            }
        }
        Ok(result)
    }

    /// Returns the document, and whether it is new.
    async fn import_file(
        &self,
        caller: &Caller,
        file: &ImportedFile,
        options: &ImportOptions,
        known: &mut BTreeSet<Urn>,
    ) -> Result<(Urn, bool), Error> {
        if file.text.trim().is_empty() {
            return Err(Error::invalid("the file is empty"));
        }
        let document = urn_of(&file.name)?;
        if !known.insert(document.clone()) {
            return Err(Error::invalid(
                "another file of this import has the same name: rename one of them",
            ));
        }
        let update = DocumentUpdate {
            title: Some(title_of(&file.name)),
            text: Some(file.text.clone()),
            is_published: Some(true),
            ..DocumentUpdate::default()
        };
        update.check()?;
        let is_new = self.exists(from_ref(&document)).await? == [false];
        let (parent, name) = (options.parent.clone(), file.name.clone());
        let edit = move |current: Option<Map<String, Value>>, stamp: &AuditStamp| {
            let mut info = current.unwrap_or_default();
            info.entry("source")
                .or_insert_with(|| json!({"sourceType": "NATIVE"}));
            info.entry("created").or_insert_with(|| json!(stamp));
            if parent.is_some() {
                set_parent(&mut info, parent.as_ref());
            }
            let properties = json!({
                "file_extension": extension(&name),
                "import_source": "file_upload",
                "import_source_id": source_of(&name),
                "original_filename": name,
            });
            info.insert("customProperties".to_owned(), properties);
            update.write_to(&mut info, stamp);
            Ok(info)
        };
        let mut info = Proposal::edit(document.clone(), AspectName::DOCUMENT_INFO, edit);
        if let Some(parent) = &options.parent {
            info = info
                .requires_existing(parent, missing_parent(parent)?)
                .requires(not_inside(parent));
        }
        let mut proposals = vec![info, settings(&document, options.show_in_global_context)];
        proposals.extend(
            options
                .sub_type
                .map(|name| sub_types(&document, Some(name))),
        );
        if is_new {
            proposals.push(created_by(&document, caller)?);
        }
        self.apply(caller, proposals).await?;
        Ok((document, is_new))
    }
}

/// Whether other files can be imported nevertheless.
fn is_about_file(error: &Error) -> bool {
    error.is_correctable() && error.kind() != ErrorKind::Forbidden
}

/// The name of a file without its directories and its extension.
fn stem(name: &str) -> &str {
    let base = name.rsplit('/').next().unwrap_or(name);
    match base.rsplit_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => base,
    }
}

/// With its dot, in lower case.
fn extension(name: &str) -> String {
    let extension = name.rfind('.').map_or("", |dot| &name[dot..]);
    extension.to_lowercase()
}

fn source_of(name: &str) -> String {
    format!("upload.{}", stem(name))
}

/// The same URN as in DataHub: of the name in lower case, and of a hash of it.
fn urn_of(name: &str) -> Result<Urn, Error> {
    let source = source_of(name);
    let mut id = String::new();
    for character in source.chars() {
        let is_safe = character.is_ascii_alphanumeric() || "_.-".contains(character);
        let character = if is_safe { character } else { '-' };
        if character != '-' || !id.ends_with('-') {
            id.push(character.to_ascii_lowercase());
        }
    }
    let id: String = id
        .trim_matches('-')
        .chars()
        .take(MAX_ID_CHARACTERS)
        .collect();
    let urn = Urn::new("document", &format!("{id}-{}", hex(&hash_of(&source)[..8])))?;
    Registry::get().check_urn(&urn)?;
    Ok(urn)
}

/// `release_notes-2024.md` is titled "Release Notes 2024".
fn title_of(name: &str) -> String {
    let words = stem(name)
        .split(['-', '_', ' '])
        .filter(|word| !word.is_empty());
    let word = |word: &str| {
        let mut characters = word.chars();
        let first = characters.next().into_iter().flat_map(char::to_uppercase);
        first.collect::<String>() + &characters.as_str().to_lowercase()
    };
    words.map(word).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_and_ids_are_made_of_file_names() {
        assert_eq!(
            title_of("docs/release_notes-2024.v1.md"),
            "Release Notes 2024.v1"
        );
        assert_eq!(title_of(".profile"), ".profile");
        let urn = urn_of("docs/Über uns (alt).md").unwrap();
        assert_eq!(urn.key().rsplit_once('-').unwrap().0, "upload.-ber-uns-alt");
        assert_ne!(urn_of("a b.md").unwrap(), urn_of("a-b.md").unwrap());
        assert_eq!(urn_of("x/a.md").unwrap(), urn_of("a.txt").unwrap());
        assert_eq!(urn_of(&"x".repeat(5_000)).unwrap().key().len(), 200);
    }
}
