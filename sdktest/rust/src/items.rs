//! Items: their life, ids and values.

use crate::scenario::*;
use azure_data_cosmos::models::{PatchInstructions, PatchOperation};
use azure_data_cosmos::options::{ItemReadOptions, PatchItemOptions, PatchStrategy, Precondition};
use serde_json::{Value, json};

pub fn all() -> Vec<Scenario> {
    list![
        item_create,
        item_create_again,
        item_read_absent,
        item_read_unchanged,
        item_replace,
        item_replace_stale,
        item_upsert,
        item_delete,
        item_no_content,
        item_ids,
        item_values,
        item_too_large,
        item_wrong_partition,
        item_same_id,
    ]
}

async fn item_create(t: &T) -> Outcome {
    let c = t.container().await?;
    let sent = json!({"id": "1", "pk": "a", "v": 1, "o": {"a": [1, null, true]}});
    let made = c.create(sent.clone()).await?;
    equal(user(made.clone()), sent)?;
    for name in ["_rid", "_self", "_etag", "_attachments"] {
        check(made[name].is_string(), format_args!("no {name}"))?;
    }
    check(made["_ts"].is_number(), "no _ts")?;
    equal(c.full("a", "1").await?, made)
}

async fn item_create_again(t: &T) -> Outcome {
    let c = t.container().await?;
    c.create(json!({"id": "1", "pk": "a"})).await?;
    fails(c.c.create_item("a", "1", json!({"id": "1", "pk": "a", "v": 2}), None).await, &[409])?;
    equal(c.read("a", "1").await?, json!({"id": "1", "pk": "a"}))
}

async fn item_read_absent(t: &T) -> Outcome {
    t.container().await?.gone("a", "none").await
}

async fn item_read_unchanged(t: &T) -> Outcome {
    let c = t.container().await?;
    let etag = c.create(json!({"id": "1", "pk": "a"})).await?["_etag"].as_str().unwrap_or_default().to_owned();
    let unless = || Some(ItemReadOptions::default().with_precondition(Precondition::IfNoneMatch(etag.clone().into())));
    match c.c.read_item("a", "1", unless()).await {
        Ok(res) => equal(u16::from(res.status().status_code()), 304)?,
        refused => fails(refused, &[304]).map(drop)?,
    }
    c.replace("a", json!({"id": "1", "pk": "a", "v": 2}), None).await?;
    equal(u16::from(c.c.read_item("a", "1", unless()).await?.status().status_code()), 200)
}

async fn item_replace(t: &T) -> Outcome {
    let c = t.container().await?;
    let was = c.create(json!({"id": "1", "pk": "a"})).await?;
    let sent = json!({"id": "1", "pk": "a", "v": 2});
    let res = c.replace("a", sent.clone(), writing()).await?;
    equal(u16::from(res.status().status_code()), 200)?;
    let is: Value = res.into_model()?;
    equal(user(is.clone()), sent)?;
    equal(is["_rid"].clone(), was["_rid"].clone())?;
    check(is["_etag"] != was["_etag"], "the etag stays")?;
    fails(c.replace("a", json!({"id": "none", "pk": "a"}), None).await, &[404]).map(drop)
}

async fn item_replace_stale(t: &T) -> Outcome {
    let c = t.container().await?;
    let first = etag(&c.c.create_item("a", "1", json!({"id": "1", "pk": "a", "v": 1}), None).await?);
    let second = etag(&c.replace("a", json!({"id": "1", "pk": "a", "v": 2}), matching(&first)).await?);
    let third = json!({"id": "1", "pk": "a", "v": 3});
    fails(c.replace("a", third.clone(), matching(&first)).await, &[412])?;
    fails(c.upsert("a", third, matching(&first)).await, &[412])?;
    fails(c.c.delete_item("a", "1", matching(&first)).await, &[412])?;
    equal(c.read("a", "1").await?["v"].clone(), 2)?;
    c.c.delete_item("a", "1", matching(&second)).await?;
    Ok(())
}

async fn item_upsert(t: &T) -> Outcome {
    let c = t.container().await?;
    for (v, want) in [201, 200].into_iter().enumerate() {
        let sent = json!({"id": "1", "pk": "a", "v": v});
        let res = c.upsert("a", sent.clone(), writing()).await?;
        equal(u16::from(res.status().status_code()), want)?;
        equal(user(res.into_model()?), sent)?;
    }
    Ok(())
}

