//! Reads of long values: their size is known before, and no more is read than is allowed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use docent_catalog::search::{Filter, Sort};
use docent_catalog::timeseries::{LoadedPoints, TimeseriesQuery, TimeseriesRow};
use docent_catalog::usage::Period;
use docent_catalog::{
    AspectKey, Caller, Catalog, Error, ErrorKind, LoadError, LoadedBytes, PointRange, ReadReply,
    ReadRequest,
};
use docent_model::{FixedClock, Registry, Urn};
use docent_store::{Store, StoreError};
use docent_test_store::{Intercept, InterceptedStore, TestStore};
use serde_json::json;

use crate::{dataset, upsert};

const MIB: usize = 1024 * 1024;

/// Counts the bytes that are read.
#[derive(Debug)]
struct Counting {
    inner: Arc<dyn Store>,
    bytes: AtomicU64,
    largest: AtomicU64,
}

impl Counting {
    fn count(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::SeqCst);
        self.largest.fetch_max(bytes, Ordering::SeqCst);
    }
}

#[async_trait]
impl Intercept for Counting {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn read(&self, request: ReadRequest<'_>) -> Result<ReadReply, StoreError> {
        let reply = self.inner.read(request).await?;
        self.count(reply.value_bytes());
        Ok(reply)
    }

    async fn timeseries_list(
        &self,
        key: &AspectKey,
        range: &PointRange,
        newest_first: bool,
        start: usize,
        limit: usize,
    ) -> Result<Vec<TimeseriesRow>, StoreError> {
        let list = self
            .inner
            .timeseries_list(key, range, newest_first, start, limit);
        let points = list.await?;
        self.count(points.iter().map(|point| point.metadata.len() as u64).sum());
        Ok(points)
    }
}

struct Fixture {
    catalog: Catalog,
    store: Arc<InterceptedStore<Counting>>,
    _test_store: TestStore,
}

impl Fixture {
    async fn new() -> Self {
        let test_store = TestStore::open().await.unwrap();
        let store = Arc::new(InterceptedStore(Counting {
            inner: test_store.store(),
            bytes: AtomicU64::new(0),
            largest: AtomicU64::new(0),
        }));
        let clock = Arc::new(FixedClock::at(1_790_000_000_000));
        Self {
            catalog: Catalog::new(Arc::clone(&store) as Arc<dyn Store>, clock),
            store,
            _test_store: test_store,
        }
    }

    /// The bytes read since the last call, and the most at once.
    fn take_bytes(&self) -> (u64, u64) {
        let InterceptedStore(counting) = &*self.store;
        let take = |counter: &AtomicU64| counter.swap(0, Ordering::SeqCst);
        (take(&counting.bytes), take(&counting.largest))
    }

    /// A dataset with as many profiles as there are lengths, and rows in the order of time.
    async fn with_profiles(lengths: &[usize]) -> Self {
        let fixture = Self::new().await;
        for (at, length) in lengths.iter().enumerate() {
            let profile = json!({
                "timestampMillis": at, "rowCount": 1000 - at,
                "partitionSpec": {"partition": "x".repeat(*length), "type": "QUERY"},
            });
            let proposal = upsert(&dataset("t"), "datasetProfile", &profile);
            let caller = Caller::system();
            fixture
                .catalog
                .ingest(&caller, vec![proposal])
                .await
                .unwrap();
        }
        fixture.take_bytes();
        fixture
    }

    async fn profiles(
        &self,
        limit: usize,
        sort: Option<&str>,
        max_bytes: usize,
    ) -> Result<LoadedPoints, Error> {
        let sort = sort.map(|field| Sort {
            field: field.to_owned(),
            descending: false,
        });
        let query = TimeseriesQuery {
            key: key(&dataset("t"), "datasetProfile"),
            range: PointRange::default(),
            filter: Filter::default(),
            sort,
            limit,
        };
        self.catalog.timeseries(&query, max_bytes as u64).await
    }
}

fn key(urn: &Urn, aspect: &str) -> AspectKey {
    AspectKey::new(urn, Registry::get().aspect(aspect).unwrap())
}

fn times(points: &LoadedPoints) -> Vec<i64> {
    points.rows.iter().map(|point| point.time_ms).collect()
}

#[tokio::test]
async fn points_are_read_up_to_the_limit_of_their_bytes() {
    let fixture = Fixture::with_profiles(&[MIB; 20]).await;
    let error = fixture.profiles(20, None, 12 * MIB).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
    assert!(error.to_string().contains("more than 12 MiB"), "{error}");
    let (all, at_once) = fixture.take_bytes();
    assert!(at_once <= 8 * MIB as u64, "{at_once}");
    assert!(all <= 20 * MIB as u64, "{all}");
    let found = fixture.profiles(11, None, 12 * MIB).await.unwrap();
    assert_eq!(times(&found), (9..20).rev().collect::<Vec<_>>());
}

