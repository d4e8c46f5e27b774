//! Paths into a JSON value, as `@aspect` and `@path` write them.

/// `a.b.0`: members by name, elements by number. The path `.` is the value itself.
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
    fn dots_part_the_steps_digits_are_elements_and_a_lone_dot_is_the_value_itself() {
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
