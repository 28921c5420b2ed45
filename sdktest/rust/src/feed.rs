//! The change feed.

use crate::scenario::*;
use azure_data_cosmos::FeedScope;
use azure_data_cosmos::feed::{ChangeFeedPageIterator, ContinuationToken};
use azure_data_cosmos::models::{ChangeFeedItem, ChangeFeedOperationType, ChangeFeedPolicy, ContainerProperties};
use azure_data_cosmos::options::{ChangeFeedMode, ChangeFeedOptions, ChangeFeedStartFrom};
use futures::StreamExt;
use serde_json::{Value, json};
use std::time::Duration;
use time::OffsetDateTime;

pub fn all() -> Vec<Scenario> {
    list![
        feed_beginning, feed_now, feed_time, feed_partition, feed_by_range, feed_page_size, feed_resume, feed_latest, feed_expired,
        feed_all_versions, feed_all_versions_expired, feed_all_versions_beginning,
        feed_processor: "no processor",
    ]
}

/// Changes says which changes are read; of the whole container, from the beginning, unless it says otherwise.
#[derive(Default)]
pub struct Changes {
    pub scope: Option<FeedScope>,
    pub from: Option<ChangeFeedStartFrom>,
    pub token: Option<ContinuationToken>,
    pub max: Option<u32>,
    pub all: bool,
}

/// Feed reads a container's changes and keeps the position.
pub struct Feed {
    changes: ChangeFeedPageIterator<ChangeFeedItem<Value>>,
    /// How many ranges may be asked, one for each page; a split adds one.
    ranges: usize,
}

pub async fn feed(c: &C<'_>, changes: Changes) -> Outcome<Feed> {
    let mut o = ChangeFeedOptions::default();
    if let Some(max) = changes.max {
        o = o.with_max_item_count(limit(max));
    }
    if let Some(token) = changes.token {
        o = o.with_continuation_token(token);
    }
    if changes.all {
        o = o.with_mode(ChangeFeedMode::AllVersionsAndDeletes);
    }
    let from = changes.from.unwrap_or(ChangeFeedStartFrom::Beginning);
    let changes = c.c.query_change_feed(changes.scope.unwrap_or_else(across), from, Some(o)).await?;
    Ok(Feed { changes, ranges: c.t.ranges + 1 })
}

impl Feed {
    /// events are the next page; empty if a range has nothing new.
    async fn events(&mut self) -> Outcome<Vec<ChangeFeedItem<Value>>> {
        match self.changes.next().await {
            Some(page) => Ok(page?.into_items()),
            None => fail("the feed has ended"),
        }
    }

    /// page is the next page of documents that are there.
    pub async fn page(&mut self) -> Outcome<Vec<Value>> {
        Ok(self.events().await?.iter().filter_map(|e| e.current().cloned()).collect())
    }

    /// pages reads until no range has anything new.
    async fn pages(&mut self) -> Outcome<Vec<Vec<ChangeFeedItem<Value>>>> {
        let mut pages = Vec::new();
        let mut empty = 0;
        while empty < self.ranges {
            let page = self.events().await?;
            if page.is_empty() {
                empty += 1;
            } else {
                empty = 0;
                pages.push(page);
            }
        }
        Ok(pages)
    }

    async fn drain_events(&mut self) -> Outcome<Vec<ChangeFeedItem<Value>>> {
        Ok(self.pages().await?.into_iter().flatten().collect())
    }

    pub async fn drain(&mut self) -> Outcome<Vec<Value>> {
        Ok(self.drain_events().await?.iter().filter_map(|e| e.current().cloned()).collect())
    }

    pub fn token(&self) -> Outcome<ContinuationToken> {
        Ok(self.changes.to_continuation_token()?)
    }
}

