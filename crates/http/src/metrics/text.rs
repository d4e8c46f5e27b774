//! Prometheus' text format, version 0.0.4.

use std::fmt::{Display, Write as _};

use docent_catalog::measurements::Distribution;

pub(crate) const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Microseconds in a second: durations are measured in the one and shown in the other.
const MICROS: f64 = 1e6;

/// The metrics in one reply.
#[derive(Debug, Default)]
pub(super) struct MetricsText {
    text: String,
}

/// The names and values of a sample's labels.
pub(super) type Labels<'l> = &'l [(&'static str, &'l str)];

/// How the numbers of a distribution are shown.
#[derive(Debug, Clone, Copy)]
pub(super) enum Unit {
    /// As they are.
    Count,
    /// Microseconds, as seconds.
    Seconds,
}

impl Unit {
    #[expect(
        clippy::cast_precision_loss,
        reason = "sums of durations and counts need no more than 53 bits"
    )]
    fn show(self, number: u64) -> f64 {
        match self {
            Self::Count => number as f64,
            Self::Seconds => number as f64 / MICROS,
        }
    }
}

impl MetricsText {
    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// A metric with one sample that only grows.
    pub(super) fn counter(&mut self, name: &str, help: &str, value: impl Display) {
        self.family(name, "counter", help);
        self.sample(name, &[], value);
    }

    /// A metric with one sample.
    pub(super) fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.family(name, "gauge", help);
        self.sample(name, &[], value);
    }

    /// A metric with one distribution.
    pub(super) fn histogram(
        &mut self,
        name: &str,
        help: &str,
        distribution: &Distribution,
        unit: Unit,
    ) {
        self.family(name, "histogram", help);
        self.distribution(name, &[], distribution, unit);
    }

    /// Begins a metric, whose samples follow.
    pub(super) fn family(&mut self, name: &str, kind: &str, help: &str) {
        let text = &mut self.text;
        // Writing to a string does not fail.
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    pub(super) fn sample(&mut self, name: &str, labels: Labels<'_>, value: impl Display) {
        self.text.push_str(name);
        self.labels(labels, None);
        let _ = writeln!(self.text, " {value}");
    }

    pub(super) fn distribution(
        &mut self,
        name: &str,
        labels: Labels<'_>,
        distribution: &Distribution,
        unit: Unit,
    ) {
        let mut total = 0;
        let bounds = distribution.bounds.iter().map(Some).chain([None]);
        for (bound, count) in bounds.zip(&distribution.counts) {
            total += count;
            let bound = match bound {
                Some(bound) => unit.show(*bound).to_string(),
                None => "+Inf".to_owned(),
            };
            let _ = write!(self.text, "{name}_bucket");
            self.labels(labels, Some(&bound));
            let _ = writeln!(self.text, " {total}");
        }
        let _ = write!(self.text, "{name}_sum");
        self.labels(labels, None);
        let _ = writeln!(self.text, " {}", unit.show(distribution.sum));
        let _ = write!(self.text, "{name}_count");
        self.labels(labels, None);
        let _ = writeln!(self.text, " {total}");
    }

    fn labels(&mut self, labels: Labels<'_>, bound: Option<&str>) {
        let bound = bound.map(|bound| ("le", bound));
        let all = labels.iter().copied().chain(bound);
        let mut separator = '{';
        for (name, value) in all {
            let _ = write!(self.text, "{separator}{name}=\"");
            for character in value.chars() {
                match character {
                    '\\' | '"' => self.text.extend(['\\', character]),
                    '\n' => self.text.push_str("\\n"),
                    _ => self.text.push(character),
                }
            }
            self.text.push('"');
            separator = ',';
        }
        if separator == ',' {
            self.text.push('}');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_cumulative_and_labels_escaped() {
        let mut text = MetricsText::default();
        text.family("took_seconds", "histogram", "How long it took.");
        let distribution = Distribution {
            bounds: &[1_000, 2_500_000],
            counts: vec![1, 2, 3],
            sum: 4_000_500,
        };
        let labels = [("route", "a\"\\\nb")];
        text.distribution("took_seconds", &labels, &distribution, Unit::Seconds);
        text.gauge("open", "How many are open.", 7);
        assert_eq!(
            text.into_text(),
            "# HELP took_seconds How long it took.\n\
             # TYPE took_seconds histogram\n\
             took_seconds_bucket{route=\"a\\\"\\\\\\nb\",le=\"0.001\"} 1\n\
             took_seconds_bucket{route=\"a\\\"\\\\\\nb\",le=\"2.5\"} 3\n\
             took_seconds_bucket{route=\"a\\\"\\\\\\nb\",le=\"+Inf\"} 6\n\
             took_seconds_sum{route=\"a\\\"\\\\\\nb\"} 4.0005\n\
             took_seconds_count{route=\"a\\\"\\\\\\nb\"} 6\n\
             # HELP open How many are open.\n\
             # TYPE open gauge\n\
             open 7\n"
        );
    }
}
