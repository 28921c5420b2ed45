//! A container and what scenarios do with it.

use crate::scenario::*;
use azure_data_cosmos::clients::ContainerClient;
use azure_data_cosmos::models::{ItemResponse, TransactionalBatchOperationResult};
use azure_data_cosmos::options::{BatchOptions, ItemWriteOptions, QueryOptions};
use azure_data_cosmos::{CosmosClient, CosmosError, FeedScope, Query, TransactionalBatch};
use futures::StreamExt;
use serde_json::Value;
use std::future::Future;

/// C is a container and the scenario that works with it.
pub struct C<'a> {
    pub c: ContainerClient,
    pub t: &'a T,
}

impl<'a> C<'a> {
    /// seen is the same container as another client sees it.
    pub async fn seen(&self, client: &CosmosClient) -> Outcome<C<'a>> {
        Ok(C { c: client.database_client(self.t.name.as_str()).container_client("c", None).await?, t: self.t })
    }

    /// split splits the container's first range, which no split has touched before, in two.
    pub async fn split(&self) -> Outcome {
        let path = format!("_mayfly/dbs/{}/colls/c/split", self.t.name);
        own(reqwest::Method::POST, &self.t.endpoint, &path, r#"{"range": "0"}"#).await
    }

    /// create creates a document in the partition that its pk names, and returns it.
    #[track_caller]
    pub fn create(&self, doc: Value) -> impl Future<Output = Outcome<Value>> {
        let at = here();
        async move {
            let res = self.c.create_item(key(doc["pk"].clone()), &id_of(&doc), &doc, writing()).await;
            let res = res.map_err(|e| Failure(format!("{at}: {e}")))?;
            equal(u16::from(res.status().status_code()), 201)?;
            Ok(res.into_model()?)
        }
    }

    pub async fn replace(&self, pk: impl Into<Value>, doc: Value, o: Option<ItemWriteOptions>) -> Result<ItemResponse, CosmosError> {
        self.c.replace_item(key(pk), &id_of(&doc), &doc, o).await
    }

    pub async fn upsert(&self, pk: impl Into<Value>, doc: Value, o: Option<ItemWriteOptions>) -> Result<ItemResponse, CosmosError> {
        self.c.upsert_item(key(pk), &id_of(&doc), &doc, o).await
    }

    pub async fn delete(&self, pk: impl Into<Value>, id: &str) -> Result<ItemResponse, CosmosError> {
        self.c.delete_item(key(pk), id, None).await
    }

    /// full returns a document with what the server adds to it.
    pub async fn full(&self, pk: impl Into<Value>, id: &str) -> Outcome<Value> {
        Ok(self.c.read_item(key(pk), id, None).await?.into_model()?)
    }

    /// read returns a document as it was stored.
    pub async fn read(&self, pk: impl Into<Value>, id: &str) -> Outcome<Value> {
        Ok(user(self.full(pk, id).await?))
    }

    /// gone ends the scenario if the document is there.
    pub async fn gone(&self, pk: impl Into<Value>, id: &str) -> Outcome {
        fails(self.c.read_item(key(pk), id, None).await, &[404]).map(drop)
    }

    /// pages drains a query and returns its pages that have rows.
    pub async fn pages(&self, query: impl Into<Query>, scope: FeedScope, o: QueryOptions) -> Result<Vec<Vec<Value>>, CosmosError> {
        let mut pages = Vec::new();
        let mut iterator = self.c.query_items(query, scope, Some(o)).await?.into_pages();
        while let Some(page) = iterator.next().await {
            let rows = page?.into_items();
            if !rows.is_empty() {
                pages.push(rows);
            }
        }
        Ok(pages)
    }

    /// rows drains a query.
    pub async fn rows(&self, query: impl Into<Query>, scope: FeedScope) -> Result<Vec<Value>, CosmosError> {
        Ok(self.pages(query, scope, QueryOptions::default()).await?.concat())
    }

    /// ids are the ids of all documents that a query finds.
    pub async fn ids(&self, rest: &str, scope: FeedScope) -> Result<Vec<String>, CosmosError> {
        Ok(names(&self.rows(format!("SELECT * FROM c{rest}"), scope).await?))
    }

    /// batch runs a batch that asks for the documents it writes.
    pub async fn batch(&self, batch: TransactionalBatch) -> Outcome<(u16, Vec<TransactionalBatchOperationResult>)> {
        let o = BatchOptions::default().with_operation_options(content());
        let res = self.c.execute_transactional_batch(batch, Some(o)).await?;
        let status = res.status().status_code().into();
        Ok((status, res.into_model()?.results().to_vec()))
    }
}

pub fn statuses(results: &[TransactionalBatchOperationResult]) -> Vec<u16> {
    results.iter().map(|r| r.status_code()).collect()
}

/// etag is the etag that an answer tells.
pub fn etag(res: &ItemResponse) -> String {
    res.headers().etag().map(|e| e.to_string()).unwrap_or_default()
}
