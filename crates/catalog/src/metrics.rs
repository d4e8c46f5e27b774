//! Lists of metrics and semantic models.

use docent_model::Urn;
use docent_store::ListPage;

use crate::search::{Filter, roots};
use crate::{Catalog, Error};

const METRIC: &str = "metric";
const MODEL: &str = "semanticModel";

impl Catalog {
    /// The metrics without a parent that match a query, by name.
    pub async fn root_metrics(
        &self,
        query: &str,
        start: usize,
        count: usize,
    ) -> Result<ListPage<Urn>, Error> {
        let below_hidden = self.reader().parts_of_hidden(METRIC, METRIC).await?;
        let filter = roots("parentMetric", &below_hidden);
        self.list_by_name(METRIC, query, filter, (start, count))
            .await
    }

    /// The semantic models that match a query, by name.
    pub async fn semantic_models(
        &self,
        query: &str,
        start: usize,
        count: usize,
    ) -> Result<ListPage<Urn>, Error> {
        self.list_by_name(MODEL, query, Filter::default(), (start, count))
            .await
    }
}
