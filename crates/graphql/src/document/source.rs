//! The text of a document, and where offsets are in it.

use std::ops::Range;
use std::sync::OnceLock;

use crate::error::Position;

/// The distance of the marks in a [`LineIndex`].
const MARK_BYTES: usize = 1024;

/// A text as the client sent it. Parsed offsets may refer to a repaired copy of it.
#[derive(Debug)]
pub(crate) struct SourceText {
    text: Box<str>,
    /// Offsets in the parsed text of the bytes that `repair` inserted, ascending.
    inserted: Vec<usize>,
    /// Built for the first error: most documents have none.
    lines: OnceLock<LineIndex>,
}

impl SourceText {
    pub(crate) fn new(text: &str, inserted: Vec<usize>) -> Self {
        Self {
            text: text.into(),
            inserted,
            lines: OnceLock::new(),
        }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Converts an offset in the parsed text to one in the text as the client sent it.
    pub(crate) fn offset(&self, parsed: usize) -> usize {
        parsed - self.inserted.partition_point(|at| *at < parsed)
    }

    /// The position of an offset in the text as the client sent it.
    pub(crate) fn position(&self, offset: usize) -> Position {
        let lines = self.lines.get_or_init(|| LineIndex::new(&self.text));
        lines.position(&self.text, offset)
    }
}

/// Positions in regular distances, so that locating an offset reads few bytes wherever it is.
/// Marks per line would not do: a text may have one long line, or nothing but line breaks.
#[derive(Debug)]
struct LineIndex {
    /// The position of every [`MARK_BYTES`]th byte.
    marks: Vec<Position>,
}

impl LineIndex {
    fn new(text: &str) -> Self {
        let mut marks = Vec::with_capacity(text.len() / MARK_BYTES + 1);
        let mut position = Position { line: 1, column: 1 };
        let mut start = 0;
        loop {
            marks.push(position);
            let end = start + MARK_BYTES;
            if end > text.len() {
                return Self { marks };
            }
            position = advance(position, text.as_bytes(), start..end);
            start = end;
        }
    }

    fn position(&self, text: &str, offset: usize) -> Position {
        let offset = offset.min(text.len());
        let (mark, range) = self.nearest(offset);
        advance(mark, text.as_bytes(), range)
    }

    /// The last mark before an offset, and the bytes between them.
    fn nearest(&self, offset: usize) -> (Position, Range<usize>) {
        let index = offset / MARK_BYTES;
        match self.marks.get(index) {
            Some(mark) => (*mark, index * MARK_BYTES..offset),
            None => (Position { line: 1, column: 1 }, 0..offset),
        }
    }
}

/// The position after some bytes. `\n`, `\r` and `\r\n` end lines; columns count characters.
fn advance(mut position: Position, text: &[u8], range: Range<usize>) -> Position {
    let mut previous = range.start.checked_sub(1).and_then(|at| text.get(at));
    for byte in text.get(range).unwrap_or_default() {
        match byte {
            b'\n' if previous == Some(&b'\r') => position.column = 1,
            b'\n' | b'\r' => {
                position.line += 1;
                position.column = 1;
            }
            // The further bytes of a character.
            0x80..=0xbf => {}
            _ => position.column += 1,
        }
        previous = Some(byte);
    }
    position
}

#[cfg(test)]
mod tests {
    use super::super::repair;
    use super::*;

    #[test]
    fn positions_count_all_line_break_styles_and_characters_instead_of_bytes() {
        let text = "a\nb\r\nc\rd é x";
        let source = SourceText::new(text, Vec::new());
        for (needle, line, column) in [
            ("a", 1, 1),
            ("b", 2, 1),
            ("c", 3, 1),
            ("d", 4, 1),
            ("x", 4, 5),
        ] {
            let offset = text.find(needle).unwrap();
            assert_eq!(
                source.position(offset),
                Position { line, column },
                "{needle}"
            );
        }
    }

    #[test]
    fn positions_after_an_escaped_line_break_refer_to_the_original_text() {
        let text = "{ a(b: \"x\ny\") c }";
        let (repaired, inserted) = repair::escape_line_breaks(text).unwrap();
        let offset = repaired.find('c').unwrap();
        let source = SourceText::new(text, inserted);
        let offset = source.offset(offset);
        assert_eq!(source.position(offset), Position { line: 2, column: 5 });
    }

    #[test]
    fn locating_an_offset_reads_few_bytes_of_a_long_text() {
        for unit in ["x", "\n", "\r\n", "é", "東\r", "ab\n"] {
            let text = unit.repeat(5 * MARK_BYTES);
            let index = LineIndex::new(&text);
            let start = Position { line: 1, column: 1 };
            for offset in (0..=text.len()).step_by(509).chain([text.len()]) {
                let (_, range) = index.nearest(offset);
                assert!(range.len() < MARK_BYTES, "{unit:?} at {offset}: {range:?}");
                assert_eq!(
                    index.position(&text, offset),
                    advance(start, text.as_bytes(), 0..offset),
                    "{unit:?} at {offset}"
                );
            }
        }
    }
}
