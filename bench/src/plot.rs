//! Draws plots as SVG: panels of lines over a logarithmic axis of counts.
//!
//! The picture has its own background and follows the light or dark theme of the browser.

use std::fmt::Write as _;

pub(crate) struct Series {
    /// Shown at the line; may be empty if the panel has only this one.
    pub(crate) name: String,
    /// Counts and values, in ascending order.
    pub(crate) points: Vec<(f64, f64)>,
}

pub(crate) struct Panel {
    /// With the unit.
    pub(crate) title: String,
    /// Two at most, with the same counts.
    pub(crate) series: Vec<Series>,
}

const COLUMNS: usize = 2;
const PANEL: (f64, f64) = (400.0, 220.0);
/// The room for the texts around the lines: left, top, right, bottom.
const MARGINS: (f64, f64, f64, f64) = (56.0, 44.0, 46.0, 34.0);

/// What the axis across counts, shown after its last number.
const COUNTED: &str = " aspects";

/// Values further apart are drawn on a logarithmic axis.
const LINEAR_RANGE: f64 = 10.0;

const STYLE: &str = "
    .background { fill: #ffffff; }
    text { fill: #1f2328; font: 12px system-ui, -apple-system, 'Segoe UI', sans-serif; }
    .title { font-weight: 600; font-size: 13px; }
    .tick { fill: #59636e; font-size: 11px; }
    .grid { stroke: #d1d9e0; stroke-width: 1; }
    .line { fill: none; stroke-width: 2; }
    .first { stroke: #0969da; } .first-fill { fill: #0969da; }
    .second { stroke: #bc4c00; } .second-fill { fill: #bc4c00; }
    @media (prefers-color-scheme: dark) {
        .background { fill: #0d1117; }
        text { fill: #f0f6fc; }
        .tick { fill: #9198a1; }
        .grid { stroke: #3d444d; }
        .first { stroke: #4493f8; } .first-fill { fill: #4493f8; }
        .second { stroke: #f0883e; } .second-fill { fill: #f0883e; }
    }
";

/// Draws the panels side by side; `title` is for readers who do not see them.
pub(crate) fn draw(title: &str, panels: &[Panel]) -> String {
    let (width, height) = (
        PANEL.0 * COLUMNS as f64,
        PANEL.1 * panels.len().div_ceil(COLUMNS) as f64,
    );
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
         height=\"{height}\" role=\"img\">\n<title>{}</title>\n<style>{STYLE}</style>\n\
         <rect class=\"background\" width=\"100%\" height=\"100%\"/>\n",
        escaped(title)
    );
    for (index, panel) in panels.iter().enumerate() {
        let (x, y) = (
            (index % COLUMNS) as f64 * PANEL.0,
            (index / COLUMNS) as f64 * PANEL.1,
        );
        let _ = writeln!(svg, "<g transform=\"translate({x} {y})\">");
        draw_panel(&mut svg, panel);
        svg.push_str("</g>\n");
    }
    svg.push_str("</svg>\n");
    svg
}

/// Maps values to positions in a panel.
struct Axis {
    is_logarithmic: bool,
    low: f64,
    high: f64,
    /// The positions of the ends.
    from: f64,
    to: f64,
}

impl Axis {
    fn at(&self, value: f64) -> f64 {
        let scale = |value: f64| {
            if self.is_logarithmic {
                value.max(f64::MIN_POSITIVE).log10()
            } else {
                value
            }
        };
        let (low, high) = (scale(self.low), scale(self.high));
        let share = (scale(value) - low) / (high - low).max(f64::MIN_POSITIVE);
        self.from + share * (self.to - self.from)
    }

    /// An axis of counts, between powers of ten.
    fn of_counts(counts: impl Iterator<Item = f64> + Clone) -> Self {
        Self {
            is_logarithmic: true,
            low: counts.clone().fold(f64::INFINITY, f64::min),
            high: counts.fold(1.0, f64::max),
            from: MARGINS.0 + 12.0,
            to: PANEL.0 - MARGINS.2,
        }
    }

    /// An axis of values, from zero or from a power of ten, with its ticks.
    fn of_values(values: impl Iterator<Item = f64> + Clone) -> (Self, Vec<f64>) {
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.fold(f64::MIN_POSITIVE, f64::max);
        let is_logarithmic = low > 0.0 && high / low > LINEAR_RANGE;
        let ticks = if is_logarithmic {
            let mut ticks = vec![10_f64.powf(low.log10().floor())];
            while let Some(last) = ticks.last().copied().filter(|last| *last < high) {
                ticks.push(last * 10.0);
            }
            ticks
        } else {
            let step = round_step(high / 3.0);
            let count = (high * 1.1 / step).ceil().max(1.0);
            let mut ticks = vec![0.0];
            while ticks.len() as f64 <= count {
                ticks.push(ticks.len() as f64 * step);
            }
            ticks
        };
        let axis = Self {
            is_logarithmic,
            low: ticks.first().copied().unwrap_or_default(),
            high: ticks.last().copied().unwrap_or(1.0),
            from: PANEL.1 - MARGINS.3,
            to: MARGINS.1,
        };
        (axis, ticks)
    }
}

/// Returns the next of 1, 2 and 5 times a power of ten.
fn round_step(step: f64) -> f64 {
    let power = 10_f64.powf(step.log10().floor());
    let factors = [1.0, 2.0, 5.0];
    let factor = factors.into_iter().find(|factor| factor * power >= step);
    factor.unwrap_or(10.0) * power
}

fn draw_panel(svg: &mut String, panel: &Panel) {
    let points = || panel.series.iter().flat_map(|series| &series.points);
    let across = Axis::of_counts(points().map(|(count, _)| *count));
    let (up, ticks) = Axis::of_values(points().map(|(_, value)| *value));
    text(svg, "title", "start", (16.0, 22.0), &panel.title);
    for tick in &ticks {
        let y = up.at(*tick);
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>",
            MARGINS.0,
            PANEL.0 - MARGINS.2 + 12.0
        );
        text(
            svg,
            "tick",
            "end",
            (MARGINS.0 - 6.0, y + 4.0),
            &short(*tick),
        );
    }
    let counts = panel
        .series
        .first()
        .map_or(&[][..], |series| &series.points);
    for (index, (count, _)) in counts.iter().enumerate() {
        let below = (across.at(*count), PANEL.1 - MARGINS.3 + 18.0);
        let unit = if index + 1 == counts.len() {
            COUNTED
        } else {
            ""
        };
        text(svg, "tick", "middle", below, &(short(*count) + unit));
    }
    for (index, series) in panel.series.iter().enumerate() {
        let other = panel.series.get(1 - index.min(1));
        draw_series(svg, series, other, index > 0, &across, &up);
    }
}

/// Texts are above the line, or below it where the other series is higher.
fn draw_series(
    svg: &mut String,
    series: &Series,
    other: Option<&Series>,
    is_second: bool,
    across: &Axis,
    up: &Axis,
) {
    let class = if is_second { "second" } else { "first" };
    let positions: Vec<(f64, f64)> = series
        .points
        .iter()
        .map(|(count, value)| (across.at(*count), up.at(*value)))
        .collect();
    let path: Vec<String> = positions
        .iter()
        .map(|(x, y)| format!("{x:.1},{y:.1}"))
        .collect();
    let _ = writeln!(
        svg,
        "<polyline class=\"line {class}\" points=\"{}\"/>",
        path.join(" ")
    );
    let offset = |index: usize, value: f64| {
        let others = other.and_then(|other| other.points.get(index));
        if others.is_some_and(|(_, other)| *other > value) {
            16.0
        } else {
            -8.0
        }
    };
    for (index, ((x, y), (_, value))) in positions.iter().zip(&series.points).enumerate() {
        let shape = if is_second {
            let (left, top) = (x - 3.5, y - 3.5);
            format!("<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"7\" height=\"7\"")
        } else {
            format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"")
        };
        let _ = writeln!(svg, "{shape} class=\"{class}-fill\"/>");
        text(
            svg,
            "value",
            "middle",
            (*x, y + offset(index, *value)),
            &short(*value),
        );
    }
    // Between the first two points, where no value is.
    if let [(left, start), (right, end), ..] = positions[..]
        && !series.name.is_empty()
    {
        let (_, value) = series.points[0];
        let middle = (
            f64::midpoint(left, right),
            f64::midpoint(start, end) + offset(0, value) * 1.2,
        );
        text(
            svg,
            &format!("{class}-fill"),
            "middle",
            middle,
            &series.name,
        );
    }
}

fn text(svg: &mut String, class: &str, anchor: &str, (x, y): (f64, f64), content: &str) {
    let _ = writeln!(
        svg,
        "<text class=\"{class}\" text-anchor=\"{anchor}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
        escaped(content)
    );
}

/// A number with three digits at most, such as "1.3", "250" or "10 M".
fn short(number: f64) -> String {
    let (number, unit) = match number {
        million if million >= 999_500.0 => (million / 1e6, " M"),
        thousand if thousand >= 9_995.0 => (thousand / 1e3, " k"),
        other => (other, ""),
    };
    let digits = match number {
        large if large >= 99.95 => 0,
        medium if medium >= 9.995 => 1,
        _ => 2,
    };
    let text = format!("{number:.digits$}");
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    format!("{text}{unit}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (number, text) in [
            (0.0, "0"),
            (1.25, "1.25"),
            (12.5, "12.5"),
            (619.2, "619"),
            (2_777.0, "2777"),
            (10_000.0, "10 k"),
            (1_000_099.0, "1 M"),
            (10_000_000.0, "10 M"),
        ] {
            assert_eq!(short(number), text);
        }
    }

    #[test]
    fn a_linear_axis_starts_at_zero_and_has_room_above_the_values() {
        let (axis, ticks) = Axis::of_values([12.0, 30.0].into_iter());
        assert!(!axis.is_logarithmic);
        assert_eq!(ticks, [0.0, 10.0, 20.0, 30.0, 40.0]);
        assert!(axis.at(30.0) > MARGINS.1);
    }

    #[test]
    fn values_that_are_far_apart_have_a_logarithmic_axis() {
        let (axis, ticks) = Axis::of_values([0.4, 35.0].into_iter());
        assert!(axis.is_logarithmic);
        let expected = [0.1, 1.0, 10.0, 100.0];
        assert_eq!(ticks.len(), expected.len());
        for (tick, expected) in ticks.iter().zip(expected) {
            assert!((tick / expected - 1.0).abs() < 1e-9, "{ticks:?}");
        }
    }

    #[test]
    fn larger_values_are_higher_and_all_points_are_in_their_panel() {
        let series = Series {
            name: "a < b".to_owned(),
            points: vec![(1e4, 5.0), (1e5, 9.0)],
        };
        let panel = Panel {
            title: "A & B".to_owned(),
            series: vec![series],
        };
        let svg = draw("title", &[panel]);
        assert!(svg.contains("A &amp; B") && svg.contains("a &lt; b"));
        let (_, points) = svg.split_once("points=\"").unwrap();
        let (points, _) = points.split_once('"').unwrap();
        let points: Vec<(f64, f64)> = points
            .split(' ')
            .map(|point| point.split_once(',').unwrap())
            .map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap()))
            .collect();
        assert!(points[0].0 < points[1].0 && points[0].1 > points[1].1);
        for (x, y) in points {
            assert!((0.0..PANEL.0).contains(&x) && (0.0..PANEL.1).contains(&y));
        }
    }
}