async fn feed_beginning(t: &T) -> Outcome {
    let c = t.twenty().await?;
    let mut f = feed(&c, Changes::default()).await?;
    let events = f.drain_events().await?;
    check(events.iter().all(|e| e.metadata().is_some_and(|m| m.lsn().is_some())), "no lsn")?;
    let got: Vec<_> = events.iter().filter_map(|e| e.current().cloned()).collect();
    same(names(&got), everything())?;
    let in_key: Vec<_> = got.iter().filter(|d| d["pk"] == "p2").map(id_of).collect();
    equal(in_key, vec!["i02", "i07", "i12", "i17"])?;
    equal(got.into_iter().filter(|d| d["id"] == "i07").map(user).collect::<Value>(), json!([twentieth(7)]))?;
    equal(f.drain().await?, json!([]))?;
    c.create(json!({"id": "new", "pk": "p3"})).await?;
    equal(names(&f.drain().await?), vec!["new"])?;
    equal(f.drain().await?, json!([]))
}

async fn feed_now(t: &T) -> Outcome {
    let c = t.twenty().await?;
    let mut f = feed(&c, Changes { from: Some(ChangeFeedStartFrom::Now), ..Changes::default() }).await?;
    equal(f.drain().await?, json!([]))?;
    c.create(json!({"id": "new", "pk": "p3"})).await?;
    c.upsert("p1", twentieth(1), None).await?;
    same(names(&f.drain().await?), ["new", "i01"])
}

async fn feed_time(t: &T) -> Outcome {
    let c = t.twenty().await?;
    t.advance(10).await?;
    let mark = c.create(json!({"id": "mark", "pk": "p0"})).await?["_ts"].as_i64().unwrap_or_default();
    t.advance(10).await?;
    c.create(json!({"id": "late", "pk": "p1"})).await?;
    for (seconds, want) in [(5, &["late"][..]), (-5, &["mark", "late"])] {
        let at = OffsetDateTime::from_unix_timestamp(mark + seconds).expect("a moment of our time");
        let mut f = feed(&c, Changes { from: Some(ChangeFeedStartFrom::PointInTime(at)), ..Changes::default() }).await?;
        same(names(&f.drain().await?), want)?;
    }
    Ok(())
}

async fn feed_partition(t: &T) -> Outcome {
    let c = t.twenty().await?;
    let mut f = feed(&c, Changes { scope: Some(within("p4")), ..Changes::default() }).await?;
    equal(names(&f.drain().await?), vec!["i04", "i09", "i14", "i19"])?;
    c.create(json!({"id": "other", "pk": "p3"})).await?;
    equal(f.drain().await?, json!([]))?;
    c.create(json!({"id": "own", "pk": "p4"})).await?;
    equal(names(&f.drain().await?), vec!["own"])
}

async fn feed_by_range(t: &T) -> Outcome {
    let c = t.twenty().await?;
    let mut got = Vec::new();
    for range in c.c.read_feed_ranges(None).await? {
        let mut f = feed(&c, Changes { scope: Some(FeedScope::range(range)), ..Changes::default() }).await?;
        got.extend(names(&f.drain().await?));
    }
    same(got, everything())
}

async fn feed_page_size(t: &T) -> Outcome {
    let c = t.twenty().await?;
    let pages = feed(&c, Changes { max: Some(4), ..Changes::default() }).await?.pages().await?;
    check(pages.iter().all(|p| p.len() <= 4), "a page above 4")?;
    check(pages.len() >= 5, format_args!("{} pages", pages.len()))?;
    same(pages.iter().flatten().filter_map(|e| e.current().map(id_of)).collect(), everything())
}

async fn feed_resume(t: &T) -> Outcome {
    let c = t.twenty().await?;
    let mut f = feed(&c, Changes { max: Some(4), ..Changes::default() }).await?;
    let mut got = names(&f.page().await?);
    let other = c.seen(&t.connect().await?).await?;
    let mut rest = feed(&other, Changes { max: Some(4), token: Some(f.token()?), ..Changes::default() }).await?;
    got.extend(names(&rest.drain().await?));
    same(got, everything())
}

