//! The glossary as a tree: its roots, the children of its nodes, moves and deletions; and how its
//! terms are related. [`crate::vocabulary`] creates its entries.

use std::collections::HashSet;
use std::sync::Arc;

use docent_model::{AspectName, Urn};
use docent_store::ListPage;
use serde_json::{Value, json};

use crate::proposal::{Proposal, Requirement, require_all};
use crate::search::{SearchPage, SearchRequest, Sort, roots};
use crate::target::{edit_list, edit_members, expect_few};
use crate::{Caller, Catalog, Change, Error};

const NODE: &str = "glossaryNode";
const TERM: &str = "glossaryTerm";
/// The member of an entry that names the node above it, and the field of the index.
const PARENT: &str = "parentNode";
/// The same as a JSON pointer.
pub(crate) const PARENT_NODE_AT: &str = "/parentNode";
pub(crate) const NODE_INSIDE_ITSELF: &str =
    "Cannot move a glossary node under one of its own descendants.";

/// How a term is related to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TermRelation {
    /// The term is a kind of the other.
    IsA,
    /// The other is a part of the term.
    HasA,
}

impl TermRelation {
    /// The list of the aspect.
    fn member(self) -> &'static str {
        match self {
            Self::IsA => "isRelatedTerms",
            Self::HasA => "hasRelatedTerms",
        }
    }
}

/// The two kinds of entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GlossaryKind {
    Node,
    Term,
}

impl GlossaryKind {
    fn of(urn: &Urn) -> Option<Self> {
        [Self::Node, Self::Term]
            .into_iter()
            .find(|kind| kind.entity_type() == urn.entity_type())
    }

    fn entity_type(self) -> &'static str {
        match self {
            Self::Node => NODE,
            Self::Term => TERM,
        }
    }

    /// The aspect that has the parent.
    fn aspect(self) -> AspectName {
        match self {
            Self::Node => AspectName::GLOSSARY_NODE_INFO,
            Self::Term => AspectName::GLOSSARY_TERM_INFO,
        }
    }
}

/// How many direct children a node has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChildrenCount {
    pub terms: usize,
    pub nodes: usize,
}

impl Catalog {
    /// The entries without a parent, by name.
    pub async fn glossary_roots(
        &self,
        kind: GlossaryKind,
        start: usize,
        count: usize,
    ) -> Result<ListPage<Urn>, Error> {
        let entity_type = kind.entity_type();
        let below_hidden = self.reader().parts_of_hidden(entity_type, NODE).await?;
        let request = SearchRequest {
            filter: roots(PARENT, &below_hidden),
            sort: vec![Sort {
                field: "_entityName".to_owned(),
                descending: false,
            }],
            page: SearchPage::Offset { start, count },
            ..all(kind)
        };
        self.search_urns(&request).await
    }

    /// The number of children of each node.
    pub async fn glossary_children_counts(
        &self,
        nodes: &[Urn],
    ) -> Result<Vec<ChildrenCount>, Error> {
        let groups: Vec<&Urn> = nodes.iter().collect();
        let (terms, nodes) = (all(GlossaryKind::Term), all(GlossaryKind::Node));
        let terms = self.count_members(&terms, PARENT, &groups).await?;
        let nodes = self.count_members(&nodes, PARENT, &groups).await?;
        let counts = terms.into_iter().zip(nodes);
        Ok(counts
            .map(|(terms, nodes)| ChildrenCount { terms, nodes })
            .collect())
    }

    /// Moves a term or a node into another node, or to the root.
    pub async fn move_in_glossary(
        &self,
        caller: &Caller,
        entry: &Urn,
        parent: Option<&Urn>,
    ) -> Result<(), Error> {
        let kind = GlossaryKind::of(entry).ok_or_else(|| {
            Error::invalid(format!(
                "Failed to update parentNode. Unsupported resource type {entry} provided."
            ))
        })?;
        let members = vec![(PARENT, parent.map(|parent| json!(parent)))];
        let mut proposal = edit_members(entry, kind.aspect(), members).requires_target();
        if let Some(parent) = parent {
            let invalid = format!(
                "Failed to update {entry}. {parent} either does not exist or is not a glossaryNode."
            );
            if parent.entity_type() != NODE {
                return Err(Error::invalid(invalid));
            }
            proposal =
                proposal
                    .requires_existing(parent, invalid)
                    .requires(Requirement::NotInside {
                        parent: parent.clone(),
                        aspect: AspectName::GLOSSARY_NODE_INFO,
                        at: PARENT_NODE_AT,
                        otherwise: NODE_INSIDE_ITSELF,
                    });
        }
        self.apply(caller, vec![proposal]).await?;
        Ok(())
    }

