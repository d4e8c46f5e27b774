//! Clients that connect, and then send nothing, send slowly, stop in the middle of a body, or read
//! nothing.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use docent_e2e::Server;

/// How often each client looks whether it has lost its connection.
const INTERVAL: Duration = Duration::from_millis(100);
/// The time between two clients that connect at first. The server closes their connections after
/// fixed times, so without it they would all connect again at the same moment.
const STAGGER: Duration = Duration::from_millis(5);
/// How long a client tries to send the beginning of its request.
const SEND_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Silent,
    /// Sends a byte of a header now and then.
    Dribbling,
    /// Stops in the middle of a large body.
    Stalled,
    /// Stops in the middle of a body in chunks of one byte.
    SingleBytes,
    /// Requests long replies and reads nothing.
    Unread,
}

impl Kind {
    const ALL: [Self; 5] = [
        Self::Silent,
        Self::Dribbling,
        Self::Stalled,
        Self::SingleBytes,
        Self::Unread,
    ];

    /// What a client sends at once.
    fn beginning(self) -> Vec<u8> {
        const START: &str = "POST /api/graphql HTTP/1.1\r\nHost: localhost\r\n";
        const UNREAD: &str = "GET /openapi/v3/api-docs HTTP/1.1\r\nHost: localhost\r\n\r\n";
        let text = match self {
            Self::Silent => String::new(),
            Self::Dribbling => format!("{START}X-Slow: "),
            Self::Stalled => head(15 * 1024 * 1024) + &"x".repeat(64 * 1024),
            Self::SingleBytes => {
                let chunks = "1\r\nx\r\n".repeat(20_000);
                format!("{START}Transfer-Encoding: chunked\r\n\r\n{chunks}")
            }
            Self::Unread => UNREAD.repeat(4),
        };
        text.into_bytes()
    }
}

/// The head of a GraphQL request with a body of this length.
pub(super) fn head(length: usize) -> String {
    format!(
        "POST /api/graphql HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n"
    )
}

pub(super) fn host(server: &Server) -> &str {
    server.address().trim_start_matches("http://")
}

pub(super) struct Client {
    beginning: Arc<[u8]>,
    sends_on: bool,
    reads: bool,
    pub(super) connection: TcpStream,
}

impl Client {
    /// Sends a request and does not read the reply.
    pub(super) fn unread(server: &Server, request: Arc<[u8]>) -> anyhow::Result<Self> {
        Self::connect(server, request, Kind::Unread)
    }

    fn connect(server: &Server, beginning: Arc<[u8]>, kind: Kind) -> anyhow::Result<Self> {
        Ok(Self {
            connection: connect(server, &beginning)?,
            beginning,
            // A server that closes a connection whose replies are not read cannot say so, but it
            // rejects what it is sent.
            sends_on: matches!(kind, Kind::Dribbling | Kind::Unread),
            reads: kind != Kind::Unread,
        })
    }

    /// Whether the server has closed the connection.
    fn is_closed(&mut self) -> bool {
        let is_waiting = |error: &io::Error| error.kind() == ErrorKind::WouldBlock;
        if self.sends_on {
            let sent = self.connection.write(b"x");
            if sent.is_err_and(|error| !is_waiting(&error)) {
                return true;
            }
        }
        while self.reads {
            match self.connection.read(&mut [0; 1024]) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(error) => return !is_waiting(&error),
            }
        }
        false
    }
}

fn connect(server: &Server, beginning: &[u8]) -> anyhow::Result<TcpStream> {
    let mut connection = TcpStream::connect(host(server))?;
    connection.set_write_timeout(Some(SEND_TIMEOUT))?;
    // The server may close the connection meanwhile, which shows later.
    connection.write_all(beginning).ok();
    connection.set_nonblocking(true)?;
    Ok(connection)
}

/// Connects clients of all kinds.
pub(super) fn connect_all(server: &Server, count: u64) -> anyhow::Result<Vec<Client>> {
    let kinds = Kind::ALL.map(|kind| (kind, Arc::from(kind.beginning())));
    (0..count)
        .zip(kinds.iter().cycle())
        .map(|(number, (kind, beginning))| {
            thread::sleep(STAGGER);
            Client::connect(server, Arc::clone(beginning), *kind)
                .with_context(|| format!("connection {number} of {count}"))
        })
        .collect()
}

/// Goes on until `is_over`, with a new connection for each that the server closes. Returns how many
/// it has closed.
pub(super) fn go_on(
    server: &Server,
    clients: &mut [Client],
    is_over: &AtomicBool,
) -> anyhow::Result<u64> {
    let mut closed = 0;
    while !is_over.load(Ordering::SeqCst) {
        for client in clients.iter_mut() {
            if client.is_closed() {
                client.connection = connect(server, &client.beginning)?;
                closed += 1;
            }
        }
        thread::sleep(INTERVAL);
    }
    Ok(closed)
}
