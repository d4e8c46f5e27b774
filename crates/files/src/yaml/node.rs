//! Reads YAML into a tree with line numbers.

use std::collections::HashSet;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use super::Problem;

/// Far deeper than any file of ours.
const MAX_DEPTH: usize = 16;

/// A value and its line in the file, starting at 1.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) line: usize,
    pub(crate) content: Content,
}

#[derive(Debug, Clone)]
pub(crate) enum Content {
    Scalar {
        text: String,
        /// Without quotes, so that it can also be a number, a flag or nothing.
        is_plain: bool,
    },
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key of a mapping with its value.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) line: usize,
    pub(crate) value: Node,
}

impl Node {
    /// Whether the value is empty: nothing, `null` or `~`.
    pub(crate) fn is_null(&self) -> bool {
        match &self.content {
            Content::Scalar { text, is_plain } => {
                *is_plain && ["", "~", "null", "Null", "NULL"].contains(&text.as_str())
            }
            _ => false,
        }
    }

    /// What the value is, for error messages.
    pub(crate) fn description(&self) -> &'static str {
        match &self.content {
            _ if self.is_null() => "nothing",
            Content::Scalar { .. } => "a single value",
            Content::List(_) => "a list",
            Content::Map(_) => "a mapping",
        }
    }
}

/// A list or mapping whose end has not been read.
enum Open {
    List(usize, Vec<Node>),
    Map {
        line: usize,
        entries: Vec<Entry>,
        keys: HashSet<String>,
        key: Option<(String, usize)>,
    },
}

/// Reads the document of a file; `None` if it has only comments.
pub(crate) fn parse(text: &str) -> Result<Option<Node>, Problem> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut parser = Parser::new_from_str(text);
    let mut open: Vec<Open> = Vec::new();
    let mut root = None;
    let mut documents = 0;
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|error| {
            let message = format!("this is not YAML: {}", error.info());
            Problem::new(error.marker().line().max(1), message)
        })?;
        let line = span.start.line();
        if let Event::DocumentStart(_) = event {
            documents += 1;
            if documents > 1 {
                let message = "the file has a second document: remove the line '---'";
                return Err(Problem::new(line, message));
            }
        }
        let Some(node) = step(event, span, &mut open)? else {
            continue;
        };
        match open.last_mut() {
            None => root = Some(node),
            Some(parent) => parent.add(node)?,
        }
    }
    Ok(root.filter(|node: &Node| !node.is_null()))
}

/// Handles one event; returns a value that is complete.
fn step(event: Event<'_>, span: Span, open: &mut Vec<Open>) -> Result<Option<Node>, Problem> {
    let line = span.start.line();
    let (tag, opened) = match event {
        Event::Alias(_) => {
            let message = "aliases such as *name are not supported: repeat the value";
            return Err(Problem::new(line, message));
        }
        Event::Scalar(text, style, _, tag) => {
            check_no_tag(line, tag.is_some())?;
            let content = Content::Scalar {
                text: text.into_owned(),
                is_plain: style == ScalarStyle::Plain,
            };
            return Ok(Some(Node { line, content }));
        }
        Event::SequenceStart(_, tag) => (tag, Open::List(line, Vec::new())),
        Event::MappingStart(_, tag) => {
            let opened = Open::Map {
                line,
                entries: Vec::new(),
                keys: HashSet::new(),
                key: None,
            };
            (tag, opened)
        }
        Event::SequenceEnd | Event::MappingEnd => return Ok(open.pop().map(Open::close)),
        Event::Nothing
        | Event::StreamStart
        | Event::StreamEnd
        | Event::DocumentStart(_)
        | Event::DocumentEnd => return Ok(None),
    };
    check_no_tag(line, tag.is_some())?;
    if open.len() == MAX_DEPTH {
        let message = format!("the file is nested more than {MAX_DEPTH} levels deep");
        return Err(Problem::new(line, message));
    }
    open.push(opened);
    Ok(None)
}

fn check_no_tag(line: usize, has_tag: bool) -> Result<(), Problem> {
    if has_tag {
        let message = "YAML tags such as !!str are not supported: put the text in quotes";
        return Err(Problem::new(line, message));
    }
    Ok(())
}

impl Open {
    /// Adds a complete value, which may be a key.
    fn add(&mut self, node: Node) -> Result<(), Problem> {
        match self {
            Self::List(_, items) => items.push(node),
            Self::Map {
                entries, keys, key, ..
            } => {
                if let Some((key, line)) = key.take() {
                    entries.push(Entry {
                        key,
                        line,
                        value: node,
                    });
                    return Ok(());
                }
                let line = node.line;
                let Content::Scalar { text, .. } = node.content else {
                    return Err(Problem::new(line, "a key must be a single value"));
                };
                if !keys.insert(text.clone()) {
                    let message = format!("the key '{text}' appears twice: remove one");
                    return Err(Problem::new(line, message));
                }
                *key = Some((text, line));
            }
        }
        Ok(())
    }

    fn close(self) -> Node {
        match self {
            Self::List(line, items) => Node {
                line,
                content: Content::List(items),
            },
            Self::Map { line, entries, .. } => Node {
                line,
                content: Content::Map(entries),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_lines_of_the_file() {
        let node = parse("# a comment\na: 1\nb:\n  - x\n  - y\n").unwrap();
        let Content::Map(entries) = node.unwrap().content else {
            panic!("not a mapping");
        };
        let lines: Vec<usize> = entries.iter().map(|entry| entry.line).collect();
        assert_eq!(lines, [2, 3]);
        let Content::List(items) = &entries[1].value.content else {
            panic!("not a list");
        };
        assert_eq!(items[1].line, 5);
        assert!(parse("# only a comment\n").unwrap().is_none());
    }

    #[test]
    fn errors_have_a_line_and_say_what_to_do() {
        let deep = "[".repeat(MAX_DEPTH + 1);
        for (text, line, says) in [
            ("a: 1\na: 2\n", 2, "appears twice"),
            ("a: &x 1\nb: *x\n", 2, "repeat the value"),
            ("a: !!str 1\n", 1, "in quotes"),
            ("a: 1\n---\nb: 2\n", 2, "second document"),
            ("a: [1\nb: 2\n", 2, "not YAML"),
            ("a: 'x\n", 1, "not YAML"),
            (&deep, 1, "levels deep"),
            ("[a]: 1\n", 1, "must be a single value"),
        ] {
            let problem = parse(text).unwrap_err();
            assert!(problem.message.contains(says), "{text}: {problem:?}");
            assert!(problem.line >= line, "{text}: {problem:?}");
        }
    }
}
