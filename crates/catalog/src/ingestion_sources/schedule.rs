//! Schedules of ingestion sources: cron expressions and time zones. Docent stores them, and an
//! executor follows them.

use serde::Serialize;

use crate::Error;
use crate::times::time_zone;

/// When a source is to be run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Schedule {
    /// A cron expression.
    pub interval: String,
    pub timezone: String,
}

/// The fields of a cron expression with five fields: the name, the smallest and the largest number,
/// and the names that stand for numbers.
const FIELDS: [(&str, u32, u32, &[&str]); 5] = [
    ("minute", 0, 59, &[]),
    ("hour", 0, 23, &[]),
    ("day of month", 1, 31, &[]),
    ("month", 1, 12, &MONTHS),
    ("day of week", 0, 7, &DAYS),
];
const SECOND: (&str, u32, u32, &[&str]) = ("second", 0, 59, &[]);
const MONTHS: [&str; 12] = [
    "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
];
const DAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
const MACROS: [&str; 7] = [
    "@yearly",
    "@annually",
    "@monthly",
    "@weekly",
    "@daily",
    "@midnight",
    "@hourly",
];

impl Schedule {
    pub(super) fn check(&self) -> Result<(), Error> {
        check_cron(&self.interval)?;
        time_zone(Some(&self.timezone))?;
        Ok(())
    }
}

fn check_cron(text: &str) -> Result<(), Error> {
    let invalid = |why: String| {
        Error::invalid(format!(
            "the interval '{text}' is not a cron expression: {why}. Use five fields, for example 0 2 * * *"
        ))
    };
    if MACROS.contains(&text) {
        return Ok(());
    }
    let parts: Vec<&str> = text.split_whitespace().collect();
    let fields: Vec<_> = match parts.len() {
        5 => FIELDS.to_vec(),
        6 => [SECOND].into_iter().chain(FIELDS).collect(),
        count => return Err(invalid(format!("it has {count} fields"))),
    };
    for (part, field) in parts.iter().zip(fields) {
        if !part.split(',').all(|item| is_item(item, field)) {
            return Err(invalid(format!("the {} is '{part}'", field.0)));
        }
    }
    Ok(())
}

/// Whether a text is one item of the list in a field: `*`, a value or a range, with an optional
/// step; or a special day, such as the last one of a month.
fn is_item(item: &str, (name, min, max, names): (&str, u32, u32, &[&str])) -> bool {
    let number = |text: &str| -> Option<u32> {
        let by_name = names.iter().position(|it| it.eq_ignore_ascii_case(text));
        match by_name {
            Some(at) => u32::try_from(at).ok().map(|at| at + min),
            None => text
                .parse()
                .ok()
                .filter(|it| (min..=max).contains(it) && !text.starts_with('+')),
        }
    };
    let is_day = name.starts_with("day");
    let is_special = |text: &str| {
        let nth = text.split_once('#').is_some_and(|(day, nth)| {
            number(day).is_some() && matches!(nth, "1" | "2" | "3" | "4" | "5")
        });
        let last = text.strip_suffix('L').or_else(|| text.strip_suffix('W'));
        text == "?"
            || nth
            || last.is_some_and(|day| day.is_empty() || number(day).is_some())
            || text == "LW"
    };
    let (range, step) = match item.split_once('/') {
        Some((range, step)) => (range, Some(step)),
        None => (item, None),
    };
    if let Some(step) = step
        && !step.parse::<u32>().is_ok_and(|it| it > 0)
    {
        return false;
    }
    match range.split_once('-') {
        Some((from, to)) => number(from).is_some() && number(to).is_some(),
        None => {
            range == "*" || number(range).is_some() || is_day && step.is_none() && is_special(range)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cron_expressions_are_checked_field_by_field() {
        for text in [
            "0 2 * * *",
            "*/15 0-6,22 1,15 JAN-mar MON-FRI",
            "0 0 2 * * 1",
            "0 0 L * ?",
            "0 0 ? * FRI#2",
            "@daily",
        ] {
            check_cron(text).unwrap();
        }
        for (text, part) in [
            ("", "0 fields"),
            ("daily", "1 fields"),
            ("60 2 * * *", "the minute is '60'"),
            ("0 2 * * MOON", "the day of week is 'MOON'"),
            ("0 2 0 * *", "the day of month is '0'"),
            ("0 */0 * * *", "the hour is '*/0'"),
            ("0 2 * * * * *", "7 fields"),
            ("0 L * * *", "the hour is 'L'"),
        ] {
            let error = check_cron(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn the_time_zone_must_be_known() {
        let schedule = |timezone: &str| Schedule {
            interval: "0 2 * * *".to_owned(),
            timezone: timezone.to_owned(),
        };
        schedule("UTC").check().unwrap();
        schedule("Europe/Berlin").check().unwrap();
        schedule("Mars/Base").check().unwrap_err();
    }
}
