//! Where traces are sent.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use clap::Args;
use http::header::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

const DEFAULT_SAMPLE: f64 = 1.0;
const MAX_HEADERS_BYTES: u64 = 64 * 1024;

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
    /// File with headers that the collector requires, NAME: VALUE in each line, reread when it
    /// changes [default: none]
    #[arg(long, env = "DOCENT_OTLP_HEADERS_FILE", value_name = "FILE")]
    otlp_headers_file: Option<PathBuf>,
}

impl OtlpFlags {
    /// These flags, and for those that are missing the keys in the file.
    pub(super) fn or(self, file: Self) -> Self {
        Self {
            otlp: self.otlp.or(file.otlp),
            otlp_sample: self.otlp_sample.or(file.otlp_sample),
            otlp_headers_file: self.otlp_headers_file.or(file.otlp_headers_file),
        }
    }

    /// As keys of the file.
    pub(super) fn new(
        otlp: Option<String>,
        otlp_sample: Option<f64>,
        otlp_headers_file: Option<PathBuf>,
    ) -> Self {
        Self {
            otlp,
            otlp_sample,
            otlp_headers_file,
        }
    }
}

/// Where traces are sent, and how many.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OtlpSettings {
    pub(crate) collector: Url,
    pub(crate) sample: f64,
    /// Headers of requests to the collector.
    pub(crate) headers_file: Option<PathBuf>,
}

impl OtlpSettings {
    /// `None` if no traces are made.
    pub(super) fn resolve(flags: OtlpFlags) -> Result<Option<Self>> {
        let (sample, headers_file) = (flags.otlp_sample, flags.otlp_headers_file);
        let Some(collector) = flags.otlp else {
            if sample.is_some() || headers_file.is_some() {
                bail!(
                    "--otlp-sample and --otlp-headers-file need --otlp, the collector of the traces"
                );
            }
            return Ok(None);
        };
        if let Some(path) = &headers_file {
            read_headers(path)?;
        }
        let sample = sample.unwrap_or(DEFAULT_SAMPLE);
        ensure!(
            (0.0..=1.0).contains(&sample),
            "--otlp-sample is {sample}: use a share of the requests from 0 to 1, for example 0.1"
        );
        Ok(Some(Self {
            collector: parse_collector(&collector)?,
            sample,
            headers_file,
        }))
    }
}

/// Reads the headers for the collector. Errors do not repeat them.
pub(crate) fn read_headers(path: &Path) -> Result<HeaderMap> {
    let name = path.display();
    let failed = || format!("cannot read the file with headers {name}");
    let mut text = String::new();
    let file = File::open(path).with_context(failed)?;
    let mut limited = file.take(MAX_HEADERS_BYTES);
    limited.read_to_string(&mut text).with_context(failed)?;
    let mut headers = HeaderMap::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let (header, mut value) = parse_header(line).with_context(|| {
            let number = index + 1;
            format!(
                "line {number} of {name} is no header: use for example Authorization: Bearer TOKEN"
            )
        })?;
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    Ok(headers)
}

fn parse_header(line: &str) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = line.split_once(':')?;
    let name = HeaderName::from_bytes(name.trim().as_bytes()).ok()?;
    Some((name, HeaderValue::from_str(value.trim()).ok()?))
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
        "--otlp must not contain a user or a password: set --otlp-headers-file instead"
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
            otlp_headers_file: None,
        };
        OtlpSettings::resolve(flags)
    }

    #[test]
    fn traces_need_a_collector_and_a_share() {
        assert_eq!(resolve(None, None).unwrap(), None);
        let settings = resolve(Some("http://localhost:4318"), None).unwrap();
        let expected = OtlpSettings {
            collector: Url::parse("http://localhost:4318").unwrap(),
            sample: DEFAULT_SAMPLE,
            headers_file: None,
        };
        assert_eq!(settings, Some(expected));
        for (otlp, sample, says) in [
            (None, Some(0.5), "need --otlp"),
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

    #[test]
    fn headers_are_lines_and_not_in_messages() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("headers");
        std::fs::write(&path, "Authorization: Bearer a:b\n\nX-Tenant:one\n").unwrap();
        let headers = read_headers(&path).unwrap();
        assert_eq!(headers["authorization"], "Bearer a:b");
        assert_eq!(headers["x-tenant"], "one");
        std::fs::write(&path, "X-Tenant: one\nBearer SECRET\n").unwrap();
        let flags = OtlpFlags::new(Some("http://localhost:4318".to_owned()), None, Some(path));
        let error = format!("{:#}", OtlpSettings::resolve(flags.clone()).unwrap_err());
        assert!(
            error.contains("line 2") && !error.contains("SECRET"),
            "{error}"
        );
        let alone = OtlpFlags {
            otlp: None,
            ..flags
        };
        let error = OtlpSettings::resolve(alone).unwrap_err().to_string();
        assert!(error.contains("need --otlp"), "{error}");
    }
}
