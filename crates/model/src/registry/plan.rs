//! Compiles search annotations into plans: which members of an aspect are searched, and as which
//! field.
//!
//! A plan contains only the members that lead to a searchable value, so that indexing skips
//! everything else. As with relationships, a record has one plan per set of annotations from outer
//! fields, and an annotation on an outer field overrides one on the value itself.
//! [`crate::searchable`] reads the values.
//!
//! Records that annotate a field with the same name share one [`SearchField`]. To support another
//! `fieldType`, add it to [`kind_of`].

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

use super::annotation::{Annotation, Target, check_paths, descend};
use super::load::{LoadError, invalid};
use super::shape::by_length;
use super::source::{Source, SourceRecord, SourceSearch, SourceType};
use crate::search_field::{SearchField, SearchKind};

/// The index of the members of a record or union in [`SearchPlans`]. Plans may be recursive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlanId(usize);

/// How to find the searchable values inside a value.
#[derive(Debug)]
pub(crate) enum Plan<F = &'static SearchField> {
    /// The value itself.
    Value(F),
    /// Each entry of a map.
    Entries(F),
    /// The items of a list, or the values of a map.
    Each(Box<Plan<F>>),
    /// Some members of an object.
    Members(PlanId),
}

#[derive(Debug)]
struct MemberPlan<F = &'static SearchField> {
    name: &'static str,
    plan: Plan<F>,
}

/// The plans of all aspects.
#[derive(Debug)]
pub(crate) struct SearchPlans {
    /// By aspect; aspects without searchable values are absent.
    roots: HashMap<&'static str, PlanId>,
    /// Each sorted by [`by_length`].
    members: Vec<Box<[MemberPlan]>>,
    /// Sorted by name.
    fields: &'static [SearchField],
    /// By name and by alias.
    by_name: HashMap<&'static str, &'static SearchField>,
}

impl SearchPlans {
    pub(crate) fn root(&self, aspect: &str) -> Option<PlanId> {
        self.roots.get(aspect).copied()
    }

    /// The plan of a member; `None` if it contains nothing searchable.
    pub(crate) fn member(&self, id: PlanId, name: &str) -> Option<&Plan> {
        let members = &self.members[id.0];
        let index = members
            .binary_search_by(|member| by_length(member.name, name))
            .ok()?;
        Some(&members[index].plan)
    }

    pub(crate) fn fields(&self) -> &'static [SearchField] {
        self.fields
    }

    /// Calls `found` for each value of an aspect, once for each place where it may be.
    pub(crate) fn each_field(&self, aspect: &str, found: &mut dyn FnMut(&'static SearchField)) {
        let mut pending: Vec<PlanId> = self.root(aspect).into_iter().collect();
        let mut seen: HashSet<usize> = pending.iter().map(|id| id.0).collect();
        while let Some(id) = pending.pop() {
            for member in &self.members[id.0] {
                let mut plan = &member.plan;
                while let Plan::Each(inner) = plan {
                    plan = inner;
                }
                match plan {
                    Plan::Value(field) | Plan::Entries(field) => found(field),
                    Plan::Members(id) if seen.insert(id.0) => pending.push(*id),
                    Plan::Members(_) | Plan::Each(_) => {}
                }
            }
        }
    }

    /// The field of this name or alias.
    pub(crate) fn field(&self, name: &str) -> Option<&'static SearchField> {
        self.by_name.get(name).copied()
    }
}

type SearchAnnotation<'s> = Annotation<&'s SourceSearch>;

impl Target for &SourceSearch {
    fn describe(self) -> String {
        match self.field_name {
            Some(name) => format!("the search field {name}"),
            None => "a search field".to_owned(),
        }
    }
}

/// Compiles the plans of all aspects. The types must have been checked before.
pub(super) fn compile(source: &Source) -> Result<SearchPlans, LoadError> {
    let mut planner = Planner {
        source,
        drafts: Vec::new(),
        known: HashMap::new(),
        fields: BTreeMap::new(),
        aliases: BTreeMap::new(),
    };
    let mut roots = HashMap::with_capacity(source.aspects.len());
    for (&name, aspect) in &source.aspects {
        roots.insert(name, planner.record(aspect.record, &[])?);
    }
    Ok(planner.finish(roots))
}

/// The field that contains a value.
#[derive(Clone, Copy)]
struct FieldLocation {
    record: &'static str,
    field: &'static str,
    is_urn: bool,
}

impl fmt::Display for FieldLocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.record, self.field)
    }
}

