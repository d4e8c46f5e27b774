//! Which members of an aspect are searched, and under which name: the search annotations, connected.
//!
//! A plan has the steps that lead to a searchable value and no others, so that indexing looks at nothing else. As with
//! relationships, a record has one plan per set of annotations that reach into it from outside, and an annotation
//! on an outer field replaces the one on the value itself. The values are read by [`crate::searchable`].
//!
//! Many records annotate a field of the same name: there is one [`SearchField`] for all of them. To understand one more
//! `fieldType`, add it to [`kind_of`].

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use super::annotation::{Annotation, Target, no_dead_end, through};
use super::load::{LoadError, meaning};
use super::shape::by_length;
use super::source::{Source, SourceRecord, SourceSearch, SourceType};
use crate::searchable::{SearchField, SearchKind};

/// The place of a record's or a union's steps in [`Searches`]; they refer to each other by it, also in circles.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlanId(usize);

/// How to get from a value to those that are searched.
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
struct Step<F = &'static SearchField> {
    name: &'static str,
    plan: Plan<F>,
}

/// The plans of all aspects.
#[derive(Debug)]
pub(crate) struct Searches {
    /// By aspect; aspects without anything searchable are missing.
    roots: HashMap<&'static str, PlanId>,
    /// Each sorted by [`by_length`].
    steps: Vec<Box<[Step]>>,
    /// Sorted by name.
    fields: &'static [SearchField],
    /// By name and by alias.
    by_name: HashMap<&'static str, &'static SearchField>,
}

impl Searches {
    pub(crate) fn root(&self, aspect: &str) -> Option<PlanId> {
        self.roots.get(aspect).copied()
    }

    /// What to do with a member of an object; `None` if nothing in it is searched.
    pub(crate) fn member(&self, id: PlanId, name: &str) -> Option<&Plan> {
        let steps = &self.steps[id.0];
        let at = steps
            .binary_search_by(|step| by_length(step.name, name))
            .ok()?;
        Some(&steps[at].plan)
    }

    pub(crate) fn fields(&self) -> &'static [SearchField] {
        self.fields
    }

    /// The field of this name or alias.
    pub(crate) fn field(&self, name: &str) -> Option<&'static SearchField> {
        self.by_name.get(name).copied()
    }
}

/// A search annotation on its way to its value.
type Searched<'s> = Annotation<&'s SourceSearch>;

impl Target for &SourceSearch {
    fn words(self) -> String {
        match self.field_name {
            Some(name) => format!("the search field {name}"),
            None => "a search field".to_owned(),
        }
    }
}

/// Makes the plans of all aspects. The types must have been checked before.
pub(super) fn compile(source: &Source) -> Result<Searches, LoadError> {
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

/// Where a value stands: a field, or an item or value of the list or map in it.
#[derive(Clone, Copy)]
struct Place {
    record: &'static str,
    field: &'static str,
    is_urn: bool,
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.record, self.field)
    }
}

/// What a plan says before all fields of one name are known.
type Draft = Plan<&'static str>;

struct Planner<'s> {
    source: &'s Source,
    drafts: Vec<Vec<Step<&'static str>>>,
    /// The plans of each record, by the annotations that reach into it.
    known: HashMap<&'static str, Vec<(Vec<Searched<'s>>, PlanId)>>,
    fields: BTreeMap<&'static str, SearchField>,
    /// How often each alias was given to each field.
    aliases: BTreeMap<&'static str, BTreeMap<&'static str, usize>>,
}

