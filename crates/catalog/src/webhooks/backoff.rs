//! When a delivery that failed is tried again.

use docent_model::EpochMillis;

use crate::secret::random;

/// The longest wait that a receiver can ask for.
const MAX_ASKED_MS: EpochMillis = 60 * 60 * 1000;
/// Doubling a wait more often would only overflow.
const MAX_DOUBLINGS: u32 = 20;

/// Waits that double from the first to the longest.
#[derive(Debug, Clone, Copy)]
pub(super) struct Backoff {
    pub(super) first_ms: EpochMillis,
    pub(super) longest_ms: EpochMillis,
}

impl Backoff {
    /// How long to wait after so many failures, at least as long as the receiver asks for. Random
    /// by a fifth, so that many deliveries that failed together do not come back together.
    pub(super) fn after(self, failures: u32, asked_ms: Option<EpochMillis>) -> EpochMillis {
        // Without random numbers, all wait for the same time.
        let random = random().map_or(128, |[byte]: [u8; 1]| byte);
        self.with_jitter(failures, random)
            .max(asked_ms.unwrap_or_default().min(MAX_ASKED_MS))
    }

    fn with_jitter(self, failures: u32, random: u8) -> EpochMillis {
        let doublings = failures.saturating_sub(1).min(MAX_DOUBLINGS);
        let wait = self.first_ms.saturating_mul(1 << doublings);
        let wait = wait.min(self.longest_ms);
        // From 80 to 120 %.
        wait * (204 + EpochMillis::from(random) * 2 / 5) / 255
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACKOFF: Backoff = Backoff {
        first_ms: 5_000,
        longest_ms: 3_600_000,
    };

    #[test]
    fn waits_double_up_to_the_longest() {
        let waits: Vec<_> = (1..=11).map(|it| BACKOFF.with_jitter(it, 128)).collect();
        for (pair, is_last) in waits.windows(2).zip((1..).map(|it| it >= 10)) {
            let expected = if is_last { 3_600_000 } else { 2 * pair[0] };
            assert!((pair[1] - expected).abs() <= expected / 100, "{waits:?}");
        }
        assert_eq!(
            BACKOFF.with_jitter(u32::MAX, 128),
            BACKOFF.with_jitter(20, 128)
        );
    }

    #[test]
    fn waits_differ_by_a_fifth_at_most() {
        assert_eq!(BACKOFF.with_jitter(1, 0), 4_000);
        assert_eq!(BACKOFF.with_jitter(1, 255), 6_000);
    }

    #[test]
    fn a_receiver_may_ask_for_an_hour_at_most() {
        assert_eq!(BACKOFF.after(1, Some(30_000)), 30_000);
        assert_eq!(BACKOFF.after(1, Some(EpochMillis::MAX)), MAX_ASKED_MS);
        assert!(BACKOFF.after(1, Some(0)) >= 4_000);
    }
}
