//! Version sets: assets that are versions of one thing, of which one is the latest.

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, EpochMillis, Registry, Urn};
use docent_store::{AspectKey, ReadRequest};
use serde_json::{Value, json};

use crate::privilege::{EDIT_ENTITY, Privilege};
use crate::proposal::{Change, Proposal};
use crate::stored::aspect_value;
use crate::{Caller, Catalog, ConflictReason, Error};

pub(crate) const SET: &str = "versionSet";
pub(crate) const OF_ASSET: AspectName = AspectName::VERSION_PROPERTIES;
pub(crate) const OF_SET: AspectName = AspectName::VERSION_SET_PROPERTIES;
const RELATIONSHIP: &[&str] = &["VersionOf"];
const PRIVILEGES: &[Privilege] = &[EDIT_ENTITY];
/// The scheme of the sort ids that are made here.
const SCHEME: &str = "ALPHANUMERIC_GENERATED_BY_DATAHUB";
const FIRST_SORT_ID: &str = "AAAAAAAA";
/// The most versions of a set that are compared to find the next latest one.
pub(crate) const MAX_COMPARED: usize = 10_000;
/// How many of them are read at once.
const COMPARED_AT_ONCE: usize = 500;

/// A version to link.
#[derive(Debug, Clone)]
pub struct NewVersion {
    pub tag: String,
    pub comment: Option<String>,
    /// When the source system created it.
    pub source_time_ms: Option<EpochMillis>,
    /// Who created it in the source system, by the id of a user.
    pub source_creator: Option<String>,
}

impl NewVersion {
    /// The value of `versionProperties`.
    fn properties(&self, set: &Urn, sort_id: &str, stamp: &AuditStamp) -> Value {
        let attribution = json!({"actor": stamp.actor, "time": stamp.time});
        let mut value = json!({
            "versionSet": set,
            "version": {"versionTag": self.tag, "metadataAttribution": attribution},
            "sortId": sort_id,
            "versioningScheme": SCHEME,
            "metadataCreatedTimestamp": stamp,
            "isLatest": true,
        });
        if let Some(comment) = &self.comment {
            value["comment"] = json!(comment);
        }
        if let Some(time) = self.source_time_ms {
            let creator = self.source_creator.as_deref().unwrap_or("unknown");
            let actor = format!("urn:li:corpuser:{creator}");
            value["sourceCreatedTimestamp"] = json!({"time": time, "actor": actor});
        }
        value
    }
}

impl Catalog {
    /// Makes an asset the latest version in a set, which is created if it is missing. Fails for an
    /// asset that is in a set already: nothing about its version would change.
    pub async fn link_version(
        &self,
        caller: &Caller,
        set: &Urn,
        asset: &Urn,
        new: NewVersion,
    ) -> Result<(), Error> {
        set.expect_type(SET)?;
        let set_type = set.key_parts().get(1).copied().unwrap_or_default();
        if set_type != asset.entity_type() {
            return Err(Error::invalid(format!(
                "{set} has versions of the type {set_type}: {asset} cannot be one"
            )));
        }
        if !Registry::get().check_urn(asset)?.has_aspect(OF_ASSET) {
            return Err(Error::invalid(format!("{asset} cannot have versions")));
        }
        if new.tag.trim().is_empty() {
            return Err(Error::invalid("version is empty: name the version"));
        }
        let missing = format!("Failed to link version. {asset} does not exist.");
        self.expect_existing(asset, missing.clone()).await?;
        let ends = [set.clone(), asset.clone()];
        self.authorize_each(caller, PRIVILEGES, &ends).await?;
        let [linked, properties] = self.values_of([(asset, OF_ASSET), (set, OF_SET)]).await?;
        if let Some(linked) = linked {
            let other = linked["versionSet"].as_str().unwrap_or_default();
            let message = format!("{asset} is a version in {other} already: unlink it first");
            return Err(Error::conflict(ConflictReason::AlreadyExists, message));
        }
        let latest = properties.as_ref().and_then(latest_of);
        if properties
            .as_ref()
            .is_some_and(|properties| properties["versioningScheme"] != SCHEME)
        {
            return Err(Error::invalid(format!(
                "the versions of {set} are sorted by their source: only sets with the scheme \
                 {SCHEME} can be changed here"
            )));
        }
        let last = match self.version_in(set, latest.as_ref()).await? {
            Some(last) => Some(last),
            // The latest asset was deleted, or others decided what it is a version of.
            None => self.latest_other_version(set, asset).await?,
        };
        let sort_id = last.as_ref().map_or_else(
            || FIRST_SORT_ID.to_owned(),
            |last| next_sort_id(&last.sort_id),
        );
        let link = {
            let set = set.clone();
            Proposal::edit_if::<Value, _>(asset.clone(), OF_ASSET, move |current, stamp| {
                match current {
                    None => Ok(Some(new.properties(&set, &sort_id, stamp))),
                    Some(_) => Err(changed_meanwhile(&set)),
                }
            })
            .requires_existing(asset, missing)
        };
        let mut proposals = vec![link, latest_proposal(set, latest, asset)];
        proposals.extend(last.map(|last| mark_former(set, last.urn)));
        self.apply_with_right_on(caller, PRIVILEGES, ends, proposals)
            .await?;
        Ok(())
    }