async fn item_delete(t: &T) -> Outcome {
    let c = t.container().await?;
    c.create(json!({"id": "1", "pk": "a"})).await?;
    equal(u16::from(c.delete("a", "1").await?.status().status_code()), 204)?;
    c.gone("a", "1").await?;
    fails(c.delete("a", "1").await, &[404]).map(drop)
}

async fn item_no_content(t: &T) -> Outcome {
    let c = t.container().await?;
    let doc = json!({"id": "1", "pk": "a", "v": 1});
    let set = PatchInstructions::new().with_operation(PatchOperation::set("/v", json!(3)));
    // A patch gives the document unless it is told not to, and one that the server carries out.
    let mut quiet = azure_data_cosmos::options::OperationOptions::default();
    quiet.content_response_on_write = Some(azure_data_cosmos::options::ContentResponseOnWrite::Disabled);
    let o = PatchItemOptions::default().with_strategy(PatchStrategy::ServerSide).with_operation_options(quiet);
    for res in [
        c.c.create_item("a", "1", &doc, None).await?,
        c.upsert("a", doc.clone(), None).await?,
        c.replace("a", doc, None).await?,
        c.c.patch_item("a", "1", set, Some(o)).await?,
    ] {
        check(!etag(&res).is_empty(), "no etag")?;
        check(res.into_body().is_empty(), "a body")?;
    }
    equal(c.read("a", "1").await?["v"].clone(), 3)
}

async fn item_ids(t: &T) -> Outcome {
    let c = t.container().await?;
    let long = "a".repeat(255);
    let names = [
        "a b",
        " leading",
        "trailing ",
        "a?b",
        "100%",
        "a%20b",
        "a+b",
        "\"quoted\"",
        ";:@&=$,!*'()",
        "äöüß",
        "文档",
        "😀",
        "a.b",
        "[0]",
        &long,
    ];
    for id in names {
        equal(c.create(json!({"id": id, "pk": "a"})).await?["id"].clone(), id)?;
        equal(c.read("a", id).await?["id"].clone(), id)?;
        c.replace("a", json!({"id": id, "pk": "a", "v": 1}), None).await?;
    }
    same(c.ids("", within("a")).await?, names)?;
    for id in names {
        c.delete("a", id).await?;
    }
    Ok(())
}

async fn item_values(t: &T) -> Outcome {
    let c = t.container().await?;
    let deep = (0..100).fold(json!("end"), |deep, _| json!({"d": deep}));
    let sent = json!({
        "id": "1", "pk": "a",
        "numbers": [0, -1, 9007199254740992u64, 0.1, 1.5e-7, 1e300, -123456.789, 255, 256, -129, 65536, 2147483648u64],
        "texts": ["", "ä€😀", "quote \" back \\ slash / line \n tab \t null \u{1}", "\u{2028}", "<&>", "x".repeat(300)],
        "empty": {"object": {}, "array": [], "nested": [[], [{}]]},
        "deep": deep, "name with blank": 1, "name.with.dots": 2, "": 3, "literals": [true, false, null],
    });
    c.c.create_item("a", "1", &sent, None).await?;
    equal(c.read("a", "1").await?, sent.clone())?;
    let found = c.rows("SELECT * FROM c", within("a")).await?;
    equal(user(found[0].clone()), sent)?;
    equal(c.rows(r#"SELECT VALUE c["name.with.dots"] FROM c"#, within("a")).await?, json!([2]))
}

async fn item_too_large(t: &T) -> Outcome {
    let c = t.container().await?;
    let sized = |n: usize| json!({"id": "1", "pk": "a", "v": "x".repeat(n)});
    fails(c.c.create_item("a", "1", sized(2 << 20), None).await, &[413])?;
    c.gone("a", "1").await?;
    c.create(sized(1900 << 10)).await.map(drop)
}

async fn item_wrong_partition(t: &T) -> Outcome {
    let c = t.container().await?;
    fails(c.c.create_item("b", "1", json!({"id": "1", "pk": "a"}), None).await, &[400])?;
    c.create(json!({"id": "1", "pk": "a"})).await?;
    fails(c.replace("a", json!({"id": "1", "pk": "b"}), None).await, &[400])?;
    equal(c.read("a", "1").await?["pk"].clone(), "a")
}

async fn item_same_id(t: &T) -> Outcome {
    let c = t.container().await?;
    c.create(json!({"id": "1", "pk": "a", "v": 1})).await?;
    c.create(json!({"id": "1", "pk": "b", "v": 2})).await?;
    c.delete("a", "1").await?;
    equal(c.read("b", "1").await?["v"].clone(), 2)
}
