//! Where traces are sent.

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use url::Url;

const DEFAULT_SAMPLE: f64 = 1.0;

#[derive(Debug, Args, Clone, Default)]
pub(crate) struct OtlpFlags {
    #[arg(
        long,
        env = "DOCENT_OTLP",
        value_name = "URL",
        help = "Collector of OpenTelemetry traces, for example http://localhost:4318 [default: none]"
    )]
    otlp: Option<String>,
    /// Share of the requests that are traced, from 0 to 1; the client's traceparent takes
    /// precedence [default: 1]
    #[arg(long, env = "DOCENT_OTLP_SAMPLE", value_name = "SHARE")]
    otlp_sample: Option<f64>,
}

/// Where traces are sent, and how many.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OtlpSettings {
    pub(crate) collector: Url,
    pub(crate) sample: f64,
}

impl OtlpSettings {
    /// `None` if no traces are made.
    pub(super) fn resolve(
        flags: OtlpFlags,
        collector_in_file: Option<String>,
        sample_in_file: Option<f64>,
    ) -> Result<Option<Self>> {
        let sample = flags.otlp_sample.or(sample_in_file);
        let Some(collector) = flags.otlp.or(collector_in_file) else {
            if sample.is_some() {
                bail!("--otlp-sample needs --otlp, the collector of the traces");
            }
            return Ok(None);
        };
        let sample = sample.unwrap_or(DEFAULT_SAMPLE);
        ensure!(
            (0.0..=1.0).contains(&sample),
            "--otlp-sample is {sample}: use a share of the requests from 0 to 1, for example 0.1"
        );
        Ok(Some(Self {
            collector: parse_collector(&collector)?,
            sample,
        }))
    }
}

fn parse_collector(text: &str) -> Result<Url> {
    let wrong = "--otlp is not the address of a collector: use for example http://localhost:4318";
    let url = Url::parse(text).context(wrong)?;
    ensure!(
        ["http", "https"].contains(&url.scheme()) && url.has_host(),
        wrong
    );
    ensure!(
        url.username().is_empty() && url.password().is_none(),
        "--otlp must not contain a user or a password: set OTEL_EXPORTER_OTLP_HEADERS instead"
    );
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(otlp: Option<&str>, sample: Option<f64>) -> Result<Option<OtlpSettings>> {
        let flags = OtlpFlags {
            otlp: otlp.map(ToOwned::to_owned),
            otlp_sample: sample,
        };
        OtlpSettings::resolve(flags, None, None)
    }

    #[test]
    fn traces_need_a_collector_and_a_share() {
        assert_eq!(resolve(None, None).unwrap(), None);
        let settings = resolve(Some("http://localhost:4318"), None).unwrap();
        let expected = OtlpSettings {
            collector: Url::parse("http://localhost:4318").unwrap(),
            sample: DEFAULT_SAMPLE,
        };
        assert_eq!(settings, Some(expected));
        for (otlp, sample, says) in [
            (None, Some(0.5), "needs --otlp"),
            (Some("localhost:4318"), None, "http://localhost:4318"),
            (Some("http://a:SECRET@b"), None, "must not contain"),
            (Some("http://localhost:4318"), Some(1.5), "from 0 to 1"),
            (Some("http://localhost:4318"), Some(f64::NAN), "from 0 to 1"),
        ] {
            let error = format!("{:#}", resolve(otlp, sample).unwrap_err());
            assert!(error.contains(says), "{error}");
            assert!(!error.contains("SECRET"), "{error}");
        }
    }
}
