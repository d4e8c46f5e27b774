//! A parser for the parts of Markdown that the tests need: fenced blocks, the commands in them,
//! links and anchors.
//!
//! It supports only what Docent's documents use. A command block looks like this; CONTRIBUTING.md
//! has the rules:
//!
//! ````text
//! ```console
//! $ curl http://localhost:8080/health {"status": "…"}
//! ```
//! ````

use anyhow::bail;

/// A fenced block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The line of the opening fence, counted from 1.
    pub line: usize,
    /// The info string after the opening fence, such as `console norun`.
    pub info: String,
    /// The lines between the fences, without the indentation of the opening fence.
    pub lines: Vec<String>,
}

/// A command and its output, as a document shows them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The line of the command in the document, counted from 1.
    pub line: usize,
    /// The command, which may span several lines.
    pub command: String,
    /// The lines that the document shows as its output.
    pub expected: Vec<String>,
}

impl Block {
    /// Splits a console block into its commands. A command starts with `$ ` and continues after a
    /// trailing backslash and on lines that start with `> `. All other lines are output.
    pub fn steps(&self) -> anyhow::Result<Vec<Step>> {
        let mut steps: Vec<Step> = Vec::new();
        let mut in_command = false;
        let mut continued = false;
        for (offset, text) in self.lines.iter().enumerate() {
            let line = self.line + offset + 1;
            match (steps.last_mut(), text.strip_prefix("$ ")) {
                (Some(step), _) if continued => {
                    step.command.push('\n');
                    step.command.push_str(text);
                    continued = text.ends_with('\\');
                }
                (_, Some(command)) => {
                    steps.push(Step {
                        line,
                        command: command.to_owned(),
                        expected: Vec::new(),
                    });
                    in_command = true;
                    continued = command.ends_with('\\');
                }
                (Some(step), None) => {
                    if let Some(more) = text.strip_prefix("> ").filter(|_| in_command) {
                        step.command.push('\n');
                        step.command.push_str(more);
                        continued = more.ends_with('\\');
                    } else {
                        in_command = false;
                        step.expected.push(text.clone());
                    }
                }
                (None, None) => {
                    bail!("line {line}: a console block must start with a command: `$ …`")
                }
            }
        }
        if continued {
            bail!(
                "line {}: the last command of the block is incomplete",
                self.line
            );
        }
        Ok(steps)
    }
}

/// A document split into its fenced blocks and the lines around them.
#[derive(Debug, Clone, Default)]
pub struct Document {
    pub blocks: Vec<Block>,
    /// The lines outside of blocks, each with its number.
    pub prose: Vec<(usize, String)>,
}

impl Document {
    /// Parses a document. An unclosed block ends with the document, as Markdown specifies.
    pub fn parse(text: &str) -> Self {
        let mut document = Self::default();
        let mut open: Option<(usize, usize, Block)> = None;
        for (index, line) in text.lines().enumerate() {
            let trimmed = line.trim_start();
            let indentation = line.len() - trimmed.len();
            let ticks = trimmed.len() - trimmed.trim_start_matches('`').len();
            let rest = trimmed[ticks..].trim();
            open = match open {
                Some((opening_ticks, _, block)) if ticks >= opening_ticks && rest.is_empty() => {
                    document.blocks.push(block);
                    None
                }
                Some((opening_ticks, opening_indentation, mut block)) => {
                    let removed = indentation.min(opening_indentation);
                    block.lines.push(line[removed..].to_owned());
                    Some((opening_ticks, opening_indentation, block))
                }
                None if ticks >= 3 && !rest.contains('`') => {
                    let block = Block {
                        line: index + 1,
                        info: rest.to_owned(),
                        lines: Vec::new(),
                    };
                    Some((ticks, indentation, block))
                }
                None => {
                    document.prose.push((index + 1, line.to_owned()));
                    None
                }
            };
        }
        document.blocks.extend(open.map(|(_, _, block)| block));
        document
    }

