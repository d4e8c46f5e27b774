//! Password rules and hashes.
//!
//! A password is stored as an argon2id hash in PHC notation, which includes its parameters. Hashing
//! takes a core and [`MEMORY_KIB`] of memory on purpose, so it runs on blocking threads, a few at a
//! time.
//!
//! To change the parameters: change the constants below, and [`NOBODYS_HASH`], which must cost the
//! same. Stored hashes stay valid.

use std::fmt;
use std::sync::Arc;

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use docent_model::aspects::{CorpUserCredentials, Other};
use docent_model::{Urn, hex};
use tokio::sync::Semaphore;

use super::common::is_common;
use crate::Error;
use crate::secret::random;

/// OWASP's advice for argon2id: 19 MiB, two passes, one lane.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;

/// The hash that attempts of unknown users are checked against, so that they take as long as any
/// other.
const NOBODYS_HASH: &str = "$argon2id$v=19$m=19456,t=2,p=1$bm9ib2R5c3NhbHRzYWx0cw$bm9ib2R5J3MgaGFzaCwgd2hpY2ggbm9uZSBjYW4gYmU";

/// New passwords only: shorter ones that were set before still work.
const MIN_CHARACTERS: usize = 12;
pub(crate) const MAX_BYTES: usize = 1024;

/// The length of each queue; beyond it callers get [`crate::ErrorKind::Unavailable`].
const MAX_WAITING: usize = 64;

/// Who waits for a hash. Strangers who fill their queue, from however many addresses, do not keep
/// others out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Queue {
    Strangers,
    /// Devices that signed in before, and callers with a session or an invite link.
    Known,
}

/// A password that follows the rules. Its `Debug` output does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Password(String);

impl Password {
    pub fn new(text: impl Into<String>) -> Result<Self, Error> {
        let text = text.into();
        if text.is_empty() {
            return Err(Error::invalid("the password is empty"));
        }
        if text.chars().any(char::is_control) {
            return Err(Error::invalid(
                "the password must be one line without control characters",
            ));
        }
        if text.chars().count() < MIN_CHARACTERS {
            return Err(Error::invalid(format!(
                "the password is too short: it needs at least {MIN_CHARACTERS} characters"
            )));
        }
        if text.len() > MAX_BYTES {
            return Err(too_long());
        }
        if is_common(&text, None) {
            return Err(too_common());
        }
        Ok(Self(text))
    }

    /// Rejects passwords made of the user's own name.
    pub(crate) fn check_for(&self, user: &Urn) -> Result<(), Error> {
        if is_common(&self.0, Some(user.key())) {
            return Err(too_common());
        }
        Ok(())
    }

    /// 128 random bits in groups that a person can type.
    pub fn generate() -> Result<Self, Error> {
        let digits = hex(&random::<16>()?);
        let groups: Vec<&str> = (0..digits.len())
            .step_by(4)
            .filter_map(|at| digits.get(at..at + 4))
            .collect();
        Ok(Self(groups.join("-")))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Password {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Password")
    }
}

fn too_common() -> Error {
    Error::invalid(
        "the password is easy to guess: it consists of common words, rows of keys, years or the user's name. Add a few \
         uncommon words",
    )
}

pub(crate) fn too_long() -> Error {
    Error::invalid(format!(
        "the password is too long: at most {MAX_BYTES} bytes are allowed"
    ))
}

/// Whether these credentials are our hash. An adopted catalog may have others, which cannot be
/// checked.
pub(crate) fn is_ours(credentials: &CorpUserCredentials) -> bool {
    credentials.hashed_password.starts_with("$argon2id$")
}

/// Bounds the number of concurrent hashes.
#[derive(Debug)]
pub(crate) struct Hashing {
    strangers: Lane,
    known: Lane,
}

#[derive(Debug)]
struct Lane {
    waiting: Semaphore,
    running: Arc<Semaphore>,
}

impl Lane {
    fn new(running: usize) -> Self {
        Self {
            waiting: Semaphore::new(MAX_WAITING),
            running: Arc::new(Semaphore::new(running)),
        }
    }
}

impl Default for Hashing {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        // The other half of the cores keeps serving requests.
        let running = (cores / 2).clamp(1, 8);
        Self {
            strangers: Lane::new(running),
            known: Lane::new(running),
        }
    }
}

impl Hashing {
    /// The credentials to store for a password.
    pub(crate) async fn credentials(
        &self,
        password: &Password,
    ) -> Result<CorpUserCredentials, Error> {
        let salt = random::<16>()?;
        let password = password.clone();
        let hash = self
            .run(Queue::Known, move || {
                let hash = argon2()?.hash_password_with_salt(password.0.as_bytes(), &salt);
                hash.map(|hash: PasswordHash| hash.to_string())
                    .map_err(|error| failed(&error))
            })
            .await??;
        let parsed = PasswordHash::new(&hash).map_err(|error| failed(&error))?;
        Ok(CorpUserCredentials {
            salt: parsed.salt.map(|salt| salt.to_string()).unwrap_or_default(),
            hashed_password: hash,
            password_reset_token: None,
            password_reset_token_expiration_time_millis: None,
            other: Other::new(),
        })
    }

