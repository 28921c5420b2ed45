//! Patches and batches.

use crate::scenario::*;
use azure_data_cosmos::models::{CosmosNumber, ItemResponse, PatchInstructions, PatchOperation};
use azure_data_cosmos::options::{BatchReplaceOptions, PatchItemOptions, PatchStrategy};
use azure_data_cosmos::{CosmosError, TransactionalBatch};
use serde_json::{Value, json};

const BULK: &str = "no bulk";

pub fn all() -> Vec<Scenario> {
    list![
        patch_add, patch_set, patch_replace, patch_remove, patch_increment, patch_move,
        patch_condition: "no condition for a patch",
        patch_etag, patch_key, patch_atomic, batch_all_kinds, batch_fails_at_each_place, batch_etag, batch_own_writes, batch_hundred,
        bulk_create: BULK, bulk_mixed: BULK,
    ]
}

/// patch patches a document in the partition "a". By default the SDK reads the document and replaces it where it holds
/// that to be safer; here the server is to do it.
pub async fn patch(c: &C<'_>, id: &str, etag: Option<&str>, steps: Vec<PatchOperation>) -> Result<ItemResponse, CosmosError> {
    let mut o = PatchItemOptions::default().with_strategy(PatchStrategy::ServerSide).with_operation_options(content());
    if let Some(etag) = etag {
        o = o.with_precondition(if_match(etag));
    }
    c.c.patch_item("a", id, PatchInstructions::from(steps), Some(o)).await
}

/// P is a document that is patched: id "1" in the partition "a".
struct P<'a>(C<'a>);

async fn patching(t: &T, mut doc: Value) -> Outcome<P<'_>> {
    let c = t.container().await?;
    doc["id"] = json!("1");
    doc["pk"] = json!("a");
    c.create(doc).await?;
    Ok(P(c))
}

impl P<'_> {
    async fn does(&self, steps: Vec<PatchOperation>) -> Outcome {
        patch(&self.0, "1", None, steps).await?;
        Ok(())
    }

    async fn refused(&self, steps: Vec<PatchOperation>) -> Outcome {
        fails(patch(&self.0, "1", None, steps).await, &[400]).map(drop)
    }

    /// is wants the document to be this, but for its id and key.
    async fn is(&self, want: Value) -> Outcome {
        let mut got = self.0.read("a", "1").await?;
        for name in ["id", "pk"] {
            got.as_object_mut().and_then(|m| m.remove(name));
        }
        equal(got, want)
    }
}

fn add(path: &str, v: Value) -> PatchOperation {
    PatchOperation::add(path, v)
}

fn set(path: &str, v: Value) -> PatchOperation {
    PatchOperation::set(path, v)
}

fn incr(path: &str, n: i64) -> PatchOperation {
    PatchOperation::increment(path, CosmosNumber::from(n))
}

async fn patch_add(t: &T) -> Outcome {
    let p = patching(t, json!({"o": {"x": 1}, "l": [1, 3]})).await?;
    p.does(vec![add("/n", json!(5)), add("/o/y", json!({"z": 2})), add("/l/1", json!(2)), add("/l/-", json!(4))]).await?;
    p.is(json!({"o": {"x": 1, "y": {"z": 2}}, "l": [1, 2, 3, 4], "n": 5})).await?;
    p.refused(vec![add("/none/deep", json!(1))]).await?;
    p.refused(vec![add("/l/9", json!(1))]).await
}

async fn patch_set(t: &T) -> Outcome {
    let p = patching(t, json!({"v": 1, "l": [1, 2]})).await?;
    p.does(vec![set("/v", json!("new")), set("/w", json!(null)), set("/l/0", json!(9)), set("/l/-", json!(3))]).await?;
    p.is(json!({"v": "new", "l": [9, 2, 3], "w": null})).await
}

async fn patch_replace(t: &T) -> Outcome {
    let p = patching(t, json!({"v": 1, "o": {"x": 1}})).await?;
    p.does(vec![PatchOperation::replace("/v", json!([1])), PatchOperation::replace("/o/x", json!(true))]).await?;
    p.is(json!({"v": [1], "o": {"x": true}})).await?;
    p.refused(vec![PatchOperation::replace("/none", json!(1))]).await
}

async fn patch_remove(t: &T) -> Outcome {
    let p = patching(t, json!({"v": 1, "l": [1, 2, 3]})).await?;
    p.does(vec![PatchOperation::remove("/v"), PatchOperation::remove("/l/1")]).await?;
    p.is(json!({"l": [1, 3]})).await?;
    p.refused(vec![PatchOperation::remove("/none")]).await
}

async fn patch_increment(t: &T) -> Outcome {
    let p = patching(t, json!({"n": 1, "s": "x"})).await?;
    p.does(vec![incr("/n", 41), incr("/m", 5)]).await?;
    p.does(vec![incr("/m", -7)]).await?;
    p.is(json!({"n": 42, "s": "x", "m": -2})).await?;
    check(p.0.read("a", "1").await?["n"].as_i64() == Some(42), "the integer is spelled as a fraction")?;
    p.refused(vec![incr("/s", 1)]).await
}

async fn patch_move(t: &T) -> Outcome {
    let p = patching(t, json!({"v": 1})).await?;
    p.does(vec![PatchOperation::move_value("/v", "/w")]).await?;
    p.is(json!({"w": 1})).await
}

