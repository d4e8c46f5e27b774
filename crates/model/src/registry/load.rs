//! Compiles `registry.json`: resolves types to records and relationship paths to URNs.
//!
//! Rejects inconsistent data with its location, so that the rest of the crate can rely on every
//! shape.

use std::collections::{HashMap, HashSet};

use super::annotation::{Annotation, Target, check_paths, descend};
use super::lineage::LineageSpec;
use super::plan;
use super::shape::{Field, Member, Record, RecordId, Relationship, Shape, by_length};
use super::source::{Source, SourceEntity, SourceRecord, SourceType};
use super::{AspectSpec, EntitySpec, Registry};
use crate::AspectName;

/// An error in the registry's data.
#[derive(Debug, thiserror::Error)]
pub(super) enum LoadError {
    #[error("the registry cannot be read: {0}")]
    Syntax(#[from] serde_json::Error),
    #[error("the registry's {location} {problem}")]
    Invalid { location: String, problem: String },
}

pub(super) fn invalid(location: impl Into<String>, problem: impl Into<String>) -> LoadError {
    LoadError::Invalid {
        location: location.into(),
        problem: problem.into(),
    }
}

/// Loads a registry from its JSON text, and the internal types from another.
pub(super) fn load(text: &'static str, internal: &'static str) -> Result<Registry, LoadError> {
    let mut source: Source = serde_json::from_str(text)?;
    let internal: Source = serde_json::from_str(internal)?;
    let internal_entities: HashSet<&str> = internal.entities.keys().copied().collect();
    let internal_aspects: HashSet<&str> = internal.aspects.keys().copied().collect();
    source.entities.extend(internal.entities);
    source.aspects.extend(internal.aspects);
    source.records.extend(internal.records);
    let mut compiler = Compiler {
        source: &source,
        records: Vec::new(),
        known: HashMap::new(),
    };
    let mut aspects = HashMap::with_capacity(source.aspects.len());
    for (&name, aspect) in &source.aspects {
        let spec = AspectSpec {
            name: AspectName::from_static(name),
            record_name: aspect.record,
            record: compiler.record(aspect.record, &[])?,
            is_timeseries: aspect.kind == Some("timeseries"),
            internal: internal_aspects.contains(name),
        };
        aspects.insert(name, spec);
    }
    let mut entities = Vec::with_capacity(source.entities.len());
    let mut internal_entities_by_name = HashMap::new();
    for (&name, entity) in &source.entities {
        let spec = &*Box::leak(Box::new(compiler.entity(name, entity)?));
        if internal_entities.contains(name) {
            internal_entities_by_name.insert(name, spec);
        } else {
            entities.push(spec);
        }
    }
    let records = compiler.finish()?;
    let mut relationships = HashSet::new();
    for field in records.iter().flat_map(|record| &record.fields) {
        field.shape.add_relationships(&mut relationships);
    }
    let lineage = LineageSpec::collect(aspects.values(), &records);
    Ok(Registry {
        entities_by_name: entities
            .iter()
            .map(|entity| (entity.name, *entity))
            .collect(),
        entities,
        internal_entities: internal_entities_by_name,
        aspects,
        records,
        relationships,
        search_plans: plan::compile(&source)?,
        lineage,
    })
}

impl Target for &'static Relationship {
    fn describe(self) -> String {
        format!("the relationship {}", self.name)
    }
}

type RelationshipAnnotation = Annotation<&'static Relationship>;

struct Compiler<'s> {
    source: &'s Source,
    /// `None` while a record is being compiled.
    records: Vec<Option<Record>>,
    /// A record is compiled once per set of annotations from outer fields.
    known: HashMap<(&'static str, Vec<RelationshipAnnotation>), RecordId>,
}

