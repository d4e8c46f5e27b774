//! Paths in a JSON value, as in `@aspect` and `@path`.

/// `a.b.0`: members by name, elements by index. The path `.` is the value itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Path {
    pub(crate) steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Member(Box<str>),
    Element(usize),
}

impl Path {
    pub(crate) fn parse(text: &str) -> Self {
        let steps = text
            .split('.')
            .filter(|step| !step.is_empty())
            .map(|step| match step.parse() {
                Ok(index) => Step::Element(index),
                Err(_) => Step::Member(step.into()),
            })
            .collect();
        Self { steps }
    }

    pub(crate) fn member(name: &str) -> Self {
        Self {
            steps: vec![Step::Member(name.into())],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_parsed_into_members_and_elements() {
        assert_eq!(
            Path::parse("domainAssociations.0.domain").steps,
            [
                Step::Member("domainAssociations".into()),
                Step::Element(0),
                Step::Member("domain".into())
            ]
        );
        assert_eq!(Path::parse(".").steps, []);
    }
}
