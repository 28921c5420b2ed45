//! Time to live.

use crate::scenario::*;
use crate::writes::patch;
use azure_data_cosmos::TransactionalBatch;
use azure_data_cosmos::models::{PatchOperation, TimeToLive, UniqueKey, UniqueKeyPolicy};
use serde_json::{Value, json};

pub fn all() -> Vec<Scenario> {
    list![
        ttl_default,
        ttl_item,
        ttl_on,
        ttl_off,
        ttl_invalid,
        ttl_write_restarts,
        ttl_again,
        ttl_patch,
        ttl_batch,
        ttl_default_changes,
        ttl_counts,
        ttl_unique_key,
    ]
}

/// mortal creates a container with a default TTL.
async fn mortal(t: &T, ttl: impl Into<TimeToLive>) -> Outcome<C<'_>> {
    t.container_of(properties().with_default_ttl(ttl)).await
}

/// doc is a document in the partition "a" that has no ttl of its own.
fn doc(id: &str) -> Value {
    json!({"id": id, "pk": "a"})
}

fn with_ttl(id: &str, ttl: i32) -> Value {
    json!({"id": id, "pk": "a", "ttl": ttl})
}

/// alive wants, of all ids that the partition "a" has had, exactly these to be there: by query and by read.
async fn alive(c: &C<'_>, all: &str, want: &str) -> Outcome {
    let want: Vec<_> = want.split_whitespace().collect();
    same(c.ids("", within("a")).await?, &want)?;
    for id in all.split_whitespace() {
        if want.contains(&id) {
            c.read("a", id).await?;
        } else {
            c.gone("a", id).await?;
        }
    }
    Ok(())
}

async fn ttl_default(t: &T) -> Outcome {
    let c = mortal(t, 10).await?;
    check(c.c.read(None).await?.into_model()?.default_ttl == TimeToLive::Seconds(10), "another default")?;
    check(c.create(doc("1")).await?.get("ttl").is_none(), "a ttl that nobody wrote")?;
    t.advance(9).await?;
    alive(&c, "1", "1").await?;
    t.advance(1).await?;
    alive(&c, "1", "").await
}

async fn ttl_item(t: &T) -> Outcome {
    let c = mortal(t, 10).await?;
    for (id, ttl) in [("short", 5), ("long", 20), ("never", -1)] {
        c.create(with_ttl(id, ttl)).await?;
    }
    for (by, want) in [(4, "short long never"), (1, "long never"), (14, "long never"), (1, "never"), (1_000_000, "never")] {
        t.advance(by).await?;
        alive(&c, "short long never", want).await?;
    }
    Ok(())
}

async fn ttl_on(t: &T) -> Outcome {
    let c = mortal(t, TimeToLive::NoDefault).await?;
    c.create(doc("plain")).await?;
    c.create(with_ttl("own", 5)).await?;
    for by in [5, 1_000_000] {
        t.advance(by).await?;
        alive(&c, "plain own", "plain").await?;
    }
    Ok(())
}

async fn ttl_off(t: &T) -> Outcome {
    let c = t.container().await?;
    c.create(with_ttl("own", 5)).await?;
    t.advance(1000).await?;
    alive(&c, "own", "own").await?;
    equal(c.read("a", "own").await?["ttl"].clone(), 5)
}

async fn ttl_invalid(t: &T) -> Outcome {
    // The SDK's type has no number below 0 for a default.
    fails(t.database().await?.create_container(by_path("bad", "/pk").with_default_ttl(0), None).await, &[400])?;
    let c = mortal(t, TimeToLive::NoDefault).await?;
    c.create(with_ttl("there", 5)).await?;
    for bad in [json!(0), json!(-2), json!(1.5), json!("10"), json!(null), json!(2147483648u64)] {
        let body = |id: &str| json!({"id": id, "pk": "a", "ttl": bad});
        let text = fails(c.c.create_item("a", "new", body("new"), None).await, &[400])?;
        check(text.contains("The input ttl"), format_args!("says {text}"))?;
        fails(c.upsert("a", body("there"), None).await, &[400])?;
        fails(c.replace("a", body("there"), None).await, &[400])?;
        fails(patch(&c, "there", None, vec![PatchOperation::set("/ttl", bad.clone())]).await, &[400])?;
    }
    alive(&c, "there new", "there").await?;
    equal(c.read("a", "there").await?["ttl"].clone(), 5)
}