async fn feed_latest(t: &T) -> Outcome {
    let c = t.container().await?;
    for id in ["1", "2", "3"] {
        c.create(json!({"id": id, "pk": "a", "v": 1})).await?;
    }
    for v in [2, 3] {
        c.replace("a", json!({"id": "1", "pk": "a", "v": v}), None).await?;
    }
    c.delete("a", "2").await?;
    let mut f = feed(&c, Changes::default()).await?;
    let got = f.drain().await?;
    equal(names(&got), vec!["3", "1"])?;
    equal(got[1]["v"].clone(), 3)?;
    c.delete("a", "3").await?;
    equal(f.drain().await?, json!([]))
}

async fn feed_expired(t: &T) -> Outcome {
    let c = t.container_of(properties().with_default_ttl(azure_data_cosmos::models::TimeToLive::NoDefault)).await?;
    c.create(json!({"id": "mortal", "pk": "a", "ttl": 5})).await?;
    c.create(json!({"id": "lasting", "pk": "a"})).await?;
    t.advance(5).await?;
    equal(names(&feed(&c, Changes::default()).await?.drain().await?), vec!["lasting"])
}

/// versioned are the properties of a container that keeps all versions for ten minutes.
fn versioned() -> ContainerProperties {
    properties().with_change_feed_policy(ChangeFeedPolicy::default().with_retention_duration(Duration::from_secs(600)))
}

fn kinds(events: &[ChangeFeedItem<Value>]) -> String {
    let kind = |e: &ChangeFeedItem<Value>| match e.operation_type() {
        Some(ChangeFeedOperationType::Create) => "create",
        Some(ChangeFeedOperationType::Replace) => "replace",
        Some(ChangeFeedOperationType::Delete) => "delete",
        _ => "none",
    };
    events.iter().map(kind).collect::<Vec<_>>().join(" ")
}

async fn feed_all_versions(t: &T) -> Outcome {
    let c = t.container_of(versioned()).await?;
    let mut f = feed(&c, Changes { from: Some(ChangeFeedStartFrom::Now), all: true, ..Changes::default() }).await?;
    equal(f.drain_events().await?.len(), 0)?;
    c.create(json!({"id": "1", "pk": "a", "v": 1})).await?;
    c.replace("a", json!({"id": "1", "pk": "a", "v": 2}), None).await?;
    c.delete("a", "1").await?;
    let got = f.drain_events().await?;
    equal(kinds(&got), "create replace delete")?;
    for (event, v) in got.iter().zip([1, 2]) {
        equal(event.current().map_or(Value::Null, |d| d["v"].clone()), v)?;
    }
    equal(got[2].previous().map_or(json!(2), |d| d["v"].clone()), 2)?;
    let told = |e: &ChangeFeedItem<Value>| e.metadata().is_some_and(|m| m.lsn().is_some() && m.conflict_resolution_timestamp().is_some());
    check(got.iter().all(told), "no lsn or no timestamp")
}

async fn feed_all_versions_expired(t: &T) -> Outcome {
    let c = t.container_of(versioned().with_default_ttl(5)).await?;
    let mut f = feed(&c, Changes { from: Some(ChangeFeedStartFrom::Now), all: true, ..Changes::default() }).await?;
    equal(f.drain_events().await?.len(), 0)?;
    c.create(json!({"id": "1", "pk": "a"})).await?;
    t.advance(5).await?;
    c.create(json!({"id": "1", "pk": "a", "v": 2})).await?; // the ghost in the way is purged first
    let got = f.drain_events().await?;
    equal(kinds(&got), "create delete create")?;
    equal(got[1].metadata().and_then(|m| m.time_to_live_expired()), true)
}

async fn feed_all_versions_beginning(t: &T) -> Outcome {
    let c = t.container_of(versioned()).await?;
    let o = ChangeFeedOptions::default().with_mode(ChangeFeedMode::AllVersionsAndDeletes);
    let mut iterator = match c.c.query_change_feed::<Value>(across(), ChangeFeedStartFrom::Beginning, Some(o)).await {
        Ok(iterator) => iterator,
        refused => return fails(refused, &[400]).map(drop),
    };
    match iterator.next().await {
        Some(page) => fails(page, &[400]).map(drop),
        None => fail("the feed has ended"),
    }
}
