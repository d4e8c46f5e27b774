//! Version sets: assets that are versions of one thing, of which one is the latest.

use docent_model::aspects::AuditStamp;
use docent_model::{AspectName, EpochMillis, Registry, Urn};
use docent_store::{AspectKey, ReadRequest};
use serde_json::{Value, json};

use crate::privilege::{EDIT_ENTITY, Privilege};
use crate::proposal::{Change, Proposal};
use crate::stored::aspect_value;
use crate::{Caller, Catalog, ConflictReason, Error};

const SET: &str = "versionSet";
const RELATIONSHIP: &[&str] = &["VersionOf"];
const PRIVILEGES: &[Privilege] = &[EDIT_ENTITY];
/// The scheme of the sort ids that are made here.
const SCHEME: &str = "ALPHANUMERIC_GENERATED_BY_DATAHUB";
const FIRST_SORT_ID: &str = "AAAAAAAA";
/// The most versions of a set that are compared to find the next latest one.
const MAX_COMPARED: usize = 1000;

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
    /// Makes an asset the latest version in a set, which is created if it is missing. Returns
    /// whether it was not in the set before.
    pub async fn link_version(
        &self,
        caller: &Caller,
        set: &Urn,
        asset: &Urn,
        new: NewVersion,
    ) -> Result<bool, Error> {
        set.expect_type(SET)?;
        let [asset_aspect, set_aspect] = aspects()?;
        let set_type = set.key_parts().get(1).copied().unwrap_or_default();
        if set_type != asset.entity_type() {
            return Err(Error::invalid(format!(
                "{set} has versions of the type {set_type}: {asset} cannot be one"
            )));
        }
        if !Registry::get().check_urn(asset)?.has_aspect(asset_aspect) {
            return Err(Error::invalid(format!("{asset} cannot have versions")));
        }
        if new.tag.trim().is_empty() {
            return Err(Error::invalid("version is empty: name the version"));
        }
        let missing = format!("Failed to link version. {asset} does not exist.");
        self.expect_existing(asset, missing.clone()).await?;
        let ends = [set.clone(), asset.clone()];
        self.authorize_each(caller, PRIVILEGES, &ends).await?;
        let [linked, properties] = self
            .values_of([(asset, asset_aspect), (set, set_aspect)])
            .await?;
        if let Some(linked) = linked {
            return match linked["versionSet"].as_str() {
                Some(other) if other == set.as_str() => Ok(false),
                other => Err(Error::conflict(
                    ConflictReason::AlreadyExists,
                    format!(
                        "{asset} is a version in {} already: unlink it first",
                        other.unwrap_or_default()
                    ),
                )),
            };
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
        let sort_id = match &latest {
            None => FIRST_SORT_ID.to_owned(),
            Some(latest) => {
                let [value] = self.values_of([(latest, asset_aspect)]).await?;
                let last = value.as_ref().and_then(|value| value["sortId"].as_str());
                next_sort_id(last.unwrap_or_default())
            }
        };
        let link = {
            let set = set.clone();
            Proposal::edit_if::<Value, _>(asset.clone(), asset_aspect, move |current, stamp| {
                match current {
                    None => Ok(Some(new.properties(&set, &sort_id, stamp))),
                    Some(_) => Err(changed_meanwhile(&set)),
                }
            })
            .requires_existing(asset, missing)
        };
        let mut proposals = vec![
            link,
            latest_proposal(set, set_aspect, latest.clone(), asset),
        ];
        proposals.extend(latest.map(|latest| mark_latest(latest, asset_aspect, false)));
        self.apply_with_right_on(caller, PRIVILEGES, ends, proposals)
            .await?;
        Ok(true)
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
        let [asset_aspect, set_aspect] = aspects()?;
        let missing = format!("Failed to unlink version. {asset} does not exist.");
        self.expect_existing(asset, missing.clone()).await?;
        let ends = [set.clone(), asset.clone()];
        self.authorize_each(caller, PRIVILEGES, &ends).await?;
        let [linked, properties] = self
            .values_of([(asset, asset_aspect), (set, set_aspect)])
            .await?;
        let Some(linked) = linked else {
            return Ok(false);
        };
        if linked["versionSet"] != set.as_str() {
            return Err(Error::invalid(format!(
                "{asset} is a version in {}, not in {set}",
                linked["versionSet"].as_str().unwrap_or_default()
            )));
        }
        let unlink = Change::DeleteAspect {
            aspect: asset_aspect,
        };
        let mut proposals =
            vec![Proposal::new(asset.clone(), unlink).requires_existing(asset, missing)];
        let latest = properties.as_ref().and_then(latest_of);
        if latest.as_ref() == Some(asset) {
            let next = self.latest_other_version(set, asset, asset_aspect).await?;
            if let Some(next) = next {
                proposals.push(latest_proposal(set, set_aspect, latest, &next));
                proposals.push(mark_latest(next, asset_aspect, true));
            } else {
                proposals.push(unchanged_latest(set, set_aspect, latest));
                proposals.push(Proposal::new(set.clone(), Change::DeleteEntity));
            }
        }
        self.apply_with_right_on(caller, PRIVILEGES, ends, proposals)
            .await?;
        Ok(true)
    }

    /// The version of a set with the highest sort id, other than this one, whether the caller sees
    /// it or not: a set with hidden versions is not empty.
    async fn latest_other_version(
        &self,
        set: &Urn,
        asset: &Urn,
        aspect: AspectName,
    ) -> Result<Option<Urn>, Error> {
        let set = std::slice::from_ref(set);
        let pages = self
            .store()
            .edges_list(set, false, RELATIONSHIP, &[], 0, MAX_COMPARED)
            .await?;
        let members = pages.into_iter().flat_map(|page| page.items);
        let others: Vec<Urn> = members
            .map(|member| member.urn)
            .filter(|urn| urn != asset)
            .collect();
        let keys: Vec<AspectKey> = others
            .iter()
            .map(|urn| AspectKey::new(urn, aspect))
            .collect();
        let rows = self.store().read(ReadRequest::rows(&keys)).await?.rows;
        let sort_id = |row: &Option<_>| {
            let value: Option<Value> = aspect_value(row);
            value.and_then(|value| value["sortId"].as_str().map(str::to_owned))
        };
        let sorted = others.into_iter().zip(rows.iter().map(sort_id));
        Ok(sorted
            .max_by(|(_, one), (_, other)| one.cmp(other))
            .map(|(urn, _)| urn))
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

/// `versionProperties` of assets and `versionSetProperties` of sets.
fn aspects() -> Result<[AspectName; 2], Error> {
    let aspect = |name: &str| {
        let known = Registry::get().aspect(name);
        known.ok_or_else(|| Error::invalid(format!("there is no aspect {name}")))
    };
    Ok([
        aspect("versionProperties")?,
        aspect("versionSetProperties")?,
    ])
}

fn latest_of(properties: &Value) -> Option<Urn> {
    Urn::parse(properties["latest"].as_str()?).ok()
}

fn changed_meanwhile(set: &Urn) -> Error {
    let message = format!("{set} was changed meanwhile: send the request again");
    Error::conflict(ConflictReason::UnexpectedValue, message)
}

/// Sets the latest version of a set, if it still has the one that was read.
fn latest_proposal(set: &Urn, aspect: AspectName, before: Option<Urn>, latest: &Urn) -> Proposal {
    let (of, latest) = (set.clone(), latest.clone());
    Proposal::edit_if::<Value, _>(set.clone(), aspect, move |current, _| {
        if current.as_ref().and_then(latest_of) != before {
            return Err(changed_meanwhile(&of));
        }
        let mut value = current.unwrap_or_else(|| json!({"versioningScheme": SCHEME}));
        value["latest"] = json!(latest);
        Ok(Some(value))
    })
}

/// Writes nothing, and fails if the set no longer has the latest version that was read.
fn unchanged_latest(set: &Urn, aspect: AspectName, before: Option<Urn>) -> Proposal {
    let of = set.clone();
    Proposal::edit_if::<Value, _>(set.clone(), aspect, move |current, _| {
        if current.as_ref().and_then(latest_of) == before {
            Ok(None)
        } else {
            Err(changed_meanwhile(&of))
        }
    })
}

fn mark_latest(asset: Urn, aspect: AspectName, is_latest: bool) -> Proposal {
    Proposal::edit_present::<Value, _>(asset, aspect, move |mut value: Value, _| {
        value["isLatest"] = json!(is_latest);
        Ok(value)
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
