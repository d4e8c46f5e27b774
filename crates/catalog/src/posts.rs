//! Posts: announcements on the home page, and notes on entities.

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, Urn};
use serde::Serialize;
use serde_json::{Value, json};

use crate::limits::{check_length, check_name, check_note};
use crate::privilege::{
    CREATE_GLOBAL_ANNOUNCEMENTS, EDIT_ENTITY_DOCS, MANAGE_GLOBAL_ANNOUNCEMENTS, Privilege,
};
use crate::proposal::{Change, Proposal, Requirement};
use crate::{Caller, Catalog, Error};

const MAX_ADDRESS_CHARACTERS: usize = 2_000;
const ANNOUNCERS: &[Privilege] = &[MANAGE_GLOBAL_ANNOUNCEMENTS, CREATE_GLOBAL_ANNOUNCEMENTS];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum PostKind {
    HomePageAnnouncement,
    EntityAnnouncement,
}

/// The content of a post, as it is stored.
#[derive(Debug, Clone, Serialize)]
pub struct PostContent {
    /// TEXT or LINK.
    pub r#type: String,
    pub title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub media: Option<Value>,
}

impl PostContent {
    fn check(&self) -> Result<(), Error> {
        check_name("a post", &self.title)?;
        check_note("the description", self.description.as_deref())?;
        let link = self.link.as_deref().unwrap_or_default();
        check_length("the link", link, MAX_ADDRESS_CHARACTERS)?;
        if self.r#type == "LINK" && link.is_empty() {
            return Err(Error::invalid("a post of type LINK needs a link"));
        }
        Ok(())
    }
}

impl Catalog {
    /// Creates a post, on the home page or on an entity.
    pub async fn create_post(
        &self,
        caller: &Caller,
        kind: PostKind,
        content: PostContent,
        target: Option<&Urn>,
    ) -> Result<Urn, Error> {
        content.check()?;
        match (kind, target) {
            (PostKind::EntityAnnouncement, Some(target)) => {
                self.authorize(caller, &[EDIT_ENTITY_DOCS], Some(target))
                    .await?;
            }
            (PostKind::EntityAnnouncement, None) => {
                return Err(Error::invalid(
                    "an ENTITY_ANNOUNCEMENT needs a resourceUrn, the entity that it is about",
                ));
            }
            (PostKind::HomePageAnnouncement, _) => {
                self.authorize(caller, ANNOUNCERS, None).await?;
            }
        }
        let urn = self.new_urn("post", None)?;
        let target = target.cloned();
        let required = target.clone();
        let info = move |_: Option<Value>, stamp: &AuditStamp| {
            let mut info = json!({
                "type": kind, "content": content, "auditStamp": stamp,
                "created": stamp.time, "lastModified": stamp.time,
            });
            if let Some(target) = &target {
                info["target"] = json!(target);
            }
            Ok(info)
        };
        let mut proposal =
            Proposal::edit(urn.clone(), AspectName::POST_INFO, info).requires(Requirement::IsNew {
                otherwise: format!("{urn} already exists"),
            });
        if let Some(target) = &required {
            let missing = format!("the entity {target} does not exist");
            proposal = proposal.requires_existing(target, missing);
        }
        self.apply_authorized(caller, vec![proposal]).await?;
        Ok(urn)
    }

    /// Replaces the content of a post.
    pub async fn update_post(
        &self,
        caller: &Caller,
        post: &Urn,
        kind: PostKind,
        content: PostContent,
    ) -> Result<(), Error> {
        post.expect_type("post")?;
        self.authorize(caller, ANNOUNCERS, Some(post)).await?;
        content.check()?;
        let missing = format!("the post {post} does not exist");
        let edit = move |current: Option<Value>, stamp: &AuditStamp| {
            let mut info = current.ok_or_else(|| Error::not_found(missing.clone()))?;
            info["type"] = json!(kind);
            info["content"] = json!(content);
            info["lastModified"] = json!(stamp.time);
            Ok(info)
        };
        let proposal = Proposal::edit(post.clone(), AspectName::POST_INFO, edit);
        self.apply_authorized(caller, vec![proposal]).await?;
        Ok(())
    }

    /// Deletes a post.
    pub async fn delete_post(&self, caller: &Caller, post: &Urn) -> Result<(), Error> {
        post.expect_type("post")?;
        self.authorize(caller, ANNOUNCERS, Some(post)).await?;
        let delete = Proposal::new(post.clone(), Change::DeleteEntity)
            .requires_existing(post, format!("the post {post} does not exist"));
        self.apply_authorized(caller, vec![delete]).await?;
        Ok(())
    }
}