async fn patch_etag(t: &T) -> Outcome {
    let p = patching(t, json!({"n": 1})).await?;
    let first = etag(&p.0.c.read_item("a", "1", None).await?);
    let res = patch(&p.0, "1", Some(&first), vec![set("/n", json!(2))]).await?;
    equal(u16::from(res.status().status_code()), 200)?;
    check(etag(&res) != first, "the etag stays")?;
    fails(patch(&p.0, "1", Some(&first), vec![set("/n", json!(3))]).await, &[412]).map(drop)
}

async fn patch_key(t: &T) -> Outcome {
    let p = patching(t, json!({"n": 1})).await?;
    for path in ["/id", "/pk", "/_ts", "/_rid"] {
        p.refused(vec![set(path, json!("z"))]).await?;
    }
    p.is(json!({"n": 1})).await
}

async fn patch_atomic(t: &T) -> Outcome {
    let p = patching(t, json!({"n": 1})).await?;
    p.refused(vec![set("/n", json!(2)), set("/m", json!(1)), PatchOperation::remove("/none")]).await?;
    p.is(json!({"n": 1})).await?;
    p.refused((0..11).map(|i| set(&format!("/v{i}"), json!(i))).collect()).await?;
    p.is(json!({"n": 1})).await
}

/// A batch of this SDK has all kinds of operations but the patch.
async fn batch_all_kinds(t: &T) -> Outcome {
    let c = t.container().await?;
    for id in ["upsert", "read", "replace", "delete"] {
        c.create(json!({"id": id, "pk": "a", "v": 1})).await?;
    }
    let body = |id: &str| json!({"id": id, "pk": "a", "v": 2});
    let batch = TransactionalBatch::new("a")
        .create_item(body("create"))?
        .upsert_item(body("upsert-new"), None)?
        .upsert_item(body("upsert"), None)?
        .read_item("read", None)
        .replace_item("replace", body("replace"), None)?
        .delete_item("delete", None);
    let (_, results) = c.batch(batch).await?;
    equal(statuses(&results), vec![201, 201, 200, 200, 200, 204])?;
    for (at, name, want) in [(0, "id", json!("create")), (3, "v", json!(1))] {
        let doc: Option<Value> = results[at].into_model()?;
        equal(doc.map_or(Value::Null, |d| d[name].clone()), want)?;
    }
    check(results.iter().all(|r| r.request_charge().is_some_and(|c| c > 0.0)), "no charge")?;
    check(results[0].etag().is_some(), "no etag")?;
    equal(c.rows("SELECT VALUE c.v FROM c WHERE c.id != 'read'", within("a")).await?, json!([2, 2, 2, 2]))?;
    same(c.ids("", within("a")).await?, ["create", "upsert-new", "upsert", "read", "replace"])
}

async fn batch_fails_at_each_place(t: &T) -> Outcome {
    let c = t.container().await?;
    c.create(json!({"id": "there", "pk": "a"})).await?;
    for at in 0..5 {
        let mut want = [424; 5];
        want[at] = 409;
        let mut batch = TransactionalBatch::new("a");
        for i in 0..5 {
            let id = if i == at { "there".to_owned() } else { i.to_string() };
            batch = batch.create_item(json!({"id": id, "pk": "a"}))?;
        }
        let (status, results) = c.batch(batch).await?;
        equal(status, 207)?;
        equal(statuses(&results), want.to_vec())?;
    }
    equal(c.ids("", within("a")).await?, vec!["there"])
}

async fn batch_etag(t: &T) -> Outcome {
    let c = t.container().await?;
    let stale = etag(&c.c.create_item("a", "1", json!({"id": "1", "pk": "a", "v": 1}), None).await?);
    let right = etag(&c.replace("a", json!({"id": "1", "pk": "a", "v": 2}), None).await?);
    let replacing = async |etag: &str| -> Outcome<Vec<u16>> {
        let o = BatchReplaceOptions::default().with_precondition(if_match(etag));
        let batch = TransactionalBatch::new("a").create_item(json!({"id": "2", "pk": "a"}))?.replace_item(
            "1",
            json!({"id": "1", "pk": "a", "v": 3}),
            Some(o),
        )?;
        Ok(statuses(&c.batch(batch).await?.1))
    };
    equal(replacing(&stale).await?, vec![424, 412])?;
    c.gone("a", "2").await?;
    equal(replacing(&right).await?, vec![201, 200])
}

async fn batch_own_writes(t: &T) -> Outcome {
    let c = t.container().await?;
    let doc = |v: i32| json!({"id": "1", "pk": "a", "v": v});
    let batch = TransactionalBatch::new("a")
        .create_item(doc(1))?
        .replace_item("1", doc(2), None)?
        .read_item("1", None)
        .delete_item("1", None)
        .create_item(doc(9))?;
    let (_, results) = c.batch(batch).await?;
    equal(statuses(&results), vec![201, 200, 200, 204, 201])?;
    let read: Option<Value> = results[2].into_model()?;
    equal(read.map_or(Value::Null, |d| d["v"].clone()), 2)?;
    equal(c.read("a", "1").await?["v"].clone(), 9)
}

async fn batch_hundred(t: &T) -> Outcome {
    let c = t.container().await?;
    let creates = |n: usize| -> Outcome<TransactionalBatch> {
        let mut batch = TransactionalBatch::new("a");
        for i in 0..n {
            batch = batch.create_item(json!({"id": i.to_string(), "pk": "a"}))?;
        }
        Ok(batch)
    };
    fails(c.c.execute_transactional_batch(creates(101)?, None).await, &[400, 413])?;
    let (_, results) = c.batch(creates(100)?).await?;
    check(results.iter().all(|r| r.is_success()), "no success")?;
    equal(c.rows("SELECT VALUE COUNT(1) FROM c", within("a")).await?, json!([100]))
}