async fn ttl_write_restarts(t: &T) -> Outcome {
    let c = mortal(t, 10).await?;
    let all = "left read replaced upserted patched";
    for id in all.split_whitespace() {
        c.create(doc(id)).await?;
    }
    t.advance(9).await?;
    c.read("a", "read").await?;
    c.replace("a", doc("replaced"), None).await?;
    c.upsert("a", doc("upserted"), None).await?;
    patch(&c, "patched", None, vec![PatchOperation::set("/v", json!(1))]).await?;
    t.advance(1).await?;
    alive(&c, all, "replaced upserted patched").await?;
    t.advance(9).await?;
    alive(&c, all, "").await
}

async fn ttl_again(t: &T) -> Outcome {
    let c = mortal(t, 10).await?;
    c.create(doc("1")).await?;
    c.create(doc("2")).await?;
    t.advance(10).await?;
    fails(c.replace("a", doc("1"), None).await, &[404])?;
    fails(patch(&c, "1", None, vec![PatchOperation::set("/v", json!(1))]).await, &[404])?;
    fails(c.delete("a", "1").await, &[404])?;
    c.create(doc("1")).await?;
    equal(u16::from(c.upsert("a", doc("2"), None).await?.status().status_code()), 201)?;
    alive(&c, "1 2", "1 2").await
}

async fn ttl_patch(t: &T) -> Outcome {
    let c = mortal(t, 10).await?;
    let all = "plain shorter longer";
    for id in all.split_whitespace() {
        c.create(doc(id)).await?;
    }
    patch(&c, "shorter", None, vec![PatchOperation::set("/ttl", json!(5))]).await?;
    patch(&c, "longer", None, vec![PatchOperation::add("/ttl", json!(20))]).await?;
    for (by, want) in [(5, "plain longer"), (5, "longer"), (9, "longer"), (1, "")] {
        t.advance(by).await?;
        alive(&c, all, want).await?;
    }
    Ok(())
}

async fn ttl_batch(t: &T) -> Outcome {
    let c = mortal(t, 10).await?;
    let creates = TransactionalBatch::new("a").create_item(doc("1"))?.create_item(with_ttl("2", 5))?.create_item(with_ttl("3", 20))?;
    equal(statuses(&c.batch(creates).await?.1), vec![201, 201, 201])?;
    t.advance(5).await?;
    alive(&c, "1 2 3", "1 3").await?;
    let reads = TransactionalBatch::new("a").read_item("2", None).read_item("1", None);
    equal(statuses(&c.batch(reads).await?.1), vec![404, 424])?;
    t.advance(5).await?;
    alive(&c, "1 2 3", "3").await
}

async fn ttl_default_changes(t: &T) -> Outcome {
    let c = t.container().await?;
    let set = async |ttl: TimeToLive| -> Outcome {
        let p = c.c.read(None).await?.into_model()?;
        c.c.replace(p.with_default_ttl(ttl), None).await?;
        Ok(())
    };
    let all = "old own new";
    c.create(doc("old")).await?;
    c.create(with_ttl("own", 100)).await?;
    t.advance(20).await?;
    c.create(doc("new")).await?;
    set(TimeToLive::Seconds(10)).await?;
    alive(&c, all, "own new").await?;
    t.advance(9).await?;
    set(TimeToLive::Forever).await?;
    check(c.c.read(None).await?.into_model()?.default_ttl.is_forever(), "a default that was taken away")?;
    t.advance(1000).await?;
    alive(&c, all, "own new").await?;
    set(TimeToLive::NoDefault).await?;
    alive(&c, all, "new").await?;
    set(TimeToLive::Forever).await?;
    alive(&c, all, "new").await
}

async fn ttl_counts(t: &T) -> Outcome {
    let c = mortal(t, TimeToLive::NoDefault).await?;
    for i in 0..10 {
        let id = i.to_string();
        c.create(if i % 2 == 0 { doc(&id) } else { with_ttl(&id, 5) }).await?;
    }
    t.advance(5).await?;
    equal(c.rows("SELECT VALUE COUNT(1) FROM c", within("a")).await?, json!([5]))?;
    let pages = c.pages("SELECT * FROM c", within("a"), by(2)).await?;
    check(pages.iter().all(|p| p.len() <= 2), "a page above 2")?;
    equal(names(&pages.concat()), vec!["0", "2", "4", "6", "8"])
}

async fn ttl_unique_key(t: &T) -> Outcome {
    let policy = UniqueKeyPolicy::default().with_unique_key(UniqueKey::default().with_path("/name"));
    let c = t.container_of(properties().with_default_ttl(TimeToLive::NoDefault).with_unique_key_policy(policy)).await?;
    c.create(json!({"id": "1", "pk": "a", "ttl": 5, "name": "ada"})).await?;
    let second = json!({"id": "2", "pk": "a", "name": "ada"});
    t.advance(4).await?;
    fails(c.c.create_item("a", "2", &second, None).await, &[409])?;
    t.advance(1).await?;
    c.create(second).await.map(drop)
}