/// What a sort order needs is not all that it reads.
#[tokio::test]
async fn a_sort_order_keeps_as_many_points_as_the_result_has() {
    let fixture = Fixture::with_profiles(&[MIB; 20]).await;
    let found = fixture
        .profiles(3, Some("rowCount"), 4 * MIB)
        .await
        .unwrap();
    assert_eq!(times(&found), [19, 18, 17]);
    let found = fixture.profiles(3, Some("timestampMillis"), 4 * MIB).await;
    assert_eq!(times(&found.unwrap()), [0, 1, 2]);
    let error = fixture.profiles(20, Some("rowCount"), 4 * MIB).await;
    assert_eq!(error.unwrap_err().kind(), ErrorKind::TooLarge);
    let (_, at_once) = fixture.take_bytes();
    assert!(at_once <= 8 * MIB as u64, "{at_once}");
}

/// Points at the end may be much longer than those before.
#[tokio::test]
async fn long_points_among_short_ones_are_read_one_by_one() {
    let lengths = [10, 10, 10, 9 * MIB, 9 * MIB, 10];
    let fixture = Fixture::with_profiles(&lengths).await;
    let found = fixture.profiles(10, None, 64 * MIB).await.unwrap();
    assert_eq!(found.rows.len(), 6);
    let (_, at_once) = fixture.take_bytes();
    assert!(at_once < 10 * MIB as u64, "{at_once}");
}

#[tokio::test]
async fn usage_with_too_many_bytes_is_an_error() {
    let fixture = Fixture::new().await;
    let query = "x".repeat(9 * MIB);
    for time in 0..4 {
        let usage = json!({"timestampMillis": time, "topSqlQueries": [query]});
        let proposal = upsert(&dataset("t"), "datasetUsageStatistics", &usage);
        let caller = Caller::system();
        fixture
            .catalog
            .ingest(&caller, vec![proposal])
            .await
            .unwrap();
    }
    let period = |from_ms| Period {
        duration: "DAY".to_owned(),
        from_ms,
        through_ms: None,
        max_buckets: None,
    };
    let all = fixture.catalog.usage(&dataset("t"), &period(None)).await;
    assert_eq!(all.unwrap_err().kind(), ErrorKind::TooLarge);
    let some = fixture.catalog.usage(&dataset("t"), &period(Some(1))).await;
    assert_eq!(some.unwrap().buckets.len(), 3);
}

#[tokio::test]
async fn values_over_the_limit_are_not_read() {
    let fixture = Fixture::new().await;
    let properties = json!({"description": "x".repeat(3 * MIB)});
    let profile = json!({
        "timestampMillis": 1,
        "partitionSpec": {"partition": "x".repeat(3 * MIB), "type": "QUERY"},
    });
    let urns = ["a", "b"].map(dataset);
    for urn in &urns {
        let proposals = vec![
            upsert(urn, "datasetProperties", &properties),
            upsert(urn, "editableDatasetProperties", &properties),
            upsert(urn, "datasetProfile", &profile),
        ];
        let caller = Caller::system();
        fixture.catalog.ingest(&caller, proposals).await.unwrap();
    }
    fixture.take_bytes();
    let aspects = ["datasetProperties", "editableDatasetProperties"];
    let rows: Vec<AspectKey> = aspects.iter().map(|aspect| key(&urns[0], aspect)).collect();
    let series: Vec<AspectKey> = urns.iter().map(|urn| key(urn, "datasetProfile")).collect();
    for request in [ReadRequest::entities(&urns[..1]), ReadRequest::rows(&rows)] {
        let mut loaded = LoadedBytes::default();
        let read = fixture.catalog.load(request, 5 * MIB as u64, &mut loaded);
        let error = read.await.unwrap_err();
        assert!(matches!(error, LoadError::TooLong(_)), "{error:?}");
        assert_eq!(fixture.take_bytes(), (0, 0));
        assert_eq!(loaded.bytes(), 0);
        let read = fixture.catalog.load(request, 7 * MIB as u64, &mut loaded);
        let found = read.await.unwrap();
        assert!(found.value_bytes() > 6 * MIB as u64);
        assert!(loaded.bytes() >= found.value_bytes());
        fixture.take_bytes();
    }
    let mut loaded = LoadedBytes::default();
    for (max, is_enough) in [(5 * MIB, false), (7 * MIB, true)] {
        let read = fixture
            .catalog
            .load_current(&series, max as u64, &mut loaded);
        assert_eq!(read.await.is_ok(), is_enough);
    }
}
