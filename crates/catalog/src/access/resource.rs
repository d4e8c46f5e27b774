//! What policies know about the entity that a decision is about.

use docent_model::Urn;

/// A field that criteria of policies compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Field {
    Type,
    Urn,
    Owner,
    /// The domain and all its ancestors.
    Domain,
    /// The groups of a user.
    GroupMembership,
    DataPlatformInstance,
    Tag,
    /// The container and all its ancestors.
    Container,
    /// The glossary terms and the nodes above them.
    Glossary,
}

impl Field {
    pub(crate) const ALL: [Self; 9] = [
        Self::Type,
        Self::Urn,
        Self::Owner,
        Self::Domain,
        Self::GroupMembership,
        Self::DataPlatformInstance,
        Self::Tag,
        Self::Container,
        Self::Glossary,
    ];

    /// The field by DataHub's name, in any case.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Some(match name.to_ascii_uppercase().as_str() {
            "TYPE" | "RESOURCE_TYPE" => Self::Type,
            "URN" | "RESOURCE_URN" => Self::Urn,
            "OWNER" => Self::Owner,
            "DOMAIN" => Self::Domain,
            "GROUP_MEMBERSHIP" => Self::GroupMembership,
            "DATA_PLATFORM_INSTANCE" => Self::DataPlatformInstance,
            "TAG" => Self::Tag,
            "CONTAINER" => Self::Container,
            "GLOSSARY" => Self::Glossary,
            _ => return None,
        })
    }

    const fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// A set of fields.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Fields(u16);

impl Fields {
    pub(crate) fn add(&mut self, field: Field) {
        self.0 |= field.bit();
    }

    pub(crate) fn extend(&mut self, other: Self) {
        self.0 |= other.0;
    }

    pub(crate) fn contains(self, field: Field) -> bool {
        self.0 & field.bit() != 0
    }

    /// Whether its values are stored, and not part of the URN.
    pub(crate) fn needs_store(self) -> bool {
        self.0 & !(Field::Type.bit() | Field::Urn.bit()) != 0
    }
}

/// An owner and the ownership type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) urn: String,
    pub(crate) type_urn: Option<String>,
}

/// The values of an entity, by field. Fields that no policy asks for stay empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Resource {
    values: [Vec<String>; Field::ALL.len()],
    pub(crate) owners: Vec<Owner>,
}

impl Resource {
    /// An entity of which only the URN is known.
    pub(crate) fn new(urn: &Urn) -> Self {
        let mut resource = Self::default();
        resource.push(Field::Type, urn.entity_type());
        resource.push(Field::Urn, urn.as_str());
        resource
    }

    /// An entity of which only the type is known.
    pub(crate) fn of_type(entity_type: &str) -> Self {
        let mut resource = Self::default();
        resource.push(Field::Type, entity_type);
        resource
    }

    pub(crate) fn push(&mut self, field: Field, value: &str) {
        self.values[field as usize].push(value.to_owned());
    }

    pub(crate) fn push_owner(&mut self, urn: &str, type_urn: Option<&str>) {
        self.push(Field::Owner, urn);
        self.owners.push(Owner {
            urn: urn.to_owned(),
            type_urn: type_urn.map(str::to_owned),
        });
    }

    /// Leaves the owners out of decisions.
    pub(crate) fn forget_owners(&mut self) {
        self.values[Field::Owner as usize].clear();
        self.owners.clear();
    }

    pub(crate) fn values(&self, field: Field) -> &[String] {
        &self.values[field as usize]
    }
}