    /// Whether the password matches the credentials. Without credentials it does not, and that
    /// takes as long.
    pub(crate) async fn verify(
        &self,
        credentials: Option<&CorpUserCredentials>,
        attempt: &str,
        queue: Queue,
    ) -> Result<bool, Error> {
        let known = credentials.filter(|credentials| is_ours(credentials));
        let hash = known.map_or(NOBODYS_HASH, |known| &known.hashed_password);
        let hash = PasswordHash::new(hash).map_err(|error| failed(&error))?;
        let attempt = attempt.to_owned();
        let right = self
            .run(queue, move || {
                let verified = argon2()?.verify_password(attempt.as_bytes(), &hash);
                Ok::<_, Error>(verified.is_ok())
            })
            .await??;
        Ok(right && known.is_some())
    }

    async fn run<T: Send + 'static>(
        &self,
        queue: Queue,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        let busy = || {
            Error::unavailable(
                "too many sign-ins are in progress: try again in a moment".to_owned(),
            )
        };
        let lane = match queue {
            Queue::Strangers => &self.strangers,
            Queue::Known => &self.known,
        };
        let _place = lane.waiting.try_acquire().map_err(|_| busy())?;
        let running = Arc::clone(&lane.running);
        let turn = running.acquire_owned().await.map_err(|_| busy())?;
        let done = tokio::task::spawn_blocking(move || {
            // Held until the hash is done, even if the caller has gone.
            let _turn = turn;
            work()
        });
        done.await.map_err(|error| failed(&error))
    }
}

fn argon2() -> Result<Argon2<'static>, Error> {
    let parameters =
        Params::new(MEMORY_KIB, PASSES, LANES, None).map_err(|error| failed(&error))?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, parameters))
}

fn failed(error: &dyn fmt::Display) -> Error {
    Error::unavailable(format!("the password could not be checked: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_hash_of_nobody_costs_what_every_hash_costs() {
        let hashing = Hashing::default();
        let password = Password::new("correct horse").unwrap();
        let stored = hashing.credentials(&password).await.unwrap();
        let real = PasswordHash::new(&stored.hashed_password).unwrap();
        let nobodys = PasswordHash::new(NOBODYS_HASH).unwrap();
        assert_eq!(real.algorithm, nobodys.algorithm);
        assert_eq!(real.version, nobodys.version);
        assert_eq!(real.params, nobodys.params);
        let length = |hash: &PasswordHash| {
            let salt = hash.salt.map(|salt| salt.len());
            (salt, hash.hash.map(|hash| hash.len()))
        };
        assert_eq!(length(&real), length(&nobodys));
    }

    #[tokio::test]
    async fn only_the_password_itself_fits_its_hash() {
        let hashing = Hashing::default();
        let password = Password::new("correct horse").unwrap();
        let stored = hashing.credentials(&password).await.unwrap();
        let again = hashing.credentials(&password).await.unwrap();
        assert_ne!(stored, again, "every hash has a salt of its own");
        assert!(stored.hashed_password.contains(&stored.salt));
        assert!(
            hashing
                .verify(Some(&stored), "correct horse", Queue::Known)
                .await
                .unwrap()
        );
        for wrong in ["correct horsf", "correct horse ", "Correct horse", ""] {
            assert!(
                !hashing
                    .verify(Some(&stored), wrong, Queue::Known)
                    .await
                    .unwrap()
            );
        }
        assert!(
            !hashing
                .verify(None, "correct horse", Queue::Known)
                .await
                .unwrap()
        );
    }

    #[tokio::test]
    async fn no_more_than_a_bounded_number_wait_for_a_hash() {
        let hashing = Hashing {
            strangers: Lane::new(0),
            ..Hashing::default()
        };
        hashing.strangers.waiting.close();
        let refused = hashing
            .verify(None, "x", Queue::Strangers)
            .await
            .unwrap_err();
        assert_eq!(refused.kind(), crate::ErrorKind::Unavailable, "{refused}");
        hashing.verify(None, "x", Queue::Known).await.unwrap();
    }

    #[test]
    fn passwords_that_are_none_are_refused_with_the_rule() {
        for (text, says) in [
            ("", "empty"),
            ("eleven char", "12 characters"),
            ("Passw0rd2026!", "easy to guess"),
            ("two\nlines here", "one line"),
        ] {
            let error = Password::new(text).unwrap_err().to_string();
            assert!(error.contains(says), "{text:?}: {error}");
        }
        assert!(Password::new("x".repeat(MAX_BYTES + 1)).is_err());
        assert!(Password::new("пароль и соль").is_ok());
        let own = Password::new("lovelace lovelace").unwrap();
        assert!(own.check_for(&Urn::new("corpuser", "ada").unwrap()).is_ok());
        let error = own.check_for(&Urn::new("corpuser", "ada.lovelace").unwrap());
        assert!(error.unwrap_err().to_string().contains("user's name"));
        let generated = Password::generate().unwrap();
        assert!(Password::new(generated.as_str()).is_ok());
        assert_ne!(generated, Password::generate().unwrap());
        assert_eq!(format!("{generated:?}"), "Password");
    }
}
