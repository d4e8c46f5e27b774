//! Stewards of domains: users and groups that edit everything in a domain and its subdomains.
//!
//! They are the actors of active policies about one domain. A new steward is added to a policy
//! whose URN follows from the domain, so that concurrent calls edit the same one. Policies that
//! administrators have written for the domain count too.

use std::collections::HashMap;

use docent_model::aspects::{AuditStamp, DomainProperties};
use docent_model::{AspectName, Urn};
use docent_store::{AspectKey, ReadRequest};
use serde_json::{Value, json};

use crate::access::{Policy, read_policies};
use crate::groups::MemberChange;
use crate::limits::fit_name;
use crate::policies::{
    MAX_LISTED, NewPolicy, PolicyActors, PolicyKind, check_editable, policy_value,
};
use crate::privilege::{CREATE_ENTITY, EDIT_ENTITY, MANAGE_POLICIES};
use crate::proposal::Proposal;
use crate::stored::aspect_value;
use crate::{Caller, Catalog, Error};

impl Catalog {
    /// The users and groups that are stewards of each domain, without those of its parents.
    pub async fn stewards_of(&self, domains: &[Urn]) -> Result<Vec<Vec<Urn>>, Error> {
        let policies = self.active_policies().await?;
        let mut by_domain: HashMap<&str, Vec<Urn>> = HashMap::new();
        for policy in policies.iter() {
            let Some(domain) = policy.steward_domain() else {
                continue;
            };
            let stewards = by_domain.entry(domain).or_default();
            for actor in policy.actors.users.iter().chain(&policy.actors.groups) {
                match Urn::parse(actor) {
                    Ok(actor) if !stewards.contains(&actor) => stewards.push(actor),
                    _ => {}
                }
            }
        }
        let of_domain = |domain: &Urn| by_domain.get(domain.as_str()).cloned().unwrap_or_default();
        Ok(domains.iter().map(of_domain).collect())
    }

    /// Makes a user or group a steward of a domain, or removes one. Returns false if there was none
    /// to remove.
    pub async fn change_steward(
        &self,
        caller: &Caller,
        domain: &Urn,
        actor: &Urn,
        change: MemberChange,
    ) -> Result<bool, Error> {
        domain.expect_type("domain")?;
        if !["corpuser", "corpGroup"].contains(&actor.entity_type()) {
            return Err(Error::invalid(format!(
                "{actor} cannot be a steward: send the URN of a user or a group"
            )));
        }
        let entities = [domain.clone(), actor.clone()];
        self.authorize_about(caller, &[MANAGE_POLICIES], &entities)
            .await?;
        let proposals = match change {
            MemberChange::Add => vec![self.addition(domain, actor).await?],
            // A domain that the caller may not see has no stewards, like a missing one.
            MemberChange::Remove if !self.hidden_among([domain]).await?.is_empty() => Vec::new(),
            MemberChange::Remove => self.removals(domain, actor).await?,
        };
        let is_change = !proposals.is_empty();
        self.apply_authorized(caller, proposals).await?;
        Ok(is_change)
    }

    async fn addition(&self, domain: &Urn, actor: &Urn) -> Result<Proposal, Error> {
        let policy = Urn::new(
            "dataHubPolicy",
            &format!("docent-stewards-{}", domain.key()),
        )?;
        let keys = [AspectKey::new(domain, AspectName::DOMAIN_PROPERTIES)];
        let rows = self.reader().read(ReadRequest::rows(&keys)).await?.rows;
        let properties: Option<DomainProperties> = rows.first().and_then(aspect_value);
        let name = properties.map_or_else(|| domain.key().to_owned(), |it| it.name);
        let new = NewPolicy {
            name: fit_name(&format!("Stewards of {name}")),
            description: Some("Stewards edit everything in a domain and its subdomains.".into()),
            kind: PolicyKind::Metadata,
            state: "ACTIVE".to_owned(),
            privileges: [EDIT_ENTITY, CREATE_ENTITY]
                .map(|it| it.name().into())
                .into(),
            actors: PolicyActors::default(),
            resources: Some(json!({"filter": {"criteria": [
                {"field": "DOMAIN", "values": [domain], "condition": "EQUALS"},
            ]}})),
        };
        let missing = |urn: &Urn| format!("Failed to add a steward. {urn} does not exist.");
        Ok(edit(policy, domain, actor, MemberChange::Add, Some(new))
            .requires_existing(domain, missing(domain))
            .requires_existing(actor, missing(actor)))
    }

    async fn removals(&self, domain: &Urn, actor: &Urn) -> Result<Vec<Proposal>, Error> {
        // Not from the cache: on PostgreSQL it may lack a policy that another server just stored.
        let policies = read_policies(self.store()).await?.active;
        let names = |policy: &Policy| {
            let mut actors = policy.actors.users.iter().chain(&policy.actors.groups);
            actors.any(|it| it == actor.as_str())
        };
        let is_of_domain =
            |policy: &Policy| policy.steward_domain() == Some(domain.as_str()) && names(policy);
        Ok(policies
            .into_iter()
            .filter(is_of_domain)
            .map(|policy| {
                let urn = policy.urn;
                edit(urn.clone(), domain, actor, MemberChange::Remove, None).requires_value(
                    &urn,
                    AspectName::POLICY_INFO,
                    check_editable(&urn),
                )
            })
            .collect())
    }
}

/// Changes the stewards of a policy. One that does not exist, is inactive or is not about the
/// domain any more is replaced by `new` or left alone: whoever it names is no steward.
fn edit(
    policy: Urn,
    domain: &Urn,
    actor: &Urn,
    change: MemberChange,
    new: Option<NewPolicy>,
) -> Proposal {
    let (domain, actor) = (domain.clone(), actor.clone());
    let edit = {
        let policy = policy.clone();
        move |current: Option<Value>, stamp: &AuditStamp| {
            let current = current.filter(|value| is_of_domain(&policy, value, &domain));
            let next = current.or_else(|| {
                let new = new.as_ref()?;
                Some(policy_value(new, &json!([]), stamp.time))
            });
            let Some(mut next) = next else {
                return Ok(None);
            };
            let Some(list) = stewards_like(&actor, &mut next) else {
                return Ok(None);
            };
            if !change.apply(list, &actor) {
                return Ok(None);
            }
            if change == MemberChange::Add && list.len() > MAX_LISTED {
                return Err(Error::invalid(format!(
                    "{domain} has {MAX_LISTED} stewards, which is the limit: add a group instead"
                )));
            }
            next["lastUpdatedTimestamp"] = json!(stamp.time);
            Ok(Some(next))
        }
    };
    Proposal::edit_if(policy, AspectName::POLICY_INFO, edit)
}

fn is_of_domain(policy: &Urn, value: &Value, domain: &Urn) -> bool {
    let parsed = Policy::parse(policy.clone(), &value.to_string());
    let parsed = parsed.ok().flatten();
    parsed.is_some_and(|it| it.steward_domain() == Some(domain.as_str()))
}

/// The users of a policy, or the groups if the actor is one.
fn stewards_like<'a>(actor: &Urn, policy: &'a mut Value) -> Option<&'a mut Vec<Value>> {
    let member = match actor.entity_type() {
        "corpGroup" => "groups",
        _ => "users",
    };
    let actors = policy.get_mut("actors")?.as_object_mut()?;
    let list = actors.entry(member).or_insert(Value::Null);
    if list.is_null() {
        *list = json!([]);
    }
    list.as_array_mut()
}
