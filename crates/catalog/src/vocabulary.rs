//! Tags, glossary terms and glossary nodes: creation, changes and deletion. [`crate::labels`]
//! assigns them.

use docent_model::{AspectName, Urn};
use serde_json::{Map, Value, json};

use crate::limits::check_name;
use crate::owners::{self, NewOwner};
use crate::privilege::{CREATE_TAGS, EDIT_TAG_COLOR, Privilege};
use crate::proposal::{Proposal, Requirement};
use crate::{Caller, Catalog, Change, Error};

/// A tag, a term or a node to create.
#[derive(Debug, Clone, Default)]
pub struct NewWord {
    /// Without an id, a random one is made.
    pub id: Option<String>,
    pub name: String,
    pub description: Option<String>,
    /// The parent node of a term or a node.
    pub parent: Option<Urn>,
}

/// New properties of a tag.
#[derive(Debug, Clone)]
pub struct TagUpdate {
    pub name: String,
    /// `None` leaves it unchanged.
    pub description: Option<String>,
    /// Replaces all owners.
    pub owners: Option<Vec<NewOwner>>,
}

/// The kinds of vocabulary entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WordKind {
    Tag,
    GlossaryTerm,
    GlossaryNode,
}

impl WordKind {
    fn entity_type(self) -> &'static str {
        match self {
            Self::Tag => "tag",
            Self::GlossaryTerm => "glossaryTerm",
            Self::GlossaryNode => "glossaryNode",
        }
    }

    fn label(self) -> &'static str {
        match self {
            Self::Tag => "Tag",
            Self::GlossaryTerm => "Glossary Term",
            Self::GlossaryNode => "Glossary Node",
        }
    }

    /// The aspect of a new entry, and its value.
    fn aspect(self, new: &NewWord) -> (AspectName, Value) {
        let (aspect, mut value) = match self {
            Self::Tag => {
                let mut value = json!({"name": new.name});
                if let Some(description) = &new.description {
                    value["description"] = json!(description);
                }
                (AspectName::TAG_PROPERTIES, value)
            }
            Self::GlossaryTerm => (
                AspectName::GLOSSARY_TERM_INFO,
                json!({"name": new.name, "definition": definition(new), "termSource": "INTERNAL"}),
            ),
            Self::GlossaryNode => (
                AspectName::GLOSSARY_NODE_INFO,
                json!({"name": new.name, "definition": definition(new)}),
            ),
        };
        if let Some(parent) = &new.parent {
            value["parentNode"] = json!(parent);
        }
        (aspect, value)
    }
}

fn definition(new: &NewWord) -> &str {
    new.description.as_deref().unwrap_or_default()
}

impl Catalog {
    /// Creates a tag, a term or a node, owned by its creator, and returns its URN.
    pub async fn create_word(
        &self,
        caller: &Caller,
        kind: WordKind,
        new: NewWord,
    ) -> Result<Urn, Error> {
        let label = kind.label();
        let urn = self.new_urn(kind.entity_type(), new.id.as_deref())?;
        check_name(&format!("a {}", label.to_lowercase()), &new.name)?;
        let (aspect, value) = kind.aspect(&new);
        let mut proposal =
            Proposal::edit::<Value, _>(urn.clone(), aspect, move |_, _| Ok(value.clone()))
                .requires(Requirement::IsNew {
                    otherwise: format!("This {label} already exists!"),
                });
        if let Some(parent) = &new.parent {
            parent.expect_type("glossaryNode")?;
            proposal = proposal.requires_existing(parent, "Parent Glossary Node does not exist!");
        }
        let owned = owners::created_by(&urn, caller)?;
        let creators: &'static [Privilege] = match kind {
            WordKind::Tag => &[CREATE_TAGS],
            WordKind::GlossaryTerm | WordKind::GlossaryNode => &[],
        };
        let proposals = [proposal, owned].map(|it| it.also_allowed_by(creators));
        self.apply(caller, proposals.into()).await?;
        Ok(urn)
    }

    /// Renames a tag, and sets its description and owners where they are given.
    pub async fn update_tag(
        &self,
        caller: &Caller,
        tag: &Urn,
        update: TagUpdate,
    ) -> Result<(), Error> {
        tag.expect_type("tag")?;
        check_name("a tag", &update.name)?;
        let (name, description) = (update.name, update.description);
        let properties = edit_tag(tag, move |properties| {
            properties.insert("name".to_owned(), json!(name));
            if let Some(description) = &description {
                properties.insert("description".to_owned(), json!(description));
            }
        });
        let mut proposals = vec![properties.requires_target()];
        if let Some(owners) = &update.owners {
            proposals.push(owners::ownership(tag, owners)?);
        }
        self.apply(caller, proposals).await?;
        Ok(())
    }

    /// Sets the colour of a tag.
    pub async fn set_tag_color(
        &self,
        caller: &Caller,
        tag: &Urn,
        color_hex: &str,
    ) -> Result<(), Error> {
        tag.expect_type("tag")?;
        let color = color_hex.to_owned();
        let proposal = edit_tag(tag, move |properties| {
            properties.insert("colorHex".to_owned(), json!(color));
        })
        .requires_existing(
            tag,
            format!("Failed to set Tag {tag} color. Tag does not exist."),
        );
        let proposal = proposal.also_allowed_by(&[EDIT_TAG_COLOR]);
        self.apply(caller, vec![proposal]).await?;
        Ok(())
    }

    /// Deletes a tag and removes it from everything that has it.
    pub async fn delete_tag(&self, caller: &Caller, tag: &Urn) -> Result<(), Error> {
        tag.expect_type("tag")?;
        let proposal = Proposal::new(tag.clone(), Change::DeleteEntity).requires_existing(
            tag,
            format!("Failed to delete tag {tag}. {tag} does not exist."),
        );
        self.apply(caller, vec![proposal]).await?;
        Ok(())
    }
}

/// An edit of a tag's properties. A tag without any has its id as its name.
fn edit_tag<F>(tag: &Urn, edit: F) -> Proposal
where
    F: Fn(&mut Map<String, Value>) + Send + Sync + 'static,
{
    let id = tag.key().to_owned();
    Proposal::edit::<Map<String, Value>, _>(
        tag.clone(),
        AspectName::TAG_PROPERTIES,
        move |current, _| {
            let mut properties = current.unwrap_or_default();
            properties
                .entry("name")
                .or_insert_with(|| Value::from(id.as_str()));
            edit(&mut properties);
            Ok(properties)
        },
    )
}
