//! Partition keys of all kinds.

use crate::feed::{Changes, feed};
use crate::scenario::*;
use azure_data_cosmos::models::{PartitionKey, PatchInstructions, PatchOperation};
use azure_data_cosmos::{FeedScope, options::PatchItemOptions};
use serde_json::{Value, json};

pub fn all() -> Vec<Scenario> {
    list![
        key_string, key_number, key_bool, key_null, key_none, key_kinds_apart, key_long, key_nested, key_hierarchical,
        key_hierarchical_query, key_hierarchical_partial, key_hierarchical_feed,
        partition_delete: "no such operation",
    ]
}

async fn key_string(t: &T) -> Outcome {
    lives(t, json!(["", "a", "ä€😀"])).await
}

async fn key_number(t: &T) -> Outcome {
    lives(t, json!([0, -1.5, 1e21, 9007199254740992u64])).await
}

async fn key_bool(t: &T) -> Outcome {
    lives(t, json!([true, false])).await
}

async fn key_null(t: &T) -> Outcome {
    lives(t, json!([null])).await
}

async fn key_none(t: &T) -> Outcome {
    life(&t.container().await?, PartitionKey::UNDEFINED.into(), json!({"id": "1", "v": 1})).await
}

async fn lives(t: &T, values: Value) -> Outcome {
    let c = t.container().await?;
    for pk in values.as_array().into_iter().flatten() {
        life(&c, key(pk.clone()), json!({"id": "1", "pk": pk})).await?;
    }
    Ok(())
}

/// life takes one document, whose id is "1", through its life under a partition key.
async fn life(c: &C<'_>, pk: PartitionKey, sent: Value) -> Outcome {
    c.c.create_item(pk.clone(), "1", &sent, None).await?;
    equal(user(c.c.read_item(pk.clone(), "1", None).await?.into_model()?), sent.clone())?;
    let found = c.rows("SELECT * FROM c", FeedScope::partition(pk.clone())).await?;
    equal(found.into_iter().map(user).collect::<Value>(), json!([sent]))?;
    let replaced = c.c.replace_item(pk.clone(), "1", &sent, writing()).await?;
    equal(user(replaced.into_model()?), sent)?;
    c.c.delete_item(pk, "1", None).await?;
    Ok(())
}

async fn key_kinds_apart(t: &T) -> Outcome {
    let c = t.container().await?;
    let kinds = [json!("1"), json!(1), json!(true), json!("true"), json!(null), json!("")];
    for (v, pk) in kinds.iter().enumerate() {
        c.create(json!({"id": "1", "pk": pk, "v": v})).await?;
    }
    for (v, pk) in kinds.iter().enumerate() {
        equal(c.read(pk.clone(), "1").await?["v"].clone(), v)?;
        equal(c.rows("SELECT VALUE c.v FROM c", within(pk.clone())).await?, json!([v]))?;
    }
    Ok(())
}

async fn key_long(t: &T) -> Outcome {
    let c = t.container().await?;
    let [one, two] = ["1", "2"].map(|end| "k".repeat(1999) + end);
    c.create(json!({"id": "1", "pk": one, "v": 1})).await?;
    c.create(json!({"id": "1", "pk": two, "v": 2})).await?;
    equal(c.read(one, "1").await?["v"].clone(), 1)?;
    equal(c.rows("SELECT VALUE c.v FROM c", within(two)).await?, json!([2]))
}

async fn key_nested(t: &T) -> Outcome {
    let c = t.container_of(by_path("c", "/a/b")).await?;
    life(&c, key("x"), json!({"id": "1", "a": {"b": "x", "c": 1}})).await
}

const LEVELS: [&str; 3] = ["/country", "/city", "/street"];

async fn key_hierarchical(t: &T) -> Outcome {
    let c = t.container_of(by_three(LEVELS)).await?;
    let pk = key(json!(["de", "berlin", "a"]));
    let sent = json!({"id": "1", "country": "de", "city": "berlin", "street": "a"});
    life(&c, pk.clone(), sent.clone()).await?;
    c.c.create_item(pk.clone(), "1", &sent, None).await?;
    let set = PatchInstructions::new().with_operation(PatchOperation::set("/v", json!(1)));
    let o = PatchItemOptions::default().with_operation_options(content());
    let patched: Value = c.c.patch_item(pk, "1", set, Some(o)).await?.into_model()?;
    equal(patched["v"].clone(), 1)?;
    c.gone(json!(["de", "berlin", "b"]), "1").await
}

const PLACES: [[&str; 3]; 5] =
    [["de", "berlin", "a"], ["de", "berlin", "b"], ["de", "bonn", "a"], ["fr", "paris", "a"], ["fr", "berlin", "a"]];

/// atlas creates a container with two documents at each place.
async fn atlas(t: &T) -> Outcome<C<'_>> {
    let c = t.container_of(by_three(LEVELS)).await?;
    for p in PLACES {
        for n in ["1", "2"] {
            let id = format!("{}-{n}", p.join("-"));
            let doc = json!({"id": id, "country": p[0], "city": p[1], "street": p[2]});
            c.c.create_item(key(json!(p)), &id, doc, None).await?;
        }
    }
    Ok(c)
}

/// under are the ids below the first levels of a key.
fn under(prefix: &[&str]) -> Vec<String> {
    let below = PLACES.iter().filter(|p| p.starts_with(prefix));
    below.flat_map(|p| ["1", "2"].map(|n| format!("{}-{n}", p.join("-")))).collect()
}

async fn key_hierarchical_query(t: &T) -> Outcome {
    let c = atlas(t).await?;
    for prefix in [&["de", "berlin", "a"][..], &["de", "berlin"], &["de"], &["fr"], &["it"]] {
        same(c.ids("", within(json!(prefix))).await?, under(prefix))?;
    }
    Ok(())
}

async fn key_hierarchical_partial(t: &T) -> Outcome {
    let c = atlas(t).await?;
    fails(c.c.read_item(key(json!(["de", "berlin"])), "de-berlin-a-1", None).await, &[400]).map(drop)
}

async fn key_hierarchical_feed(t: &T) -> Outcome {
    let c = atlas(t).await?;
    let mut changes = feed(&c, Changes { scope: Some(within(json!(["de"]))), ..Changes::default() }).await?;
    same(names(&changes.drain().await?), under(&["de"]))
}
