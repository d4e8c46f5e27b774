//! An empty database for tests that are not written in Rust: prints its URL, and removes it when
//! standard input ends.

use std::io::{Read as _, Write as _};

use docent_test_postgres::Database;

fn main() -> anyhow::Result<()> {
    let database = Database::empty()?;
    let mut output = std::io::stdout();
    writeln!(output, "{}", database.url())?;
    output.flush()?;
    // Whoever asked for it holds the other end, and lets go of it even when killed.
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
