//! What a client does not notice: splits of ranges, other clients, restarts of the server.

use crate::feed::{Changes, feed};
use crate::scenario::*;
use azure_data_cosmos::options::{ItemReadOptions, QueryOptions};
use azure_data_cosmos::{FeedScope, TransactionalBatch};
use futures::StreamExt;
use serde_json::{Value, json};

pub fn all() -> Vec<Scenario> {
    list![
        split_items, split_while_paging, split_while_ordering, split_partition_paging, split_feed,
        split_aggregates: crate::queries::AGGREGATES,
        split_batch,
        container_recreated, session_other_client, session_restart, session_kill, restart_paging, restart_feed,
    ]
}

async fn split_items(t: &T) -> Outcome {
    let c = t.twenty().await?;
    same(c.ids(" WHERE c.n >= 0", across()).await?, everything())?;
    c.split().await?;
    for i in 0..20 {
        let mut doc = twentieth(i);
        equal(c.read(doc["pk"].clone(), &id_of(&doc)).await?["n"].clone(), i)?;
        doc["n"] = json!(i + 100);
        c.replace(doc["pk"].clone(), doc, None).await?;
    }
    for i in 0..10 {
        c.create(json!({"id": format!("new{i}"), "pk": format!("q{i}"), "n": 0})).await?;
    }
    equal(c.ids(" WHERE c.n >= 100", across()).await?.len(), 20)?;
    equal(c.ids("", across()).await?.len(), 30)?;
    equal(c.seen(&t.connect().await?).await?.c.read_feed_ranges(None).await?.len(), t.ranges + 1)
}

/// interrupted reads a query by pages of 3, with a split after the first.
async fn interrupted(c: &C<'_>, query: &str, scope: FeedScope) -> Outcome<Vec<Value>> {
    let mut pages = c.c.query_items::<Value>(query, scope, Some(by(3))).await?.into_pages();
    let mut rows = Vec::new();
    let mut first = true;
    while let Some(page) = pages.next().await {
        rows.extend(page?.into_items());
        if std::mem::take(&mut first) {
            c.split().await?;
        }
    }
    Ok(rows)
}

async fn split_while_paging(t: &T) -> Outcome {
    let c = t.twenty().await?;
    same(names(&interrupted(&c, "SELECT * FROM c", across()).await?), everything())
}

async fn split_while_ordering(t: &T) -> Outcome {
    let c = t.twenty().await?;
    let mut want = everything();
    want.reverse();
    equal(names(&interrupted(&c, "SELECT * FROM c ORDER BY c.n DESC", across()).await?), want)
}

async fn split_partition_paging(t: &T) -> Outcome {
    let c = crate::queries::ten(t).await?;
    for i in 0..20 {
        c.create(json!({"id": "x", "pk": format!("b{i}")})).await?;
    }
    equal(names(&interrupted(&c, "SELECT * FROM c", within("a")).await?).concat(), "0123456789")
}

async fn split_feed(t: &T) -> Outcome {
    let c = t.twenty().await?;
    let mut f = feed(&c, Changes { max: Some(4), ..Changes::default() }).await?;
    let mut got = names(&f.page().await?);
    c.split().await?;
    got.extend(names(&f.drain().await?));
    same(got, everything())?;
    c.create(json!({"id": "new", "pk": "p0"})).await?;
    c.replace("p1", twentieth(1), None).await?;
    same(names(&f.drain().await?), ["new", "i01"])
}

async fn split_batch(t: &T) -> Outcome {
    let c = t.container().await?;
    let batches = async |id: &str| -> Outcome {
        for i in 0..20 {
            let pk = format!("p{i}");
            let batch = TransactionalBatch::new(pk.clone()).create_item(json!({"id": id, "pk": pk}))?.read_item(id.to_owned(), None);
            equal(statuses(&c.batch(batch).await?.1), vec![201, 200])?;
        }
        Ok(())
    };
    batches("before").await?;
    c.split().await?;
    batches("after").await?;
    equal(c.ids("", across()).await?.len(), 40)
}

