//! Counting the values of facets.

use std::collections::HashMap;

use super::SegmentGather;
use crate::column::each_value_of;
use crate::field::{Form, form_of};
use crate::kept::{Counts, Kept};
use crate::list;
use crate::request::PAIR;
use crate::schema::column_path;
use crate::walk::texts_at;

impl SegmentGather<'_> {
    /// Adds to the counts of each facet.
    pub(super) fn count_facets(
        &self,
        found: usize,
        kept: &Kept,
        counts: &mut [(Counts, HashMap<String, u64>)],
    ) -> tantivy::Result<()> {
        let documents = &self.matches.documents;
        // What most documents have is counted by those that are left out.
        let others = (found > self.reader.max_doc() as usize / 2).then(|| documents.others());
        for (field, (counts, more)) in self.gather.facets.iter().zip(counts) {
            if let Some((one, other)) = field.split_once(PAIR) {
                self.count_pairs(one, other, more)?;
            } else if let Some(column) = kept.facet(self.reader, field)? {
                column.count(documents, others.as_ref(), counts);
            } else {
                self.count(field, more)?;
            }
        }
        Ok(())
    }

    /// Counts a facet that is not kept.
    fn count(&self, field: &str, named: &mut HashMap<String, u64>) -> tantivy::Result<()> {
        let fast = self.reader.fast_fields();
        let Some(column) = fast.str(&column_path(field))? else {
            return Ok(());
        };
        let mut counts = vec![0_u64; column.num_terms()];
        each_value_of(&column, &self.matches.documents, |_, value| {
            counts[value] += 1;
        });
        let present: Vec<u64> = (0..counts.len() as u64)
            .filter(|ordinal| counts[*ordinal as usize] > 0)
            .collect();
        texts_at(&column, &present, self.work, |ordinal, text| {
            let count = counts[ordinal as usize];
            for value in values_in(field, text) {
                match named.get_mut(value) {
                    Some(counted) => *counted += count,
                    None => drop(named.insert(value.to_owned(), count)),
                }
            }
            Ok(())
        })
    }

    fn count_pairs(
        &self,
        one: &str,
        other: &str,
        named: &mut HashMap<String, u64>,
    ) -> tantivy::Result<()> {
        let fast = self.reader.fast_fields();
        let (Some(firsts), Some(seconds)) =
            (fast.str(&column_path(one))?, fast.str(&column_path(other))?)
        else {
            return Ok(());
        };
        let mut counts: HashMap<(u64, u64), u64> = HashMap::new();
        self.matches.documents.each(|document| {
            for first in firsts.ords().values_for_doc(document) {
                for second in seconds.ords().values_for_doc(document) {
                    *counts.entry((first, second)).or_default() += 1;
                }
            }
        });
        for ((first, second), count) in counts {
            self.work.looked()?;
            let (mut first_text, mut second_text) = (String::new(), String::new());
            firsts.ord_to_str(first, &mut first_text)?;
            seconds.ord_to_str(second, &mut second_text)?;
            for first in values_in(one, &first_text) {
                for second in values_in(other, &second_text) {
                    let value = format!("{first}{PAIR}{second}");
                    *named.entry(value).or_default() += count;
                }
            }
        }
        Ok(())
    }
}

/// The values of a text in the column of a field.
fn values_in<'t>(field: &str, text: &'t str) -> impl Iterator<Item = &'t str> {
    let (list, one) = match form_of(field) {
        Form::Lists => (Some(list::values(text)), None),
        Form::Terms | Form::Names | Form::Urn => (None, Some(text)),
    };
    list.into_iter().flatten().chain(one)
}