    /// Removes an asset from a set. The one before it becomes the latest; a set without versions is
    /// deleted. Returns whether the asset was in the set.
    pub async fn unlink_version(
        &self,
        caller: &Caller,
        set: &Urn,
        asset: &Urn,
    ) -> Result<bool, Error> {
        set.expect_type(SET)?;
        let missing = format!("Failed to unlink version. {asset} does not exist.");
        self.expect_existing(asset, missing.clone()).await?;
        let ends = [set.clone(), asset.clone()];
        self.authorize_each(caller, PRIVILEGES, &ends).await?;
        let [linked, properties] = self.values_of([(asset, OF_ASSET), (set, OF_SET)]).await?;
        let Some(linked) = linked else {
            return Ok(false);
        };
        if !is_in(&linked, set) {
            return Err(Error::invalid(format!(
                "{asset} is a version in {}, not in {set}",
                linked["versionSet"].as_str().unwrap_or_default()
            )));
        }
        let unlink = Change::DeleteAspect { aspect: OF_ASSET };
        let unlink = {
            let set = set.clone();
            Proposal::new(asset.clone(), unlink)
                .requires_existing(asset, missing)
                .requires_value(asset, OF_ASSET, move |current: Option<Value>| {
                    let is_linked = current.is_some_and(|current| is_in(&current, &set));
                    is_linked
                        .then_some(())
                        .ok_or_else(|| changed_meanwhile(&set))
                })
        };
        let mut proposals = vec![unlink];
        let latest = properties.as_ref().and_then(latest_of);
        // One that is no version any more is replaced, too.
        let replaces_latest = latest.as_ref() == Some(asset)
            || latest.is_some() && self.version_in(set, latest.as_ref()).await?.is_none();
        if replaces_latest {
            let next = self.latest_other_version(set, asset).await?;
            if let Some(Version { urn: next, .. }) = next {
                proposals.push(latest_proposal(set, latest, &next));
                proposals.push(mark_latest(set, next));
            } else {
                proposals.push(unchanged_latest(set, latest));
                proposals.push(Proposal::new(set.clone(), Change::DeleteEntity));
            }
        } else {
            proposals.push(unchanged_latest(set, latest));
        }
        self.apply_with_right_on(caller, PRIVILEGES, ends, proposals)
            .await?;
        Ok(true)
    }

    /// An asset as a version of this set, if it is one.
    async fn version_in(&self, set: &Urn, asset: Option<&Urn>) -> Result<Option<Version>, Error> {
        let Some(asset) = asset else {
            return Ok(None);
        };
        let [value] = self.values_of([(asset, OF_ASSET)]).await?;
        Ok(value.and_then(|value| Version::of(asset, &value, set)))
    }

    /// The version of a set with the highest sort id, other than this one, whether the caller sees
    /// it or not: a set with hidden versions is not empty.
    async fn latest_other_version(&self, set: &Urn, asset: &Urn) -> Result<Option<Version>, Error> {
        let sets = std::slice::from_ref(set);
        // In one read: between two, others may move into the part that was read already.
        let pages = self
            .store()
            .edges_list(sets, false, RELATIONSHIP, &[], 0, MAX_COMPARED)
            .await?;
        let mut keys = Vec::new();
        for page in pages {
            if page.total > MAX_COMPARED {
                return Err(too_many_versions(set));
            }
            let others = page.items.into_iter().filter(|member| member.urn != *asset);
            keys.extend(others.map(|member| AspectKey::new(&member.urn, OF_ASSET)));
        }
        let mut latest: Option<Version> = None;
        for keys in keys.chunks(COMPARED_AT_ONCE) {
            let rows = self.store().read(ReadRequest::rows(keys)).await?.rows;
            for (key, row) in keys.iter().zip(&rows) {
                let value: Option<Value> = aspect_value(row);
                let version = value.and_then(|value| Version::of(&key.urn, &value, set));
                let is_later = |version: &Version| {
                    let before = latest.as_ref();
                    before.is_none_or(|before| version.sort_id >= before.sort_id)
                };
                if let Some(version) = version.filter(is_later) {
                    latest = Some(version);
                }
            }
        }
        Ok(latest)
    }

