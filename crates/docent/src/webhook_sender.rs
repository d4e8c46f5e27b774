//! Sends the events of webhooks, to public addresses unless the settings name others: whoever
//! manages webhooks must not reach what only the server can reach, such as the metadata service of
//! a cloud.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use docent_catalog::webhooks::{EventSender, Headers, SendFailure};
use docent_client::{ClientError, HttpClient, Limits};
use http::Request;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use ipnet::IpNet;
use url::Url;

/// Receivers have nothing to say but a status.
const LIMITS: Limits = Limits {
    timeout: Duration::from_secs(10),
    response_bytes: 0,
};

#[derive(Debug)]
pub(crate) struct WebhookSender {
    client: HttpClient,
    /// Networks that are allowed besides public ones.
    allowed: Vec<IpNet>,
}

impl WebhookSender {
    pub(crate) fn new(client: HttpClient, allowed: Vec<IpNet>) -> Self {
        Self { client, allowed }
    }

    fn allows(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        is_public(address)
            || self
                .allowed
                .iter()
                .any(|network| network.contains(&address))
    }
}

#[async_trait]
impl EventSender for WebhookSender {
    fn check(&self, url: &Url) -> Result<(), String> {
        let host = url.host_str().unwrap_or_default();
        let address = host.trim_matches(['[', ']']).parse().ok();
        match address {
            Some(address) if !self.allows(address) => Err(format!(
                "{address} is not a public address: start the server with --webhook-allow-private {address} to allow it"
            )),
            _ => Ok(()),
        }
    }

    async fn send(
        &self,
        url: &Url,
        content_type: &'static str,
        headers: &Headers,
        body: String,
    ) -> Result<(), SendFailure> {
        let failed = |reason: String| SendFailure {
            reason,
            retry_after_ms: None,
        };
        let mut request = Request::post(url.as_str()).header(CONTENT_TYPE, content_type);
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        let request = request.body(Bytes::from(body));
        let request = request.map_err(|error| failed(error.to_string()))?;
        let check = |address| self.allows(address);
        let sent = self.client.send_checked(request, LIMITS, &check).await;
        let response = sent.map_err(|error| {
            failed(match error {
                ClientError::Refused(address) => format!(
                    "{address} is not a public address, and --webhook-allow-private does not name it"
                ),
                error => format!("the receiver {error}"),
            })
        })?;
        let status = response.status();
        let reason = if status.is_success() {
            return Ok(());
        } else if status.is_redirection() {
            format!(
                "the receiver redirects (status {}), which is not followed: set the address that it redirects to",
                status.as_u16()
            )
        } else {
            format!("the receiver returned the status {}", status.as_u16())
        };
        let wait = response.headers().get(RETRY_AFTER);
        let wait: Option<i64> = wait.and_then(|value| value.to_str().ok()?.trim().parse().ok());
        Err(SendFailure {
            reason,
            retry_after_ms: wait
                .filter(|seconds| *seconds >= 0)
                .map(|seconds| seconds.saturating_mul(1000)),
        })
    }
}

/// Whether an address is one of the internet. What is not known to be is not.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = a == 0
        || address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (18..20).contains(&b))
        // Multicast, reserved, broadcast.
        || a >= 224;
    !is_special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let embedded = |high: u16, low: u16| {
        let bits = (u32::from(high) << 16) | u32::from(low);
        is_public_v4(Ipv4Addr::from_bits(bits))
    };
    match address.segments() {
        // Translated to version 4 by the network.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => embedded(high, low),
        // Protocol assignments with tunnels, and documentation.
        [0x2001, second, ..] if second < 0x200 || second == 0xdb8 => false,
        [0x3fff, second, ..] if second < 0x1000 => false,
        // The only addresses that are assigned to the internet.
        [first, ..] => (0x2000..0x4000).contains(&first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_internet_are_public() {
        for text in [
            "93.184.216.34",
            "1.1.1.1",
            "100.128.0.1",
            "172.32.0.1",
            "2606:4700::1111",
            "64:ff9b::101:101",
        ] {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
        for text in [
            "0.0.0.0",
            "0.1.2.3",
            "10.1.2.3",
            "100.64.0.1",
            "127.0.0.1",
            "127.8.8.8",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "203.0.113.1",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "fc00::1",
            "fd12::1",
            "fe80::1",
            "ff02::1",
            "2001:db8::1",
            "2001::1",
            "2002:7f00:1::1",
            "2002:a9fe:a9fe::1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
        ] {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn private_networks_are_allowed_by_name() {
        let client = HttpClient::default();
        let sender = WebhookSender::new(client, vec!["127.0.0.0/8".parse().unwrap()]);
        let check = |text: &str| sender.check(&Url::parse(text).unwrap());
        for allowed in [
            "http://127.0.0.1:9000/x",
            "http://[::ffff:127.0.0.1]/x",
            "https://example.com",
            // Its addresses are checked when it is resolved.
            "http://localhost",
        ] {
            assert_eq!(check(allowed), Ok(()), "{allowed}");
        }
        for refused in [
            "http://10.0.0.1",
            "http://169.254.169.254/latest/meta-data",
            "http://[::1]:80",
            "http://[::ffff:10.0.0.1]",
            // A number is an address, too.
            "http://0xa000001/",
        ] {
            let error = check(refused).unwrap_err();
            assert!(error.contains("--webhook-allow-private"), "{error}");
        }
    }
}
