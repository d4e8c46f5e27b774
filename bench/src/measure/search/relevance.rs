//! Measures relevance: the rank of a known dataset among the best ten results for words that a user
//! would remember.

use anyhow::Result;

use super::ask::{self, Asker};
use super::peers::Peer;
use crate::report::{Report, Target};
use crate::search_data::Catalog;
use crate::search_data::vocabulary::Random;

/// How many datasets to search for.
const KNOWN_DATASETS: usize = 200;

/// A dataset, and the query to find it.
#[derive(Debug)]
pub(super) struct KnownDataset {
    urn: String,
    words: Vec<String>,
}

/// Every second dataset by its schema and all words of its name, the others by two words of the
/// name and a column.
pub(super) fn known_datasets(catalog: &Catalog) -> Vec<KnownDataset> {
    let mut random = Random::new(5);
    let mut known = Vec::with_capacity(KNOWN_DATASETS);
    while known.len() < KNOWN_DATASETS {
        let dataset = catalog.dataset(random.below(catalog.len()));
        let mut words = dataset.name_words.clone();
        if known.len() % 2 == 0 {
            words.insert(0, dataset.schema.clone());
        } else {
            words.truncate(2);
            let (column, _) = &dataset.columns[random.below(dataset.columns.len())];
            words.extend(column.split('_').map(str::to_owned));
        }
        words.dedup();
        let urn = dataset.urn();
        known.push(KnownDataset { urn, words });
    }
    known
}

/// The mean reciprocal rank: 1 if each dataset is the first result, 0 if none is among the best
/// ten.
pub(super) async fn ours(asker: &mut Asker, known_datasets: &[KnownDataset]) -> Result<f64> {
    let mut sum = 0.0;
    for known in known_datasets {
        let reply = asker.ask(&ask::search(&known.words.join(" "))).await?;
        sum += reciprocal_rank(ask::urns(&reply), &known.urn);
    }
    Ok(sum / known_datasets.len() as f64)
}

pub(super) fn of_peer(
    name: &str,
    peer: &mut impl Peer,
    known_datasets: &[KnownDataset],
    ours: f64,
    report: &mut Report,
) -> Result<()> {
    report.progress(&format!("looking for datasets with {name}"));
    let mut sum = 0.0;
    for known in known_datasets {
        let urns = peer.best(&known.words)?;
        sum += reciprocal_rank(urns.iter().map(String::as_str), &known.urn);
    }
    let theirs = sum / known_datasets.len() as f64;
    report.line(
        format!("search: finding a known dataset, against {name}"),
        format!("mean reciprocal rank {ours:.2}"),
        format!("{name} {theirs:.2} ({} datasets)", known_datasets.len()),
        ours / theirs.max(f64::MIN_POSITIVE),
        Target::None,
        "A known dataset is nearly always the first result if the value is near 1; 0.5 means the second.",
    );
    Ok(())
}

fn reciprocal_rank<'u>(mut urns: impl Iterator<Item = &'u str>, known: &str) -> f64 {
    let position = urns.position(|urn| urn == known);
    position.map_or(0.0, |position| 1.0 / (position + 1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reciprocal_rank_counts_among_the_best_ten() {
        let urns = ["a", "b", "c", "d"];
        let rank = |known| reciprocal_rank(urns.into_iter(), known);
        assert!((rank("a") - 1.0).abs() < 1e-9);
        assert!((rank("d") - 0.25).abs() < 1e-9);
        assert!(rank("e").abs() < 1e-9);
    }

    #[test]
    fn queries_consist_of_words_of_the_dataset() {
        let catalog = Catalog::new(100);
        let texts: Vec<String> = catalog
            .datasets()
            .map(|dataset| format!("{} {}", dataset.urn(), dataset.column_text()))
            .collect();
        for known in known_datasets(&catalog) {
            let text = texts.iter().find(|text| text.starts_with(&known.urn));
            let text = text.unwrap();
            let missing = known.words.iter().find(|word| !text.contains(&***word));
            assert_eq!(missing, None, "{text}");
        }
    }
}