    /// The values of some aspects.
    async fn values_of<const N: usize>(
        &self,
        keys: [(&Urn, AspectName); N],
    ) -> Result<[Option<Value>; N], Error> {
        let keys = keys.map(|(urn, aspect)| AspectKey::new(urn, aspect));
        let rows = self.store().read(ReadRequest::rows(&keys)).await?.rows;
        let mut values = rows.iter().map(aspect_value);
        Ok(std::array::from_fn(|_| values.next().flatten()))
    }
}

/// A version of a set.
struct Version {
    urn: Urn,
    sort_id: String,
}

impl Version {
    /// That of an asset with these `versionProperties`, unless they are about another set.
    fn of(urn: &Urn, properties: &Value, set: &Urn) -> Option<Self> {
        is_in(properties, set).then(|| Self {
            urn: urn.clone(),
            sort_id: properties["sortId"].as_str().unwrap_or_default().to_owned(),
        })
    }
}

/// Whether `versionProperties` are those of a version of this set.
pub(crate) fn is_in(properties: &Value, set: &Urn) -> bool {
    properties["versionSet"] == set.as_str()
}

pub(crate) fn latest_of(properties: &Value) -> Option<Urn> {
    Urn::parse(properties["latest"].as_str()?).ok()
}

pub(crate) fn too_many_versions(set: &Urn) -> Error {
    let message = format!("{set} has more than {MAX_COMPARED} versions: unlink older ones first");
    Error::too_large(message)
}

fn changed_meanwhile(set: &Urn) -> Error {
    let message = format!("{set} was changed meanwhile: send the request again");
    Error::conflict(ConflictReason::UnexpectedValue, message)
}

/// Sets the latest version of a set, if it still has the one that was read.
fn latest_proposal(set: &Urn, before: Option<Urn>, latest: &Urn) -> Proposal {
    let (of, latest) = (set.clone(), latest.clone());
    Proposal::edit_if::<Value, _>(set.clone(), OF_SET, move |current, _| {
        if current.as_ref().and_then(latest_of) != before {
            return Err(changed_meanwhile(&of));
        }
        let mut value = current.unwrap_or_else(|| json!({"versioningScheme": SCHEME}));
        value["latest"] = json!(latest);
        Ok(Some(value))
    })
}

/// Writes nothing, and fails if the set no longer has the latest version that was read.
fn unchanged_latest(set: &Urn, before: Option<Urn>) -> Proposal {
    let of = set.clone();
    Proposal::edit_if::<Value, _>(set.clone(), OF_SET, move |current, _| {
        if current.as_ref().and_then(latest_of) == before {
            Ok(None)
        } else {
            Err(changed_meanwhile(&of))
        }
    })
}

/// Marks a version as the latest, if it is still one of the set.
fn mark_latest(set: &Urn, asset: Urn) -> Proposal {
    let set = set.clone();
    Proposal::edit_if::<Value, _>(asset, OF_ASSET, move |current, _| {
        let value = current.filter(|value| is_in(value, &set));
        let mut value = value.ok_or_else(|| changed_meanwhile(&set))?;
        value["isLatest"] = json!(true);
        Ok(Some(value))
    })
}

/// Marks a version as not the latest. One that has left the set since stays as it is.
fn mark_former(set: &Urn, asset: Urn) -> Proposal {
    let set = set.clone();
    Proposal::edit_if::<Value, _>(asset, OF_ASSET, move |current, _| {
        let value = current.filter(|value| is_in(value, &set));
        Ok(value.map(|mut value| {
            value["isLatest"] = json!(false);
            value
        }))
    })
}

/// The sort id after another one: `AAAAAAAZ` is followed by `AAAAAABA`. Those of other schemes
/// are followed by a longer one.
fn next_sort_id(last: &str) -> String {
    let is_ours =
        last.len() == FIRST_SORT_ID.len() && last.bytes().all(|it| it.is_ascii_uppercase());
    if !is_ours {
        return format!("{last}{FIRST_SORT_ID}");
    }
    let mut next = last.as_bytes().to_vec();
    for letter in next.iter_mut().rev() {
        if *letter < b'Z' {
            *letter += 1;
            break;
        }
        *letter = b'A';
    }
    next.into_iter().map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sort_ids_are_counted_in_letters() {
        assert_eq!(next_sort_id("AAAAAAAA"), "AAAAAAAB");
        assert_eq!(next_sort_id("AAAAAAAZ"), "AAAAAABA");
        assert_eq!(next_sort_id("AAZZZZZZ"), "ABAAAAAA");
        assert!(next_sort_id("v12").as_str() > "v12");
    }
}