    /// Deletes a term, and removes it from everything that has it, or a node, whose children move
    /// to the root.
    pub async fn delete_glossary_entity(&self, caller: &Caller, entry: &Urn) -> Result<(), Error> {
        if GlossaryKind::of(entry).is_none() {
            return Err(Error::invalid(format!(
                "{entry} is neither a glossary term nor a glossary node"
            )));
        }
        let proposal = Proposal::new(entry.clone(), Change::DeleteEntity)
            .requires_existing(entry, format!("This urn does not exist: {entry}"));
        self.apply(caller, vec![proposal]).await?;
        Ok(())
    }

    /// Relates a term to other terms.
    pub async fn add_related_terms(
        &self,
        caller: &Caller,
        term: &Urn,
        relation: TermRelation,
        others: &[Urn],
    ) -> Result<(), Error> {
        check_related(term, others)?;
        let shared: Arc<[Urn]> = others.into();
        let mut proposals = vec![edit_related(term, relation, move |terms| {
            let mut known: HashSet<Value> = terms.iter().cloned().collect();
            let new = shared.iter().map(|other| json!(other));
            terms.extend(new.filter(|other| known.insert(other.clone())));
        })];
        let exists = |other: &Urn| {
            Requirement::exists(
                other,
                format!("Failed to update {term}. {other} does not exist."),
            )
        };
        require_all(&mut proposals, others.iter().map(exists));
        self.apply(caller, proposals).await?;
        Ok(())
    }

    /// Ends the relation of a term to others. One that is missing is no error: dangling references
    /// must be removable.
    pub async fn remove_related_terms(
        &self,
        caller: &Caller,
        term: &Urn,
        relation: TermRelation,
        others: &[Urn],
    ) -> Result<(), Error> {
        check_related(term, others)?;
        let unwanted: HashSet<Value> = others.iter().map(|other| json!(other)).collect();
        let proposal = edit_related(term, relation, move |terms| {
            terms.retain(|other| !unwanted.contains(other));
        });
        self.apply(caller, vec![proposal]).await?;
        Ok(())
    }
}

/// A search for all entries of a kind.
fn all(kind: GlossaryKind) -> SearchRequest {
    SearchRequest {
        types: vec![kind.entity_type().to_owned()],
        query: "*".to_owned(),
        ..SearchRequest::default()
    }
}

fn no_term(term: &Urn) -> String {
    format!("Failed to update {term}. {term} either does not exist or is not a glossaryTerm.")
}

fn check_related(term: &Urn, others: &[Urn]) -> Result<(), Error> {
    expect_few("terms", others.len())?;
    if term.entity_type() != TERM {
        return Err(Error::invalid(no_term(term)));
    }
    for other in others {
        if other == term {
            return Err(Error::invalid(format!(
                "Failed to update {term}. Tried to create related term with itself."
            )));
        }
        if other.entity_type() != TERM {
            return Err(Error::invalid(format!(
                "Failed to update {term}. {other} is not a glossaryTerm."
            )));
        }
    }
    Ok(())
}

/// An edit of the terms that a term is related to.
fn edit_related<F>(term: &Urn, relation: TermRelation, edit: F) -> Proposal
where
    F: Fn(&mut Vec<Value>) + Send + Sync + 'static,
{
    let aspect = AspectName::GLOSSARY_RELATED_TERMS;
    edit_list(term, aspect, relation.member(), move |terms, _| edit(terms))
        .requires_existing(term, no_term(term))
}