impl Compiler<'_> {
    fn entity(
        &mut self,
        name: &'static str,
        entity: &SourceEntity,
    ) -> Result<EntitySpec, LoadError> {
        let source = self.source;
        let aspect = |aspect_name: &'static str| {
            if source.aspects.contains_key(aspect_name) {
                Ok(AspectName::from_static(aspect_name))
            } else {
                let problem = format!("names the unknown aspect {aspect_name}");
                Err(invalid(format!("entity {name}"), problem))
            }
        };
        let key_aspect = aspect(entity.key_aspect)?;
        let aspects = entity
            .aspects
            .iter()
            .map(|aspect_name| aspect(aspect_name))
            .collect::<Result<Vec<_>, _>>()?;
        let record_name = source.aspects[entity.key_aspect].record;
        let Some(SourceRecord::Fields(fields)) = source.records.get(record_name) else {
            return Err(invalid(
                format!("entity {name}"),
                "has a key that is not a record",
            ));
        };
        if fields.len() != entity.key_fields.len() {
            let problem = "does not list exactly the fields of its key";
            return Err(invalid(format!("entity {name}"), problem));
        }
        let key = self.record(record_name, &[])?;
        for field in &entity.key_fields {
            let is_text = fields.get(field).is_some_and(|field| match field.shape {
                SourceType::Named("string") => true,
                SourceType::Named(name) => {
                    matches!(source.records.get(name), Some(SourceRecord::Symbols(_)))
                }
                _ => false,
            });
            if !is_text {
                let problem = format!("has the key field {field}, which cannot be part of a URN");
                return Err(invalid(format!("entity {name}"), problem));
            }
        }
        Ok(EntitySpec {
            name,
            key_aspect,
            key_fields: entity.key_fields.clone(),
            members: aspects
                .iter()
                .copied()
                .chain([key_aspect])
                .collect::<HashSet<_>>(),
            aspects,
            key,
        })
    }

    fn record(
        &mut self,
        name: &'static str,
        outer: &[RelationshipAnnotation],
    ) -> Result<RecordId, LoadError> {
        if let Some(&id) = self.known.get(&(name, outer.to_vec())) {
            return Ok(id);
        }
        let source = self.source;
        let Some(SourceRecord::Fields(source_fields)) = source.records.get(name) else {
            return Err(invalid(format!("record {name}"), "does not exist"));
        };
        check_paths(outer, name, |segment| source_fields.contains_key(segment))?;
        // Reserve the id first, so that a record may contain itself.
        let id = RecordId(self.records.len());
        self.records.push(None);
        self.known.insert((name, outer.to_vec()), id);
        let mut fields = Vec::with_capacity(source_fields.len());
        for (&field_name, field) in source_fields {
            let location = format!("{name}/{field_name}");
            // The outermost annotation takes precedence, because it knows where the record is used.
            let mut annotations = descend(outer, field_name);
            annotations.extend(field.relationship.0.iter().map(|own| Annotation {
                path: own.path,
                target: own.target,
            }));
            fields.push(Field {
                name: field_name,
                shape: self.shape(&field.shape, field.urn, &annotations, &location)?,
                optional: field.optional,
                required: !field.optional && !field.has_default,
            });
        }
        fields.sort_unstable_by(|left, right| by_length(left.name, right.name));
        self.records[id.0] = Some(Record {
            required: fields.iter().filter(|field| field.required).count(),
            fields: fields.into_boxed_slice(),
            related: Box::default(),
        });
        Ok(id)
    }

    fn shape(
        &mut self,
        source: &SourceType,
        is_urn: bool,
        annotations: &[RelationshipAnnotation],
        location: &str,
    ) -> Result<Shape, LoadError> {
        let name = match source {
            SourceType::Named(name) => *name,
            SourceType::Array(items) => {
                check_paths(annotations, location, |segment| segment == "*")?;
                let items = self.shape(items, is_urn, &descend(annotations, "*"), location)?;
                return Ok(Shape::Array(Box::new(items)));
            }
            SourceType::Map(values) => {
                check_paths(annotations, location, |segment| segment == "*")?;
                let values = self.shape(values, is_urn, &descend(annotations, "*"), location)?;
                return Ok(Shape::Map(Box::new(values)));
            }
            SourceType::Union(members) => return self.union(members, annotations, location),
        };
        if name == "string" {
            let unresolved: Vec<RelationshipAnnotation> = annotations
                .iter()
                .copied()
                .filter(|annotation| !annotation.path.is_empty())
                .collect();
            check_paths(&unresolved, location, |_| false)?;
            return Ok(match annotations.first() {
                Some(annotation) => Shape::Urn(Some(annotation.target)),
                None if is_urn => Shape::Urn(None),
                None => Shape::Text,
            });
        }
        if let Some(SourceRecord::Fields(_)) = self.source.records.get(name) {
            return Ok(Shape::Record(self.record(name, annotations)?));
        }
        check_paths(annotations, location, |_| false)?;
        match (name, self.source.records.get(name)) {
            (_, Some(SourceRecord::Symbols(symbols))) => Ok(Shape::Enum(symbols)),
            ("bytes", _) => Ok(Shape::Text),
            ("boolean", _) => Ok(Shape::Boolean),
            ("int", _) => Ok(Shape::Int),
            ("long", _) => Ok(Shape::Long),
            ("float" | "double", _) => Ok(Shape::Number),
            _ => Err(invalid(location, format!("has the unknown type {name}"))),
        }
    }

    fn union(
        &mut self,
        members: &[SourceType],
        annotations: &[RelationshipAnnotation],
        location: &str,
    ) -> Result<Shape, LoadError> {
        check_paths(annotations, location, |segment| {
            members
                .iter()
                .any(|member| matches!(member, SourceType::Named(name) if *name == segment))
        })?;
        let mut shapes = Vec::with_capacity(members.len());
        for member in members {
            let SourceType::Named(name) = member else {
                return Err(invalid(location, "has a union member without a name"));
            };
            shapes.push(Member {
                name,
                shape: self.shape(member, false, &descend(annotations, name), location)?,
            });
        }
        Ok(Shape::Union(shapes.into_boxed_slice()))
    }

    /// Completes the records with the fields that contain relationships.
    fn finish(self) -> Result<Vec<Record>, LoadError> {
        let mut records = self
            .records
            .into_iter()
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| invalid("records", "contain an incomplete one"))?;
        // Records may be recursive, so iterate to a fixed point.
        let mut related = vec![false; records.len()];
        loop {
            let next: Vec<bool> = records
                .iter()
                .map(|record| {
                    record
                        .fields
                        .iter()
                        .any(|field| field.shape.is_related(&related))
                })
                .collect();
            if next == related {
                break;
            }
            related = next;
        }
        for record in &mut records {
            record.related = record
                .fields
                .iter()
                .enumerate()
                .filter(|(_, field)| field.shape.is_related(&related))
                .map(|(index, _)| index)
                .collect();
        }
        Ok(records)
    }
}
