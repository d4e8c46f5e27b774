//! A bucket of an object store that speaks S3's protocol.
//!
//! Credentials, region and address come from the variables that other programs use. The requests
//! are signed by `rusty-s3` and sent by our client. Files go in parts, so that a large store takes
//! little memory, and a part that fails is sent again.

use std::fmt;
use std::io::{Read, Write};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, ensure};
use bytes::Bytes;
use docent_client::{HttpClient, Limits};
use http::header::{ETAG, RANGE};
use http::{Method, Request, Response, StatusCode};
use rusty_s3::UrlStyle;
use rusty_s3::actions::{
    CompleteMultipartUpload, CompleteMultipartUploadResponse, CreateMultipartUpload, ListObjectsV2,
    ListObjectsV2Response, S3Action,
};
use url::Url;

use super::Progress;
use super::credentials::CredentialsSource;

/// Parts of an upload or a download.
const PART_BYTES: u64 = 16 * 1024 * 1024;
/// The protocol allows ten thousand.
const MAX_PARTS: u64 = 9_000;
/// The beginning of the names of all our objects.
const OWN: &str = "docent-";
const TRIES: u32 = 4;
/// Doubled after each try.
const PAUSE: Duration = Duration::from_secs(1);
/// For how long a signature is valid.
const VALIDITY: Duration = Duration::from_mins(15);
const LIMITS: Limits = Limits {
    timeout: Duration::from_mins(5),
    response_bytes: 17 * 1024 * 1024,
};
const DEFAULT_REGION: &str = "us-east-1";

#[derive(Clone)]
pub(crate) struct Bucket {
    bucket: rusty_s3::Bucket,
    credentials: CredentialsSource,
    /// Ends with a slash, unless it is empty.
    prefix: String,
    client: HttpClient,
}

impl fmt::Debug for Bucket {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Bucket({self})")
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = format!("{}/{}", self.bucket.name(), self.prefix);
        formatter.write_str(path.trim_end_matches('/'))
    }
}

impl Bucket {
    /// Parses `BUCKET/PREFIX`.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let (name, prefix) = text.split_once('/').unwrap_or((text, ""));
        let prefix = prefix.trim_matches('/');
        let credentials = CredentialsSource::find()?;
        let region = variable(["AWS_REGION", "AWS_DEFAULT_REGION"]);
        let region = region.unwrap_or_else(|| DEFAULT_REGION.to_owned());
        let (endpoint, style) = match variable(["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]) {
            Some(endpoint) => (endpoint, UrlStyle::Path),
            None => (
                format!("https://s3.{region}.amazonaws.com"),
                UrlStyle::VirtualHost,
            ),
        };
        let endpoint = Url::parse(&endpoint)
            .context("AWS_ENDPOINT_URL is not a URL: use for example https://s3.example.com")?;
        let bucket = rusty_s3::Bucket::new(endpoint, style, name.to_owned(), region);
        Ok(Self {
            bucket: bucket.with_context(|| {
                format!("s3://{text} is not a bucket: use for example s3://backups/docent")
            })?,
            credentials,
            prefix: if prefix.is_empty() {
                String::new()
            } else {
                format!("{prefix}/")
            },
            client: HttpClient::default(),
        })
    }

    /// Our objects in a folder below the prefix, with their sizes in bytes.
    pub(super) async fn objects(&self, folder: &str) -> Result<Vec<(String, u64)>> {
        let slash = if folder.is_empty() { "" } else { "/" };
        let prefix = format!("{}{folder}{slash}", self.prefix);
        // Not the objects in other folders.
        let begin = format!("{prefix}{OWN}");
        let mut objects = Vec::new();
        let mut next = None;
        loop {
            let credentials = self.credentials.read()?;
            let mut action = ListObjectsV2::new(&self.bucket, Some(&credentials));
            action.with_prefix(begin.as_str());
            if let Some(next) = next.take() {
                action.with_continuation_token(next);
            }
            let page = self.expect_success(&action, Bytes::new()).await?;
            let page: ListObjectsV2Response = ListObjectsV2::parse_response(text(&page)?)?;
            let own = page.contents.iter().filter_map(|object| {
                let name = object.key.strip_prefix(&prefix)?;
                Some((name.to_owned(), object.size.unwrap_or_default()))
            });
            objects.extend(own);
            next = page.next_continuation_token;
            if next.is_none() {
                return Ok(objects);
            }
        }
    }

