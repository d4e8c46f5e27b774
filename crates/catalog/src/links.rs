//! Links of an entity. URL and label together identify a link.

use docent_model::aspects::{AuditStamp, InstitutionalMemory, Link, LinkSettings, Other};
use docent_model::{AspectName, Urn};

use crate::proposal::Proposal;
use crate::target::expect_aspect;
use crate::{Caller, Catalog, Error};

/// The content of a link.
#[derive(Debug, Clone)]
pub struct LinkText {
    pub url: String,
    pub label: String,
    pub show_in_asset_preview: Option<bool>,
}

impl LinkText {
    fn is(&self, link: &Link) -> bool {
        link.url == self.url && link.description == self.label
    }

    fn settings(&self) -> Option<LinkSettings> {
        self.show_in_asset_preview.map(|shown| LinkSettings {
            show_in_asset_preview: shown,
            other: Other::new(),
        })
    }

    fn add_to(&self, links: &mut InstitutionalMemory, stamp: &AuditStamp) {
        links.elements.push(Link {
            url: self.url.clone(),
            description: self.label.clone(),
            create_stamp: stamp.clone(),
            update_stamp: None,
            settings: self.settings(),
            other: Other::new(),
        });
    }

    /// Replaces the content of a link; its creation stamp stays.
    fn replace(&self, link: &mut Link, stamp: &AuditStamp) {
        link.url.clone_from(&self.url);
        link.description.clone_from(&self.label);
        link.update_stamp = Some(stamp.clone());
        link.settings = self.settings();
    }

    fn duplicate(&self) -> Error {
        let Self { url, label, .. } = self;
        Error::invalid(format!(
            "The link '{url}' with label '{label}' already exists"
        ))
    }
}

impl Catalog {
    /// Adds a new link.
    pub async fn add_link(&self, caller: &Caller, urn: &Urn, new: LinkText) -> Result<(), Error> {
        check_url(urn, &new.url)?;
        self.edit_links(caller, urn, move |links, stamp| {
            if links.elements.iter().any(|link| new.is(link)) {
                return Err(new.duplicate());
            }
            new.add_to(links, stamp);
            Ok(())
        })
        .await
    }

    /// Changes a link in place.
    pub async fn update_link(
        &self,
        caller: &Caller,
        urn: &Urn,
        current_url: String,
        current_label: String,
        new: LinkText,
    ) -> Result<(), Error> {
        check_url(urn, &new.url)?;
        let current = LinkText {
            url: current_url,
            label: current_label,
            show_in_asset_preview: None,
        };
        self.edit_links(caller, urn, move |links, stamp| {
            let Some(at) = links.elements.iter().position(|link| current.is(link)) else {
                let LinkText { url, label, .. } = &current;
                return Err(Error::invalid(format!(
                    "Failed to update the link '{url}' with label '{label}'. The link does not exist"
                )));
            };
            let is_duplicate = |(other, link): (usize, &Link)| other != at && new.is(link);
            if links.elements.iter().enumerate().any(is_duplicate) {
                return Err(new.duplicate());
            }
            new.replace(&mut links.elements[at], stamp);
            Ok(())
        })
        .await
    }

    /// Adds a link, or updates the one with the same URL and label.
    pub async fn upsert_link(
        &self,
        caller: &Caller,
        urn: &Urn,
        new: LinkText,
    ) -> Result<(), Error> {
        check_url(urn, &new.url)?;
        self.edit_links(caller, urn, move |links, stamp| {
            match links.elements.iter_mut().find(|link| new.is(link)) {
                Some(link) => new.replace(link, stamp),
                None => new.add_to(links, stamp),
            }
            Ok(())
        })
        .await
    }

    /// Removes the links with this URL, or only those with this label too. The URL is not
    /// validated: an invalid stored link must be removable.
    pub async fn remove_link(
        &self,
        caller: &Caller,
        urn: &Urn,
        url: String,
        label: Option<String>,
    ) -> Result<(), Error> {
        self.edit_links(caller, urn, move |links, _| {
            let same_label = |link: &Link| {
                label
                    .as_ref()
                    .is_none_or(|label| link.description == *label)
            };
            links
                .elements
                .retain(|link| link.url != url || !same_label(link));
            Ok(())
        })
        .await
    }

    async fn edit_links<F>(&self, caller: &Caller, urn: &Urn, edit: F) -> Result<(), Error>
    where
        F: Fn(&mut InstitutionalMemory, &AuditStamp) -> Result<(), Error> + Send + Sync + 'static,
    {
        expect_aspect(urn, AspectName::INSTITUTIONAL_MEMORY, "links")?;
        let proposal = Proposal::edit_if::<InstitutionalMemory, _>(
            urn.clone(),
            AspectName::INSTITUTIONAL_MEMORY,
            move |current, stamp| {
                let is_there = current.is_some();
                let mut links = current.unwrap_or_default();
                edit(&mut links, stamp)?;
                Ok((is_there || !links.elements.is_empty()).then_some(links))
            },
        )
        .requires_existing(
            urn,
            format!(
                "Failed to change institutional memory for resource {urn}. Resource does not exist."
            ),
        );
        self.apply(caller, vec![proposal]).await?;
        Ok(())
    }
}

/// Fails for URLs that the model does not allow.
pub(crate) fn check_url(urn: &Urn, url: &str) -> Result<(), Error> {
    docent_model::check_link_url(url).map_err(|wrong| {
        Error::invalid(format!(
            "Failed to change institutional memory for resource {urn}. {wrong}"
        ))
    })
}
