//! Connections and their shutdown, over real sockets.

use super::*;
use axum::Router;
use axum::http::StatusCode;
use axum::routing::{get, post};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;

const SHORT: Duration = Duration::from_millis(50);
const LONG: Duration = Duration::from_mins(1);

pub(super) struct NotifyOnDrop(pub(super) Arc<Notify>);

impl Drop for NotifyOnDrop {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

fn server(timeouts: ShutdownTimeouts) -> Server {
    limited_server(timeouts, ConnectionLimits::default())
}

fn limited_server(timeouts: ShutdownTimeouts, limits: ConnectionLimits) -> Server {
    Server {
        timeouts,
        pace: READING_PACE,
        connections: Connections::new(limits),
        certificate: None,
    }
}

/// A server that shuts down while it processes a request.
struct Stopping {
    stream: TcpStream,
    respond: Arc<Notify>,
    server: JoinHandle<io::Result<()>>,
}

async fn stopping(timeouts: ShutdownTimeouts) -> Stopping {
    let (begun, respond) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let handler = {
        let (begun, respond) = (Arc::clone(&begun), Arc::clone(&respond));
        move || async move {
            begun.notify_one();
            respond.notified().await;
            "done"
        }
    };
    let router = Router::new().route("/", get(handler));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let server = tokio::spawn(server(timeouts).serve(listener, router, async {
        let _ = stopped.await;
    }));
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream
        .write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await
        .unwrap();
    begun.notified().await;
    stop.send(()).unwrap();
    Stopping {
        stream,
        respond,
        server,
    }
}

#[tokio::test]
async fn a_request_in_progress_gets_its_response_after_other_connections_are_closed() {
    let timeouts = ShutdownTimeouts {
        connections: SHORT,
        requests: LONG,
    };
    let mut stopping = stopping(timeouts).await;
    let early = tokio::time::timeout(4 * SHORT, &mut stopping.server).await;
    assert!(early.is_err(), "the server did not wait");
    stopping.respond.notify_one();
    let mut reply = String::new();
    stopping.stream.read_to_string(&mut reply).await.unwrap();
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    assert!(reply.ends_with("done"), "{reply}");
    stopping.server.await.unwrap().unwrap();
}

#[tokio::test]
async fn the_work_for_a_client_that_has_gone_is_cancelled() {
    let (begun, cancelled) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let handler = {
        let (begun, cancelled) = (Arc::clone(&begun), Arc::clone(&cancelled));
        move || async move {
            let _cancelled = NotifyOnDrop(cancelled);
            begun.notify_one();
            std::future::pending::<()>().await;
        }
    };
    let router = Router::new().route("/", get(handler));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server =
        tokio::spawn(server(SHUTDOWN_TIMEOUTS).serve(listener, router, std::future::pending()));
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    stream.write_all(request).await.unwrap();
    begun.notified().await;
    drop(stream);
    let ended = tokio::time::timeout(LONG, cancelled.notified()).await;
    assert!(ended.is_ok(), "the handler still runs");
    server.abort();
}

#[tokio::test]
async fn a_response_before_the_body_was_read_closes_the_connection() {
    let router = Router::new()
        .route("/whole", post(|body: String| async move { body }))
        .route("/early", post(|| async { StatusCode::PAYLOAD_TOO_LARGE }));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server =
        tokio::spawn(server(SHUTDOWN_TIMEOUTS).serve(listener, router, std::future::pending()));
    let mut stream = TcpStream::connect(address).await.unwrap();
    for (request, closes) in [
        ("GET /whole HTTP/1.1\r\nHost: a\r\n\r\n", false),
        (
            "POST /whole HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nabcd",
            false,
        ),
        (
            "POST /early HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
            false,
        ),
        (
            "POST /early HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab",
            true,
        ),
    ] {
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut reply = String::new();
        if closes {
            stream.read_to_string(&mut reply).await.unwrap();
        } else {
            let mut chunk = vec![0; 4096];
            let length = stream.read(&mut chunk).await.unwrap();
            reply.push_str(std::str::from_utf8(&chunk[..length]).unwrap());
        }
        assert!(reply.starts_with("HTTP/1.1 "), "{request}: {reply}");
        assert_eq!(
            reply.contains("connection: close"),
            closes,
            "{request}: {reply}"
        );
    }
    server.abort();
}

#[tokio::test]
async fn a_reader_that_never_reads_loses_its_connection() {
    let ended = Arc::new(Notify::new());
    let body = {
        let ended = Arc::clone(&ended);
        // More than the kernel buffers, and dropped with the connection.
        move || async move {
            let guard = Arc::new(NotifyOnDrop(ended));
            let chunk = vec![b'x'; 1024 * 1024];
            let chunks = std::iter::repeat_n(chunk, 64).map(move |chunk| {
                let _guard = &guard;
                Ok::<_, Infallible>(chunk)
            });
            Body::from_stream(futures_util::stream::iter(chunks))
        }
    };
    let router = Router::new().route("/", get(body));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let paced = Server {
        pace: ReadingPace {
            window: SHORT,
            bytes: 1,
            ..READING_PACE
        },
        ..server(SHUTDOWN_TIMEOUTS)
    };
    let server = tokio::spawn(paced.serve(listener, router, std::future::pending()));
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    stream.write_all(request).await.unwrap();
    let closed = tokio::time::timeout(LONG, ended.notified()).await;
    assert!(closed.is_ok(), "the response still waits");
    server.abort();
}

#[tokio::test]
async fn connections_over_a_limit_get_503_until_another_one_ends() {
    let router = Router::new().route("/", get(|| async { "done" }));
    let limits = ConnectionLimits {
        per_address: 2,
        ..ConnectionLimits::default()
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = limited_server(SHUTDOWN_TIMEOUTS, limits);
    let server = tokio::spawn(server.serve(listener, router, std::future::pending()));
    let ask = async |stream: &mut TcpStream| {
        let request = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        stream.write_all(request).await.unwrap();
        let mut chunk = vec![0; 4096];
        let length = stream.read(&mut chunk).await.unwrap();
        String::from_utf8(chunk[..length].to_vec()).unwrap()
    };
    let mut first = TcpStream::connect(address).await.unwrap();
    let mut second = TcpStream::connect(address).await.unwrap();
    for stream in [&mut first, &mut second] {
        assert!(ask(stream).await.starts_with("HTTP/1.1 200"));
    }
    let mut third = TcpStream::connect(address).await.unwrap();
    let reply = ask(&mut third).await;
    assert!(reply.starts_with("HTTP/1.1 503"), "{reply}");
    assert!(reply.contains("Retry-After: 1"), "{reply}");
    assert!(reply.contains("Your address has too many"), "{reply}");
    // The end of the stream is the end of the connection at the server.
    first.shutdown().await.unwrap();
    first.read_to_end(&mut Vec::new()).await.unwrap();
    let mut retries = 0;
    loop {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let reply = ask(&mut stream).await;
        if reply.starts_with("HTTP/1.1 200") {
            break;
        }
        retries += 1;
        assert!(retries < 1000, "{reply}");
    }
    server.abort();
}

#[tokio::test]
async fn a_request_that_never_ends_does_not_block_the_shutdown() {
    let timeouts = ShutdownTimeouts {
        connections: SHORT,
        requests: SHORT,
    };
    let stopping = stopping(timeouts).await;
    let ended = tokio::time::timeout(LONG, stopping.server).await;
    ended.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn incomplete_requests_do_not_delay_the_shutdown() {
    let timeouts = ShutdownTimeouts {
        connections: SHORT,
        requests: LONG,
    };
    for half in [
        "GET / HTTP/1.1\r\nHost: loc",
        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nhalf",
    ] {
        let begun = Arc::new(Notify::new());
        let reading = Arc::clone(&begun);
        let handler = |body: Body| async move {
            reading.notify_one();
            drop(axum::body::to_bytes(body, 100).await);
        };
        let router = Router::new().route("/", axum::routing::post(handler));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(half.as_bytes()).await.unwrap();
        let arrived = async move {
            // Incomplete headers reach no handler. That connection is accepted before this one
            // is answered.
            if half.starts_with("POST") {
                begun.notified().await;
            } else {
                let mut other = TcpStream::connect(address).await.unwrap();
                other
                    .write_all(b"GET /none HTTP/1.0\r\n\r\n")
                    .await
                    .unwrap();
                other.read_to_end(&mut Vec::new()).await.unwrap();
            }
        };
        let server = server(timeouts).serve(listener, router, arrived);
        let ended = tokio::time::timeout(LONG / 2, server).await;
        assert!(ended.is_ok(), "the server waits for {half:?}");
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
        assert!(rest.is_empty(), "{half:?} was answered");
    }
}

#[tokio::test]
async fn headers_that_never_end_get_431_when_they_fill_the_buffer() {
    let router = Router::new().route("/", get(|| async { "done" }));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server =
        tokio::spawn(server(SHUTDOWN_TIMEOUTS).serve(listener, router, std::future::pending()));
    let ask = async |value: usize, end: &str| {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!(
            "GET / HTTP/1.1\r\nHost: a\r\nX-Long: {}{end}",
            "x".repeat(value)
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut chunk = vec![0; 4096];
        let read = tokio::time::timeout(LONG, stream.read(&mut chunk)).await;
        let length = read.expect("the server waits for more").unwrap();
        String::from_utf8(chunk[..length].to_vec()).unwrap()
    };
    let reply = ask(48 * 1024, "\r\n\r\n").await;
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    let reply = ask(MAX_BUFFER_BYTES, "").await;
    assert!(reply.starts_with("HTTP/1.1 431"), "{reply}");
    server.abort();
}
