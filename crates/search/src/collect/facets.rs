//! Counts the values of facets.

use std::collections::HashMap;

use super::SegmentCollector;
use crate::column::{for_each_value_in, index_of};
use crate::field::{IndexForm, form_of};
use crate::list;
use crate::request::PAIR_SEPARATOR;
use crate::schema::column_path;
use crate::segment_cache::{FacetCounts, SegmentCache};
use crate::walk::for_each_text_at;

impl SegmentCollector<'_> {
    /// Adds the documents of the segment to the counts of each facet.
    pub(super) fn count_facets(
        &self,
        found: usize,
        cache: &SegmentCache,
        counts: &mut [(FacetCounts, HashMap<String, u64>)],
    ) -> tantivy::Result<()> {
        let documents = &self.matches.documents;
        // If most documents match, counting the others is cheaper.
        let others = (found > self.reader.max_doc() as usize / 2).then(|| documents.complement());
        for (field, (counts, more)) in self.collector.facets.iter().zip(counts) {
            if let Some((one, other)) = field.split_once(PAIR_SEPARATOR) {
                self.count_pairs(one, other, more)?;
            } else if let Some(column) = cache.facet(self.reader, field)? {
                column.count(documents, others.as_ref(), counts);
            } else {
                self.count(field, more)?;
            }
        }
        Ok(())
    }

    /// Counts a facet that is not cached.
    fn count(&self, field: &str, named: &mut HashMap<String, u64>) -> tantivy::Result<()> {
        let fast = self.reader.fast_fields();
        let Some(column) = fast.str(&column_path(field))? else {
            return Ok(());
        };
        let mut counts = vec![0_u64; column.num_terms()];
        for_each_value_in(&column, &self.matches.documents, |_, value| {
            counts[value] += 1;
        });
        let present: Vec<u64> = (0..)
            .zip(&counts)
            .filter_map(|(ordinal, count)| (*count > 0).then_some(ordinal))
            .collect();
        for_each_text_at(&column, &present, self.budget, |ordinal, text| {
            let count = counts[index_of(ordinal)];
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
        self.matches.documents.for_each(|document| {
            for first in firsts.ords().values_for_doc(document) {
                for second in seconds.ords().values_for_doc(document) {
                    *counts.entry((first, second)).or_default() += 1;
                }
            }
        });
        for ((first, second), count) in counts {
            self.budget.step()?;
            let (mut first_text, mut second_text) = (String::new(), String::new());
            firsts.ord_to_str(first, &mut first_text)?;
            seconds.ord_to_str(second, &mut second_text)?;
            for first in values_in(one, &first_text) {
                for second in values_in(other, &second_text) {
                    let value = format!("{first}{PAIR_SEPARATOR}{second}");
                    *named.entry(value).or_default() += count;
                }
            }
        }
        Ok(())
    }
}

/// The values that a text in a field's column stands for.
fn values_in<'t>(field: &str, text: &'t str) -> impl Iterator<Item = &'t str> {
    let (list, one) = match form_of(field) {
        IndexForm::Lists => (Some(list::values(text)), None),
        IndexForm::Terms | IndexForm::Names | IndexForm::Urn => (None, Some(text)),
    };
    list.into_iter().flatten().chain(one)
}