/// A plan with field names, before the fields are merged.
type Draft = Plan<&'static str>;

struct Planner<'s> {
    source: &'s Source,
    drafts: Vec<Vec<MemberPlan<&'static str>>>,
    /// The plans of each record, by the annotations from outer fields.
    known: HashMap<&'static str, Vec<(Vec<SearchAnnotation<'s>>, PlanId)>>,
    fields: BTreeMap<&'static str, SearchField>,
    /// How often each alias is used for each field.
    aliases: BTreeMap<&'static str, BTreeMap<&'static str, usize>>,
}

impl<'s> Planner<'s> {
    fn record(
        &mut self,
        name: &'static str,
        outer: &[SearchAnnotation<'s>],
    ) -> Result<PlanId, LoadError> {
        let plans = self.known.entry(name).or_default();
        if let Some((_, id)) = plans.iter().find(|(annotations, _)| annotations == outer) {
            return Ok(*id);
        }
        // Reserve the id first, so that a record may contain itself.
        let id = PlanId(self.drafts.len());
        plans.push((outer.to_vec(), id));
        self.drafts.push(Vec::new());
        let source = self.source;
        let Some(SourceRecord::Fields(fields)) = source.records.get(name) else {
            return Err(invalid(format!("record {name}"), "does not exist"));
        };
        check_paths(outer, name, |segment| fields.contains_key(segment))?;
        let mut members = Vec::new();
        for (&field_name, field) in fields {
            // The outermost annotation takes precedence, because it knows where the record is used.
            let mut annotations = descend(outer, field_name);
            let own = field.searchable.0.iter();
            annotations.extend(own.map(|(path, target)| Annotation { path, target }));
            let location = FieldLocation {
                record: name,
                field: field_name,
                is_urn: field.urn || !field.relationship.0.is_empty(),
            };
            if let Some(plan) = self.plan(&field.shape, &annotations, location)? {
                members.push(MemberPlan {
                    name: field_name,
                    plan,
                });
            }
        }
        self.drafts[id.0] = members;
        Ok(id)
    }

    fn plan(
        &mut self,
        shape: &'s SourceType,
        annotations: &[SearchAnnotation<'s>],
        location: FieldLocation,
    ) -> Result<Option<Draft>, LoadError> {
        if let SourceType::Array(_) | SourceType::Map(_) = shape
            && let Some(count) = annotations.iter().find(|annotation| {
                annotation.path.is_empty() && annotation.target.field_type == Some("COUNT")
            })
        {
            let name = self.field(count.target, SearchKind::Count, location)?;
            return Ok(Some(Plan::Value(name)));
        }
        match shape {
            SourceType::Named(name) if self.is_record(name) => {
                let id = self.record(name, annotations)?;
                Ok(Some(Plan::Members(id)))
            }
            SourceType::Named(name) => {
                // Ignore the rest of the path: some annotations address a single value as if it
                // were a list.
                let Some(annotation) = annotations.first() else {
                    return Ok(None);
                };
                let kind = kind_of(
                    annotation.target,
                    || self.default_kind(name, location),
                    location,
                )?;
                Ok(Some(Plan::Value(self.field(
                    annotation.target,
                    kind,
                    location,
                )?)))
            }
            SourceType::Array(items) => {
                check_paths(annotations, location, |segment| segment == "*")?;
                self.each(items, annotations, location)
            }
            SourceType::Map(values) => {
                if self.is_flat(values)
                    && let Some(annotation) = annotations
                        .iter()
                        .find(|annotation| matches!(annotation.path, "" | "/*" | "/$key"))
                {
                    let name = self.field(annotation.target, SearchKind::Map, location)?;
                    return Ok(Some(Plan::Entries(name)));
                }
                check_paths(annotations, location, |segment| segment == "*")?;
                self.each(values, annotations, location)
            }
            SourceType::Union(members) => self.union(members, annotations, location).map(Some),
        }
    }

    fn each(
        &mut self,
        inner: &'s SourceType,
        annotations: &[SearchAnnotation<'s>],
        location: FieldLocation,
    ) -> Result<Option<Draft>, LoadError> {
        let plan = self.plan(inner, &descend(annotations, "*"), location)?;
        Ok(plan.map(|plan| Plan::Each(Box::new(plan))))
    }

    /// A union is an object with one member, named after its type.
    fn union(
        &mut self,
        members: &'s [SourceType],
        annotations: &[SearchAnnotation<'s>],
        location: FieldLocation,
    ) -> Result<Draft, LoadError> {
        check_paths(annotations, location, |segment| {
            members
                .iter()
                .any(|member| matches!(member, SourceType::Named(name) if *name == segment))
        })?;
        let mut plans = Vec::new();
        for member in members {
            if let SourceType::Named(name) = member
                && let Some(plan) = self.plan(member, &descend(annotations, name), location)?
            {
                plans.push(MemberPlan { name, plan });
            }
        }
        let id = PlanId(self.drafts.len());
        self.drafts.push(plans);
        Ok(Plan::Members(id))
    }

    fn is_record(&self, name: &str) -> bool {
        matches!(self.source.records.get(name), Some(SourceRecord::Fields(_)))
    }

    /// Whether map values can be indexed as `key=value`.
    fn is_flat(&self, values: &SourceType) -> bool {
        match values {
            SourceType::Named(name) => !self.is_record(name),
            SourceType::Array(items) => {
                matches!(&**items, SourceType::Named(name) if !self.is_record(name))
            }
            SourceType::Map(_) | SourceType::Union(_) => false,
        }
    }

    /// The kind of a value without an explicit `fieldType`.
    fn default_kind(&self, type_name: &str, location: FieldLocation) -> SearchKind {
        match type_name {
            "boolean" => SearchKind::Boolean,
            "int" | "long" => SearchKind::Count,
            "float" | "double" => SearchKind::Double,
            // Enum symbols are selected from a list, not searched by words.
            name if self.source.records.contains_key(name) => SearchKind::Keyword,
            _ if location.is_urn => SearchKind::Urn,
            _ => SearchKind::Text,
        }
    }

    /// Adds an annotation to its field and returns the name of the field.
    fn field(
        &mut self,
        annotation: &SourceSearch,
        kind: SearchKind,
        location: FieldLocation,
    ) -> Result<&'static str, LoadError> {
        let field = search_field(annotation, kind, location);
        let name = field.name;
        for alias in &field.aliases {
            *self
                .aliases
                .entry(alias)
                .or_default()
                .entry(name)
                .or_default() += 1;
        }
        match self.fields.get_mut(name) {
            None => {
                self.fields.insert(name, field);
            }
            Some(existing) => merge(existing, &field).map_err(|problem| {
                invalid(location.to_string(), format!("{problem}; rename one"))
            })?,
        }
        Ok(name)
    }

    /// Resolves the fields and removes members without searchable values.
    fn finish(self, mut roots: HashMap<&'static str, PlanId>) -> SearchPlans {
        let fields: &'static [SearchField] = self.fields.into_values().collect::<Vec<_>>().leak();
        let mut by_name: HashMap<_, _> = fields.iter().map(|field| (field.name, field)).collect();
        for (alias, uses) in self.aliases {
            // Several fields share an alias if entity types use different field names.
            let most = uses.into_iter().max_by_key(|&(_, uses)| uses);
            if let Some(field) = most.and_then(|(name, _)| by_name.get(name).copied()) {
                by_name.entry(alias).or_insert(field);
            }
        }
        // Records may be recursive, so iterate to a fixed point.
        let mut useful = vec![false; self.drafts.len()];
        loop {
            let next: Vec<bool> = self
                .drafts
                .iter()
                .map(|members| members.iter().any(|member| member.plan.is_useful(&useful)))
                .collect();
            if next == useful {
                break;
            }
            useful = next;
        }
        let members = self.drafts.into_iter().map(|members| {
            let mut useful_members: Vec<MemberPlan> = members
                .into_iter()
                .filter(|member| member.plan.is_useful(&useful))
                .filter_map(|member| {
                    Some(MemberPlan {
                        name: member.name,
                        plan: member.plan.resolve(&by_name)?,
                    })
                })
                .collect();
            useful_members.sort_unstable_by(|left, right| by_length(left.name, right.name));
            useful_members.into_boxed_slice()
        });
        let members = members.collect();
        roots.retain(|_, id| useful[id.0]);
        SearchPlans {
            roots,
            members,
            fields,
            by_name,
        }
    }
}

impl Draft {
    /// Whether it leads to a searchable value, given the objects that do.
    fn is_useful(&self, useful: &[bool]) -> bool {
        match self {
            Self::Value(_) | Self::Entries(_) => true,
            Self::Each(inner) => inner.is_useful(useful),
            Self::Members(id) => useful[id.0],
        }
    }

    fn resolve(self, fields: &HashMap<&'static str, &'static SearchField>) -> Option<Plan> {
        Some(match self {
            Self::Value(name) => Plan::Value(fields.get(name)?),
            Self::Entries(name) => Plan::Entries(fields.get(name)?),
            Self::Each(inner) => Plan::Each(Box::new(inner.resolve(fields)?)),
            Self::Members(id) => Plan::Members(id),
        })
    }
}

/// The kind given by the annotation, or the default.
fn kind_of(
    annotation: &SourceSearch,
    default: impl FnOnce() -> SearchKind,
    location: FieldLocation,
) -> Result<SearchKind, LoadError> {
    Ok(match annotation.field_type {
        None => default(),
        Some("TEXT" | "TEXT_PARTIAL" | "WORD_GRAM") => SearchKind::Text,
        Some("KEYWORD" | "BROWSE_PATH" | "BROWSE_PATH_V2") => SearchKind::Keyword,
        Some("URN" | "URN_PARTIAL") => SearchKind::Urn,
        Some("BOOLEAN") => SearchKind::Boolean,
        Some("COUNT") => SearchKind::Count,
        Some("DATETIME") => SearchKind::DateTime,
        Some("DOUBLE") => SearchKind::Double,
        Some(other) => {
            let problem = format!("has the unknown search fieldType {other}");
            return Err(invalid(location.to_string(), problem));
        }
    })
}

/// The field described by one annotation.
fn search_field(
    annotation: &SourceSearch,
    kind: SearchKind,
    location: FieldLocation,
) -> SearchField {
    let name = annotation.field_name.unwrap_or(location.field);
    SearchField {
        name,
        kind,
        aliases: annotation.field_name_aliases.clone(),
        boost: annotation.boost_score.unwrap_or(1.0),
        query_by_default: annotation
            .query_by_default
            .unwrap_or(matches!(kind, SearchKind::Text | SearchKind::Urn)),
        autocomplete: annotation.enable_autocomplete,
        filter_label: annotation.add_to_filters.then(|| {
            annotation
                .filter_name_override
                .unwrap_or_else(|| label(name))
        }),
        has_values: annotation.has_values_field_name,
        rich_text: annotation.sanitize_rich_text,
    }
}

/// Merges another annotation into a field. Fails if they conflict.
fn merge(field: &mut SearchField, other: &SearchField) -> Result<(), String> {
    let name = field.name;
    field.kind = common_kind(field.kind, other.kind).ok_or_else(|| {
        let (kind, existing) = (other.kind, field.kind);
        format!("makes the search field {name} a {kind:?}, but others make it a {existing:?}")
    })?;
    field.has_values = match (field.has_values, other.has_values) {
        (Some(existing), Some(new)) if existing != new => {
            return Err(format!(
                "has the hasValues field {new} for the search field {name}, but others have {existing}"
            ));
        }
        (existing, new) => existing.or(new),
    };
    field.filter_label = match (field.filter_label, other.filter_label) {
        // With different labels, none fits all records.
        (Some(existing), Some(new)) if existing != new => Some(label(name)),
        (existing, new) => existing.or(new),
    };
    for alias in &other.aliases {
        if !field.aliases.contains(alias) {
            field.aliases.push(alias);
        }
    }
    field.boost = field.boost.max(other.boost);
    field.query_by_default |= other.query_by_default;
    field.autocomplete |= other.autocomplete;
    field.rich_text |= other.rich_text;
    Ok(())
}

/// The kind that supports both; `None` if their values differ in type.
fn common_kind(left: SearchKind, right: SearchKind) -> Option<SearchKind> {
    use SearchKind::{Count, DateTime, Keyword, Text, Urn};
    match (left, right) {
        _ if left == right => Some(left),
        (Text, Keyword | Urn) | (Keyword | Urn, Text) => Some(Text),
        (Urn, Keyword) | (Keyword, Urn) => Some(Urn),
        (Count, DateTime) | (DateTime, Count) => Some(DateTime),
        _ => None,
    }
}

/// The label of a field.
fn label(name: &str) -> &'static str {
    in_words(name).leak()
}

/// A name in words: `sourceType` is "Source Type".
pub fn in_words(name: &str) -> String {
    let mut words = String::with_capacity(name.len() + 4);
    for character in name.chars() {
        if words.is_empty() {
            words.extend(character.to_uppercase());
            continue;
        }
        if character.is_uppercase() {
            words.push(' ');
        }
        words.push(character);
    }
    words
}