    /// Returns the targets of all links and images with their lines.
    pub fn links(&self) -> Vec<(usize, String)> {
        let mut links = Vec::new();
        for (line, text) in &self.prose {
            let text = without_code(text);
            for (opening, closing) in [("](", ')'), ("href=\"", '"'), ("src=\"", '"')] {
                for part in text.split(opening).skip(1) {
                    let target = part.split(closing).next().unwrap_or(part);
                    // A title may follow: [text](target "title").
                    let target = target.split_whitespace().next().unwrap_or(target);
                    links.push((*line, target.to_owned()));
                }
            }
            let is_definition = text.trim_start().starts_with('[');
            if let Some((_, target)) = text.split_once("]: ").filter(|_| is_definition) {
                links.push((*line, target.trim().to_owned()));
            }
        }
        links
    }

    /// Returns the anchors of the headings: lower case, spaces as hyphens, no punctuation, numbered
    /// if repeated.
    pub fn anchors(&self) -> Vec<String> {
        let mut anchors: Vec<String> = Vec::new();
        for (_, text) in &self.prose {
            let title = text.trim_start_matches('#');
            let level = text.len() - title.len();
            if !(1..=6).contains(&level) || !title.starts_with(' ') {
                continue;
            }
            let anchor: String = title
                .trim()
                .chars()
                .filter(|character| {
                    character.is_alphanumeric() || matches!(character, ' ' | '-' | '_')
                })
                .flat_map(char::to_lowercase)
                .map(|character| if character == ' ' { '-' } else { character })
                .collect();
            let mut unique = anchor.clone();
            let mut count = 0;
            while anchors.contains(&unique) {
                count += 1;
                unique = format!("{anchor}-{count}");
            }
            anchors.push(unique);
        }
        anchors
    }
}

/// Removes inline code, which may look like a link.
fn without_code(text: &str) -> String {
    text.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

#[cfg(test)]
mod tests {
    use super::Document;

    const CONSOLE: &str =
        "text\n```console\n$ echo a \\\n    b\na b\n$ cat <<END\n> x\n> END\nx\n> y\n```\nend\n";

    #[test]
    fn a_console_block_splits_into_commands_and_their_output() {
        let document = Document::parse(CONSOLE);
        let steps = document.blocks[0].steps().unwrap();
        let shown: Vec<_> = steps
            .iter()
            .map(|step| (step.line, step.command.as_str(), step.expected.join("|")))
            .collect();
        assert_eq!(
            shown,
            [
                (3, "echo a \\\n    b", "a b".to_owned()),
                (6, "cat <<END\nx\nEND", "x|> y".to_owned())
            ]
        );
    }

    #[test]
    fn a_console_block_that_starts_with_output_is_rejected() {
        let document = Document::parse("```console\noutput\n```\n");
        assert!(document.blocks[0].steps().is_err());
    }

    #[test]
    fn a_longer_fence_contains_a_shorter_one() {
        let document = Document::parse("````text\n```console\n$ x\n```\n````\n");
        assert_eq!(document.blocks.len(), 1);
        assert_eq!(document.blocks[0].info, "text");
        assert_eq!(document.blocks[0].lines.len(), 3);
    }

    #[test]
    fn an_indented_block_loses_the_indentation_of_its_fence() {
        let document = Document::parse("- item\n  ```console\n  $ x\n    y\n  ```\n");
        assert_eq!(document.blocks[0].lines, ["$ x", "  y"]);
    }

    #[test]
    fn links_are_found_only_outside_code() {
        let text =
            "[a](b.md) and `[c](d.md)` <img src=\"e.png\">\n[f]: g.md\n```text\n[h](i.md)\n```\n";
        let links: Vec<_> = Document::parse(text)
            .links()
            .into_iter()
            .map(|(_, target)| target)
            .collect();
        assert_eq!(links, ["b.md", "e.png", "g.md"]);
    }

    #[test]
    fn anchors_follow_the_headings() {
        let document =
            Document::parse("# Two words\n## Commands & `settings`\n## Two words\n#no heading\n");
        assert_eq!(
            document.anchors(),
            ["two-words", "commands--settings", "two-words-1"]
        );
    }
}
