//! Whether a dataset is found that somebody has in mind: its place among the best ten for words that they remember.

use anyhow::Result;

use super::ask::{self, Asker};
use super::peers::Peer;
use crate::report::{Report, Target};
use crate::search_data::Catalog;
use crate::search_data::vocabulary::Random;

/// How many datasets are looked for.
const LOOKED_FOR: usize = 200;

/// A dataset, and what is typed to find it.
#[derive(Debug)]
pub(super) struct Wanted {
    urn: String,
    words: Vec<String>,
}

/// Every second one by its schema and all words of its name, the others by two words of the name and a column.
pub(super) fn wanted(catalog: &Catalog) -> Vec<Wanted> {
    let mut random = Random::new(5);
    let mut wanted = Vec::with_capacity(LOOKED_FOR);
    while wanted.len() < LOOKED_FOR {
        let dataset = catalog.dataset(random.below(catalog.len()));
        let mut words = dataset.name_words.clone();
        if wanted.len() % 2 == 0 {
            words.insert(0, dataset.schema.clone());
        } else {
            words.truncate(2);
            let (column, _) = &dataset.columns[random.below(dataset.columns.len())];
            words.extend(column.split('_').map(str::to_owned));
        }
        words.dedup();
        let urn = dataset.urn();
        wanted.push(Wanted { urn, words });
    }
    wanted
}

/// The mean of the reciprocal ranks: 1 if each dataset comes first, 0 if none is among the best ten.
pub(super) async fn ours(asker: &mut Asker, wanted: &[Wanted]) -> Result<f64> {
    let mut sum = 0.0;
    for wanted in wanted {
        let reply = asker.ask(&ask::search(&wanted.words.join(" "))).await?;
        sum += reciprocal_rank(ask::urns(&reply), &wanted.urn);
    }
    Ok(sum / wanted.len() as f64)
}

pub(super) fn of_peer(
    name: &str,
    peer: &mut impl Peer,
    wanted: &[Wanted],
    ours: f64,
    report: &mut Report,
) -> Result<()> {
    report.progress(&format!("looking for datasets with {name}"));
    let mut sum = 0.0;
    for wanted in wanted {
        let urns = peer.best(&wanted.words)?;
        sum += reciprocal_rank(urns.iter().map(String::as_str), &wanted.urn);
    }
    let theirs = sum / wanted.len() as f64;
    report.line(
        format!("search: finding a known dataset, against {name}"),
        format!("mean reciprocal rank {ours:.2}"),
        format!("{name} {theirs:.2} ({} datasets)", wanted.len()),
        ours / theirs.max(f64::MIN_POSITIVE),
        Target::None,
    );
    Ok(())
}

fn reciprocal_rank<'u>(mut urns: impl Iterator<Item = &'u str>, wanted: &str) -> f64 {
    let place = urns.position(|urn| urn == wanted);
    place.map_or(0.0, |place| 1.0 / (place + 1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_among_the_best_counts() {
        let urns = ["a", "b", "c", "d"];
        let rank = |wanted| reciprocal_rank(urns.into_iter(), wanted);
        assert!((rank("a") - 1.0).abs() < 1e-9);
        assert!((rank("d") - 0.25).abs() < 1e-9);
        assert!(rank("e").abs() < 1e-9);
    }

    #[test]
    fn what_is_typed_stands_in_what_is_wanted() {
        let catalog = Catalog::new(100);
        let texts: Vec<String> = catalog
            .datasets()
            .map(|dataset| format!("{} {}", dataset.urn(), dataset.column_text()))
            .collect();
        for wanted in wanted(&catalog) {
            let text = texts.iter().find(|text| text.starts_with(&wanted.urn));
            let text = text.unwrap();
            let missing = wanted.words.iter().find(|word| !text.contains(&***word));
            assert_eq!(missing, None, "{text}");
        }
    }
}
