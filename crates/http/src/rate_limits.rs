//! Limits the rate of requests, per address and per token or session.

use docent_catalog::Catalog;
use docent_catalog::rate::{RateLimiter, network};
use docent_model::EpochMillis;

use crate::HttpSettings;
use crate::client::Client;
use crate::error::ErrorResponse;
use crate::page::without_base;

/// Both limits; `None` for any rate.
#[derive(Debug, Default)]
pub(crate) struct RateLimits {
    per_address: Option<RateLimiter>,
    per_secret: Option<RateLimiter>,
}

impl RateLimits {
    pub(crate) fn new(settings: &HttpSettings) -> Self {
        Self {
            per_address: settings.address_rate_limit.map(RateLimiter::new),
            per_secret: settings.token_rate_limit.map(RateLimiter::new),
        }
    }

    /// Whether two settings have the same limits, so that what was counted remains valid.
    pub(crate) fn are_equal(one: &HttpSettings, other: &HttpSettings) -> bool {
        let limits = |it: &HttpSettings| (it.address_rate_limit, it.token_rate_limit);
        limits(one) == limits(other)
    }

    /// Counts a request of an address. Health checks are exempt: a busy server is not a dead one.
    pub(crate) fn check_address(
        &self,
        client: &Client,
        path: &str,
        catalog: &Catalog,
    ) -> Result<(), ErrorResponse> {
        let Some(limiter) = self
            .per_address
            .as_ref()
            .filter(|_| !is_health(without_base(path)))
        else {
            return Ok(());
        };
        limiter
            .take(&client.address().map(network), catalog.now_ms())
            .map_err(|wait_ms| rejected("from this address", "--address-rate-limit", wait_ms))
    }

    /// Counts a request with a valid token or session.
    pub(crate) fn check_secret(
        &self,
        secret: &str,
        catalog: &Catalog,
    ) -> Result<(), ErrorResponse> {
        let Some(limiter) = &self.per_secret else {
            return Ok(());
        };
        limiter
            .take(&secret, catalog.now_ms())
            .map_err(|wait_ms| rejected("with this token", "--token-rate-limit", wait_ms))
    }
}

/// Whether a path, without its base, is that of a health check.
pub(crate) fn is_health(path: &str) -> bool {
    path == "/health" || path.starts_with("/health/") || path == "/check/ready"
}

fn rejected(origin: &str, flag: &str, wait_ms: EpochMillis) -> ErrorResponse {
    ErrorResponse::too_many_requests(wait_ms, |seconds| {
        format!(
            "Too many requests {origin}. Try again in {seconds} s; an administrator can raise the limit with {flag}."
        )
    })
}
