//! The tree of the glossary, and related terms.

use docent_catalog::Error;
use docent_catalog::glossary::TermRelation;
use docent_model::Urn;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{optional_urn, urn, urns};
use crate::{Args, Context, Resolvers};

pub(super) fn register(resolvers: Resolvers) -> Resolvers {
    resolvers
        .mutation("updateParentNode", update_parent_node)
        .mutation("deleteGlossaryEntity", delete_glossary_entity)
        .mutation("addRelatedTerms", add_related_terms)
        .mutation("removeRelatedTerms", remove_related_terms)
}

async fn update_parent_node(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Input {
        resource_urn: String,
        parent_node: Option<String>,
    }
    let input: Input = arguments.input()?;
    let parent = optional_urn(input.parent_node.as_deref())?;
    context
        .catalog
        .move_in_glossary(&context.caller, &urn(&input.resource_urn)?, parent.as_ref())
        .await?;
    Ok(json!(true))
}

async fn delete_glossary_entity(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let entry = arguments.urn("urn")?;
    context
        .catalog
        .delete_glossary_entity(&context.caller, &entry)
        .await?;
    Ok(json!(true))
}

/// `RelatedTermsInput`.
struct RelatedTerms {
    term: Urn,
    relation: TermRelation,
    others: Vec<Urn>,
}

impl RelatedTerms {
    fn of(arguments: &Args<'_>) -> Result<Self, Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Input {
            urn: String,
            term_urns: Vec<String>,
            relationship_type: String,
        }
        let input: Input = arguments.input()?;
        Ok(Self {
            term: urn(&input.urn)?,
            relation: match input.relationship_type.as_str() {
                "isA" => TermRelation::IsA,
                _ => TermRelation::HasA,
            },
            others: urns(&input.term_urns)?,
        })
    }
}

async fn add_related_terms(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let related = RelatedTerms::of(&arguments)?;
    context
        .catalog
        .add_related_terms(
            &context.caller,
            &related.term,
            related.relation,
            &related.others,
        )
        .await?;
    Ok(json!(true))
}

async fn remove_related_terms(context: &Context, arguments: Args<'_>) -> Result<Value, Error> {
    let related = RelatedTerms::of(&arguments)?;
    context
        .catalog
        .remove_related_terms(
            &context.caller,
            &related.term,
            related.relation,
            &related.others,
        )
        .await?;
    Ok(json!(true))
}
