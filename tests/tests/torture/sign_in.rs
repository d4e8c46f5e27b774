//! Strangers who guess passwords as fast as they can.
//!
//! `DOCENT_TORTURE_SECONDS` sets how long.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, ensure};
use docent_e2e::figures::{number_from, record};
use docent_e2e::{Options, Server};
use reqwest::blocking::{Client, Response};
use reqwest::header::{COOKIE, SET_COOKIE};
use serde_json::json;

/// More than may wait for a hash, so that the queue of strangers is always full.
const STRANGERS: u64 = 80;

/// How often the administrator signs in during an attack: fewer than one address may.
const SIGN_INS: u32 = 20;

/// Signs in like a client of this address behind a proxy.
fn sign_in(
    server: &Server,
    client: &Client,
    address: &str,
    password: &str,
    cookies: &str,
) -> anyhow::Result<Response> {
    let request = client
        .post(format!("{}/logIn", server.address()))
        .header("X-Forwarded-For", address)
        .header(COOKIE, cookies)
        .json(&json!({"username": "datahub", "password": password}));
    Ok(request.send()?)
}

fn client() -> anyhow::Result<Client> {
    let client = Client::builder().no_proxy().timeout(Duration::from_mins(1));
    Ok(client.build()?)
}

/// Guesses with another address each time, or always with the same one.
fn guess(
    server: &Server,
    stranger: u64,
    one_address: bool,
    is_over: &AtomicBool,
    attempts: &AtomicU64,
) -> anyhow::Result<()> {
    let client = client()?;
    while !is_over.load(Ordering::SeqCst) {
        let number = attempts.fetch_add(1, Ordering::SeqCst);
        let address = if one_address {
            "198.51.100.1".to_owned()
        } else {
            let (high, low) = (number / 250 % 250, number % 250 + 1);
            format!("10.{stranger}.{high}.{low}")
        };
        let reply = sign_in(server, &client, &address, "a wrong guess", "")?;
        let status = reply.status().as_u16();
        ensure!([401, 429, 503].contains(&status), "{reply:?}");
        if status != 401 {
            ensure!(reply.headers().contains_key("retry-after"), "{reply:?}");
        }
    }
    Ok(())
}

/// Signs in now and then for a time, and returns how long the slowest took.
fn slowest_of(
    sign_in: impl Fn() -> anyhow::Result<Response>,
    time: Duration,
) -> anyhow::Result<Duration> {
    let mut slowest = Duration::ZERO;
    for _ in 0..SIGN_INS {
        thread::sleep(time / SIGN_INS);
        let started = Instant::now();
        let reply = sign_in()?;
        ensure!(reply.status() == 200, "{reply:?}");
        slowest = slowest.max(started.elapsed());
    }
    Ok(slowest)
}

#[test]
fn load_of_strangers_who_guess_passwords_locks_nobody_out() -> anyhow::Result<()> {
    let time = Duration::from_secs(number_from("DOCENT_TORTURE_SECONDS", 4)?) / 2;
    let options = Options::default().argument("--trusted-proxy");
    let server = Server::start(options.argument("127.0.0.1/32"))?;
    let line = server.printed_line("password: ")?;
    let password = line.trim_start_matches("password: ");
    let administrator = client()?;
    let office = "192.0.2.1";
    let first = sign_in(&server, &administrator, office, password, "")?;
    ensure!(first.status() == 200, "{first:?}");
    let cookies = first.headers().get_all(SET_COOKIE).iter();
    let pair = |cookie: &str| cookie.split(';').next().map(str::to_owned);
    let cookies = cookies.filter_map(|it| pair(it.to_str().ok()?));
    let device = cookies.into_iter().find(|it| it.contains("device"));
    let device = device.context("no cookie of the device")?;

    let mut figures = Vec::new();
    for (strangers, one_address, cookies) in [(8, true, ""), (STRANGERS, false, device.as_str())] {
        let (is_over, attempts) = (AtomicBool::new(false), AtomicU64::new(0));
        let slowest = thread::scope(|scope| {
            let guessing: Vec<_> = (0..strangers)
                .map(|stranger| {
                    let (server, is_over, attempts) = (&server, &is_over, &attempts);
                    scope.spawn(move || guess(server, stranger, one_address, is_over, attempts))
                })
                .collect();
            let slowest = slowest_of(
                || sign_in(&server, &administrator, office, password, cookies),
                time,
            );
            is_over.store(true, Ordering::SeqCst);
            for guessing in guessing {
                guessing
                    .join()
                    .map_err(|_| anyhow!("a client panicked"))??;
            }
            slowest
        })?;
        let attempts = attempts.load(Ordering::SeqCst);
        ensure!(attempts > strangers, "only {attempts} attempts");
        figures.push(format!(
            "{attempts} guesses of {strangers} strangers: {slowest:.1?}"
        ));
    }
    let figures = figures.join("; ");
    record(
        "sign-in during an attack",
        &format!("slowest sign-in of the administrator among {figures}"),
    )
}