    /// Uploads what `source` has, so many bytes.
    pub(super) async fn upload(
        &self,
        mut source: impl Read,
        total: u64,
        path: &str,
        progress: Progress,
    ) -> Result<()> {
        let key = self.key(path);
        if total > PART_BYTES {
            return self.upload_parts(source, total, &key, progress).await;
        }
        let mut body = Vec::new();
        source.read_to_end(&mut body)?;
        let credentials = self.credentials.read()?;
        let action = self.bucket.put_object(Some(&credentials), &key);
        let sent = self.expect_success(&action, body.into()).await;
        sent.map(drop)
            .with_context(|| format!("cannot upload {key}"))
    }

    async fn upload_parts(
        &self,
        mut source: impl Read,
        total: u64,
        key: &str,
        mut progress: Progress,
    ) -> Result<()> {
        let part_bytes = PART_BYTES.max(total.div_ceil(MAX_PARTS));
        let credentials = self.credentials.read()?;
        let create = self.bucket.create_multipart_upload(Some(&credentials), key);
        let created = self.expect_success(&create, Bytes::new()).await?;
        let created = CreateMultipartUpload::parse_response(text(&created)?)?;
        let upload = created.upload_id();
        let sent = async {
            let mut tags = Vec::new();
            let mut done = 0;
            while done < total {
                let mut part = Vec::new();
                source.by_ref().take(part_bytes).read_to_end(&mut part)?;
                ensure!(!part.is_empty(), "it has become shorter");
                done += part.len() as u64;
                let number = u16::try_from(tags.len() + 1)?;
                let credentials = self.credentials.read()?;
                let bucket = &self.bucket;
                let action = bucket.upload_part(Some(&credentials), key, number, upload);
                let response = self.request(&action, None, part.into()).await?;
                let tag = response.headers().get(ETAG);
                let tag = tag.and_then(|tag| tag.to_str().ok());
                tags.push(
                    tag.context("the bucket returned no ETag of a part")?
                        .to_owned(),
                );
                progress(done, total);
            }
            let tags = tags.iter().map(String::as_str);
            let credentials = self.credentials.read()?;
            let signer = Some(&credentials);
            let complete = CompleteMultipartUpload::new(&self.bucket, signer, key, upload, tags);
            let body = complete.clone().body();
            let completed = self.expect_success(&complete, body.into()).await?;
            // A failure may have the status 200.
            CompleteMultipartUploadResponse::parse(text(&completed)?)
                .with_context(|| format!("the bucket did not complete {key}"))
        };
        if let Err(error) = sent.await {
            // Best effort: the first error is the one to report.
            if let Ok(credentials) = self.credentials.read() {
                let signer = Some(&credentials);
                let abort = self.bucket.abort_multipart_upload(signer, key, upload);
                let _ = self.expect_success(&abort, Bytes::new()).await;
            }
            return Err(error.context(format!("cannot upload {key}")));
        }
        Ok(())
    }

    pub(super) async fn download(
        &self,
        path: &str,
        mut target: impl Write,
        mut progress: Progress,
    ) -> Result<()> {
        let key = self.key(path);
        let mut done = 0;
        loop {
            let credentials = self.credentials.read()?;
            let action = self.bucket.get_object(Some(&credentials), &key);
            let range = format!("bytes={done}-{}", done + PART_BYTES - 1);
            let response = self.request(&action, Some(&range), Bytes::new()).await?;
            let total = total_bytes(&response)
                .with_context(|| format!("the bucket returned no part of {key}"))?;
            let part = response.into_body();
            target.write_all(&part)?;
            done += part.len() as u64;
            progress(done, total);
            if done >= total {
                return Ok(());
            }
            ensure!(
                !part.is_empty(),
                "{key} ended after {done} of {total} bytes"
            );
        }
    }

    pub(super) async fn has(&self, path: &str) -> Result<bool> {
        let key = self.key(path);
        let credentials = self.credentials.read()?;
        let mut action = ListObjectsV2::new(&self.bucket, Some(&credentials));
        action.with_prefix(key.as_str());
        let page = self.expect_success(&action, Bytes::new()).await?;
        let page: ListObjectsV2Response = ListObjectsV2::parse_response(text(&page)?)?;
        Ok(page.contents.iter().any(|object| object.key == key))
    }