impl<'s> Planner<'s> {
    fn record(&mut self, name: &'static str, outer: &[Searched<'s>]) -> Result<PlanId, LoadError> {
        let plans = self.known.entry(name).or_default();
        if let Some((_, id)) = plans.iter().find(|(annotations, _)| annotations == outer) {
            return Ok(*id);
        }
        // The place is taken before the fields are planned, so that a record may contain itself.
        let id = PlanId(self.drafts.len());
        plans.push((outer.to_vec(), id));
        self.drafts.push(Vec::new());
        let source = self.source;
        let Some(SourceRecord::Fields(fields)) = source.records.get(name) else {
            return Err(meaning(format!("record {name}"), "does not exist"));
        };
        no_dead_end(outer, name, |step| fields.contains_key(step))?;
        let mut steps = Vec::new();
        for (&field_name, field) in fields {
            // The outermost annotation comes first and wins: it knows where the record is used.
            let mut annotations = through(outer, field_name);
            let own = field.searchable.0.iter();
            annotations.extend(own.map(|(path, target)| Annotation { path, target }));
            let place = Place {
                record: name,
                field: field_name,
                is_urn: field.urn || !field.relationship.0.is_empty(),
            };
            if let Some(plan) = self.plan(&field.shape, &annotations, place)? {
                steps.push(Step {
                    name: field_name,
                    plan,
                });
            }
        }
        self.drafts[id.0] = steps;
        Ok(id)
    }

    fn plan(
        &mut self,
        shape: &'s SourceType,
        annotations: &[Searched<'s>],
        place: Place,
    ) -> Result<Option<Draft>, LoadError> {
        if let SourceType::Array(_) | SourceType::Map(_) = shape
            && let Some(count) = annotations.iter().find(|annotation| {
                annotation.path.is_empty() && annotation.target.field_type == Some("COUNT")
            })
        {
            let name = self.field(count.target, SearchKind::Count, place)?;
            return Ok(Some(Plan::Value(name)));
        }
        match shape {
            SourceType::Named(name) if self.is_record(name) => {
                let id = self.record(name, annotations)?;
                Ok(Some(Plan::Members(id)))
            }
            SourceType::Named(name) => {
                // A path may lead on from here: some annotations of single values are written as if they were lists.
                let Some(annotation) = annotations.first() else {
                    return Ok(None);
                };
                let kind = kind_of(annotation.target, || self.natural_kind(name, place), place)?;
                Ok(Some(Plan::Value(self.field(
                    annotation.target,
                    kind,
                    place,
                )?)))
            }
            SourceType::Array(items) => {
                no_dead_end(annotations, place, |step| step == "*")?;
                self.each(items, annotations, place)
            }
            SourceType::Map(values) => {
                if self.is_flat(values)
                    && let Some(annotation) = annotations
                        .iter()
                        .find(|annotation| matches!(annotation.path, "" | "/*" | "/$key"))
                {
                    let name = self.field(annotation.target, SearchKind::Map, place)?;
                    return Ok(Some(Plan::Entries(name)));
                }
                no_dead_end(annotations, place, |step| step == "*")?;
                self.each(values, annotations, place)
            }
            SourceType::Union(members) => self.union(members, annotations, place).map(Some),
        }
    }

    fn each(
        &mut self,
        inner: &'s SourceType,
        annotations: &[Searched<'s>],
        place: Place,
    ) -> Result<Option<Draft>, LoadError> {
        let plan = self.plan(inner, &through(annotations, "*"), place)?;
        Ok(plan.map(|plan| Plan::Each(Box::new(plan))))
    }

    /// A union is an object whose one member is named after its type.
    fn union(
        &mut self,
        members: &'s [SourceType],
        annotations: &[Searched<'s>],
        place: Place,
    ) -> Result<Draft, LoadError> {
        no_dead_end(annotations, place, |step| {
            members
                .iter()
                .any(|member| matches!(member, SourceType::Named(name) if *name == step))
        })?;
        let mut steps = Vec::new();
        for member in members {
            if let SourceType::Named(name) = member
                && let Some(plan) = self.plan(member, &through(annotations, name), place)?
            {
                steps.push(Step { name, plan });
            }
        }
        let id = PlanId(self.drafts.len());
        self.drafts.push(steps);
        Ok(Plan::Members(id))
    }

    fn is_record(&self, name: &str) -> bool {
        matches!(self.source.records.get(name), Some(SourceRecord::Fields(_)))
    }

    /// Whether the value of a map can stand behind its key in a text.
    fn is_flat(&self, values: &SourceType) -> bool {
        match values {
            SourceType::Named(name) => !self.is_record(name),
            SourceType::Array(items) => {
                matches!(&**items, SourceType::Named(name) if !self.is_record(name))
            }
            SourceType::Map(_) | SourceType::Union(_) => false,
        }
    }

    /// The kind of a value whose annotation does not say it.
    fn natural_kind(&self, type_name: &str, place: Place) -> SearchKind {
        match type_name {
            "boolean" => SearchKind::Boolean,
            "int" | "long" => SearchKind::Count,
            "float" | "double" => SearchKind::Double,
            // The symbols of an enum are chosen from a list, not looked for by their words.
            name if self.source.records.contains_key(name) => SearchKind::Keyword,
            _ if place.is_urn => SearchKind::Urn,
            _ => SearchKind::Text,
        }
    }

    /// Notes an annotation under the name of its field, which is given back.
    fn field(
        &mut self,
        annotation: &SourceSearch,
        kind: SearchKind,
        place: Place,
    ) -> Result<&'static str, LoadError> {
        let field = search_field(annotation, kind, place);
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
            Some(known) => merge(known, &field)
                .map_err(|problem| meaning(place.to_string(), format!("{problem}; rename one")))?,
        }
        Ok(name)
    }

    /// The plans without the steps that lead nowhere.
    fn finish(self, mut roots: HashMap<&'static str, PlanId>) -> Searches {
        let fields: &'static [SearchField] = self.fields.into_values().collect::<Vec<_>>().leak();
        let mut by_name: HashMap<_, _> = fields.iter().map(|field| (field.name, field)).collect();
        for (alias, uses) in self.aliases {
            // Several fields share an alias where each kind of entity calls its name differently.
            let most = uses.into_iter().max_by_key(|&(_, uses)| uses);
            if let Some(field) = most.and_then(|(name, _)| by_name.get(name).copied()) {
                by_name.entry(alias).or_insert(field);
            }
        }
        // Records may contain each other in circles, so usefulness spreads until nothing changes.
        let mut useful = vec![false; self.drafts.len()];
        loop {
            let next: Vec<bool> = self
                .drafts
                .iter()
                .map(|steps| steps.iter().any(|step| step.plan.is_useful(&useful)))
                .collect();
            if next == useful {
                break;
            }
            useful = next;
        }
        let steps = self.drafts.into_iter().map(|steps| {
            let mut kept: Vec<Step> = steps
                .into_iter()
                .filter(|step| step.plan.is_useful(&useful))
                .filter_map(|step| {
                    Some(Step {
                        name: step.name,
                        plan: step.plan.resolve(&by_name)?,
                    })
                })
                .collect();
            kept.sort_unstable_by(|one, other| by_length(one.name, other.name));
            kept.into_boxed_slice()
        });
        let steps = steps.collect();
        roots.retain(|_, id| useful[id.0]);
        Searches {
            roots,
            steps,
            fields,
            by_name,
        }
    }
}

