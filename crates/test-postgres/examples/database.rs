//! Creates an empty database for tests in other languages: prints its URL, and drops it when
//! standard input ends.

use std::io::{Read as _, Write as _};

use docent_test_postgres::Database;

fn main() -> anyhow::Result<()> {
    let database = Database::empty()?;
    let mut output = std::io::stdout();
    writeln!(output, "{}", database.url())?;
    output.flush()?;
    // The parent process holds the other end, which closes even if it is killed.
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}