    pub(super) async fn delete(&self, path: &str) -> Result<()> {
        let key = self.key(path);
        let credentials = self.credentials.read()?;
        let action = self.bucket.delete_object(Some(&credentials), &key);
        self.expect_success(&action, Bytes::new()).await?;
        Ok(())
    }

    fn key(&self, path: &str) -> String {
        format!("{}{path}", self.prefix)
    }

    async fn expect_success<'a>(&self, action: &impl S3Action<'a>, body: Bytes) -> Result<Bytes> {
        Ok(self.request(action, None, body).await?.into_body())
    }

    /// Sends a request, again if the bucket cannot be reached or is overloaded.
    async fn request<'a, A: S3Action<'a>>(
        &self,
        action: &A,
        range: Option<&str>,
        body: Bytes,
    ) -> Result<Response<Bytes>> {
        let mut pause = PAUSE;
        for _ in 1..TRIES {
            match self.try_once(action, range, body.clone()).await {
                Err(Failure::Temporary(error)) => {
                    tracing::debug!("{error:#}; trying again in {pause:?}");
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                }
                Err(Failure::Final(error)) => return Err(error),
                Ok(response) => return Ok(response),
            }
        }
        let last = self.try_once(action, range, body).await;
        last.map_err(Failure::into_error)
    }

    async fn try_once<'a, A: S3Action<'a>>(
        &self,
        action: &A,
        range: Option<&str>,
        body: Bytes,
    ) -> Result<Response<Bytes>, Failure> {
        let url = action.sign(VALIDITY);
        let method = Method::from_bytes(A::METHOD.to_str().as_bytes());
        let mut request = Request::builder()
            .method(method.map_err(|error| Failure::Final(error.into()))?)
            .uri(url.as_str());
        if let Some(range) = range {
            request = request.header(RANGE, range);
        }
        let request = request.body(body);
        let request = request.map_err(|error| Failure::Final(error.into()))?;
        let host = self.bucket.base_url().host_str().unwrap_or_default();
        let sent = self.client.send_within(request, LIMITS).await;
        // Not the whole address, which has a signature.
        let response = sent.map_err(|error| Failure::Temporary(anyhow!("{host} {error}")))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let reason = reason(response.body());
        let bucket = self.bucket.name();
        let error = anyhow!("{host} returned {status} for the bucket {bucket}{reason}");
        let is_temporary = status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS;
        Err(if is_temporary {
            Failure::Temporary(error)
        } else {
            Failure::Final(error)
        })
    }
}

/// Why a request failed.
enum Failure {
    Temporary(anyhow::Error),
    Final(anyhow::Error),
}

impl Failure {
    fn into_error(self) -> anyhow::Error {
        match self {
            Self::Temporary(error) | Self::Final(error) => error,
        }
    }
}

fn variable(names: [&str; 2]) -> Option<String> {
    let values = names
        .into_iter()
        .filter_map(|name| std::env::var(name).ok());
    values
        .map(|value| value.trim().to_owned())
        .find(|value| !value.is_empty())
}

fn text(body: &Bytes) -> Result<&str> {
    std::str::from_utf8(body).context("the bucket returned something that is not XML")
}

/// What an error response says, `: CODE: MESSAGE`.
fn reason(body: &[u8]) -> String {
    let body = String::from_utf8_lossy(body);
    let element = |name: &str| {
        let (_, rest) = body.split_once(&format!("<{name}>"))?;
        let (text, _) = rest.split_once(&format!("</{name}>"))?;
        Some(format!(": {text}"))
    };
    ["Code", "Message"]
        .into_iter()
        .filter_map(element)
        .collect()
}

/// The size of the whole object, from a part of it: `bytes 0-99/1234`.
fn total_bytes(response: &Response<Bytes>) -> Option<u64> {
    match response.headers().get("content-range") {
        Some(range) => range.to_str().ok()?.rsplit_once('/')?.1.parse().ok(),
        // The whole object.
        None => Some(response.body().len() as u64),
    }
}