impl Draft {
    /// Whether something searchable stands in here, given the objects that are known to have some.
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

/// The kind that an annotation names, or else the natural one.
fn kind_of(
    annotation: &SourceSearch,
    natural: impl FnOnce() -> SearchKind,
    place: Place,
) -> Result<SearchKind, LoadError> {
    Ok(match annotation.field_type {
        None => natural(),
        Some("TEXT" | "TEXT_PARTIAL" | "WORD_GRAM") => SearchKind::Text,
        Some("KEYWORD" | "BROWSE_PATH" | "BROWSE_PATH_V2") => SearchKind::Keyword,
        Some("URN" | "URN_PARTIAL") => SearchKind::Urn,
        Some("BOOLEAN") => SearchKind::Boolean,
        Some("COUNT") => SearchKind::Count,
        Some("DATETIME") => SearchKind::DateTime,
        Some("DOUBLE") => SearchKind::Double,
        Some(other) => {
            let problem = format!("has the unknown search fieldType {other}");
            return Err(meaning(place.to_string(), problem));
        }
    })
}

/// The field as one annotation describes it.
fn search_field(annotation: &SourceSearch, kind: SearchKind, place: Place) -> SearchField {
    let name = annotation.field_name.unwrap_or(place.field);
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

/// Makes a field also what another annotation says of it. An error says why it cannot be both.
fn merge(field: &mut SearchField, other: &SearchField) -> Result<(), String> {
    let name = field.name;
    field.kind = common_kind(field.kind, other.kind).ok_or_else(|| {
        let (here, elsewhere) = (other.kind, field.kind);
        format!("makes the search field {name} a {here:?} where others make it a {elsewhere:?}")
    })?;
    field.has_values = match (field.has_values, other.has_values) {
        (Some(one), Some(another)) if one != another => {
            return Err(format!(
                "notes values of the search field {name} in {another} where others note them in {one}"
            ));
        }
        (one, another) => one.or(another),
    };
    field.filter_label = match (field.filter_label, other.filter_label) {
        // No label of one record fits the values of the others.
        (Some(one), Some(another)) if one != another => Some(label(name)),
        (one, another) => one.or(another),
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

/// The kind that can do what both can; `None` if their values differ in type.
fn common_kind(one: SearchKind, other: SearchKind) -> Option<SearchKind> {
    use SearchKind::{Count, DateTime, Keyword, Text, Urn};
    match (one, other) {
        _ if one == other => Some(one),
        (Text, Keyword | Urn) | (Keyword | Urn, Text) => Some(Text),
        (Urn, Keyword) | (Keyword, Urn) => Some(Urn),
        (Count, DateTime) | (DateTime, Count) => Some(DateTime),
        _ => None,
    }
}

/// A field's name in words: `sourceType` is "Source Type".
fn label(name: &str) -> &'static str {
    let mut words = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if words.is_empty() {
            words.extend(letter.to_uppercase());
            continue;
        }
        if letter.is_uppercase() {
            words.push(' ');
        }
        words.push(letter);
    }
    words.leak()
}