/// RECREATIONS are the ways in which another client makes the container again, one after the other.
const RECREATIONS: [&str; 8] = [
    "ranges=1", "ranges=2", "ranges=4", "ranges=1", "ranges=4&whole=true", "ranges=2&whole=true", "ranges=4", "ranges=1&whole=true",
];

async fn container_recreated(t: &T) -> Outcome {
    let c = t.twenty().await?;
    same(c.ids("", across()).await?, everything())?;
    for (round, how) in RECREATIONS.iter().enumerate() {
        t.restart(&format!("recreate?database={}&round={round}&{how}", t.name)).await?;
        let want: Vec<String> = (0..7).map(|i| format!("r{round}-{i}")).collect();
        for i in 0..4 {
            match (i + round) % 4 {
                0 => same(c.ids("", across()).await?, want.clone())?,
                1 => equal(c.ids(" ORDER BY c.n", across()).await?, want.clone())?,
                2 => same(names(&feed(&c, Changes::default()).await?.drain().await?), want.clone())?,
                _ => {
                    for (i, id) in want.iter().enumerate() {
                        let item = c.read(format!("k{i}"), id).await?;
                        equal(item["n"].clone(), i)?;
                        c.upsert(format!("k{i}"), item, None).await?;
                    }
                }
            }
        }
    }
    Ok(())
}

async fn session_other_client(t: &T) -> Outcome {
    let c = t.container().await?;
    let other = c.seen(&t.connect().await?).await?;
    for v in 0..10 {
        let written = c.upsert("a", json!({"id": "1", "pk": "a", "v": v}), None).await?;
        let Some(token) = written.headers().session_token().cloned() else { return fail("no session token") };
        let o = ItemReadOptions::default().with_session_token(token.clone());
        let read: Value = other.c.read_item("a", "1", Some(o)).await?.into_model()?;
        equal(read["v"].clone(), v)?;
        let o = QueryOptions::default().with_session_token(token);
        equal(other.pages("SELECT VALUE c.v FROM c", within("a"), o).await?.concat(), json!([v]))?;
    }
    Ok(())
}

async fn session_restart(t: &T) -> Outcome {
    over(t, "stop").await
}

async fn session_kill(t: &T) -> Outcome {
    over(t, "kill").await
}

/// over ends the server and goes on with the same client.
async fn over(t: &T, how: &str) -> Outcome {
    let c = t.twenty().await?;
    let mut doc = twentieth(7);
    doc["n"] = json!(700);
    let written: Value = c.replace("p2", doc.clone(), writing()).await?.into_model()?;
    t.restart(how).await?;
    equal(c.full("p2", "i07").await?, written.clone())?;
    same(c.ids("", across()).await?, everything())?;
    c.replace("p2", doc, matching(written["_etag"].as_str().unwrap_or_default())).await?;
    c.create(json!({"id": "new", "pk": "p2"})).await.map(drop)
}

async fn restart_paging(t: &T) -> Outcome {
    let c = t.twenty().await?;
    let query = "SELECT * FROM c";
    let mut pages = c.c.query_items::<Value>(query, across(), Some(by(3))).await?.into_pages();
    let Some(page) = pages.next().await else { return fail("no page") };
    let mut got = names(page?.items());
    let token = pages.to_continuation_token()?;
    t.restart("stop").await?;
    got.extend(names(&c.pages(query, across(), by(3).with_continuation_token(token)).await?.concat()));
    same(got, everything())
}

async fn restart_feed(t: &T) -> Outcome {
    let c = t.twenty().await?;
    let mut f = feed(&c, Changes::default()).await?;
    same(names(&f.drain().await?), everything())?;
    let token = f.token()?;
    t.restart("kill").await?;
    let mut f = feed(&c, Changes { token: Some(token), ..Changes::default() }).await?;
    equal(f.drain().await?, json!([]))?;
    c.create(json!({"id": "new", "pk": "p0"})).await?;
    equal(names(&f.drain().await?), vec!["new"])
}
