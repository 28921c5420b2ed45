//! Paging and the query language.

use crate::account::{composite, index_all};
use crate::scenario::*;
use azure_data_cosmos::models::{
    FullTextPath, FullTextPolicy, SpatialIndex, SpatialType, VectorDataType, VectorDistanceFunction, VectorEmbedding,
    VectorEmbeddingPolicy, VectorIndex, VectorIndexType,
};
use azure_data_cosmos::options::QueryOptions;
use azure_data_cosmos::{FeedScope, Query};
use futures::StreamExt;
use serde_json::{Value, json};

pub const AGGREGATES: &str = "merges no aggregates";

pub fn all() -> Vec<Scenario> {
    list![
        paging_partition, paging_cross, paging_ordered,
        paging_all: "no read feed",
        read_many: "no read many",
        query_partition, query_parameters, query_cross, query_projection, query_order_by_partition, query_order_by_cross,
        query_order_by_string_cross, query_order_by_composite, query_order_by_refused, query_aggregates_partition,
        query_aggregates_cross: AGGREGATES, query_aggregates_many_cross: AGGREGATES, query_aggregates_empty: AGGREGATES,
        query_group_by_partition,
        query_group_by_cross: AGGREGATES,
        query_distinct_partition, query_distinct_cross,
        query_count_distinct_cross: AGGREGATES,
        query_top_partition, query_top_cross, query_offset_limit_cross, query_join, query_arrays, query_subqueries, query_strings,
        query_types, query_spatial, query_vector, query_full_text,
        query_full_text_rank: "merges no hybrid search",
        query_hybrid: "merges no hybrid search",
        query_syntax_error, query_metrics,
    ]
}

/// ten creates a container with the items 0 to 9 in the partition "a".
pub async fn ten(t: &T) -> Outcome<C<'_>> {
    let c = t.container().await?;
    for i in 0..10 {
        c.create(json!({"id": i.to_string(), "pk": "a"})).await?;
    }
    Ok(c)
}

/// resumed reads a query by pages of 3, each by a new iterator, from the continuation on.
async fn resumed(c: &C<'_>, query: &str, scope: FeedScope) -> Outcome<Vec<Vec<Value>>> {
    let mut pages = Vec::new();
    let mut o = by(3);
    loop {
        let mut iterator = c.c.query_items::<Value>(query, scope.clone(), Some(o)).await?.into_pages();
        let Some(page) = iterator.next().await else { return Ok(pages) };
        let rows = page?.into_items();
        check(rows.len() <= 3, format_args!("a page of {}", rows.len()))?;
        if !rows.is_empty() {
            pages.push(rows);
        }
        o = by(3).with_continuation_token(iterator.to_continuation_token()?);
    }
}

fn sizes(pages: &[Vec<Value>]) -> Vec<usize> {
    pages.iter().map(Vec::len).collect()
}

async fn paging_partition(t: &T) -> Outcome {
    let c = ten(t).await?;
    let pages = resumed(&c, "SELECT * FROM c", within("a")).await?;
    equal(sizes(&pages), vec![3, 3, 3, 1])?;
    equal(names(&pages.concat()).concat(), "0123456789")?;
    equal(sizes(&c.pages("SELECT * FROM c", within("a"), by(3)).await?), vec![3, 3, 3, 1])
}

async fn paging_cross(t: &T) -> Outcome {
    let c = t.twenty().await?;
    same(names(&resumed(&c, "SELECT * FROM c", across()).await?.concat()), everything())
}

async fn paging_ordered(t: &T) -> Outcome {
    let c = t.twenty().await?;
    let got = resumed(&c, "SELECT * FROM c ORDER BY c.g DESC", across()).await?.concat();
    same(names(&got), everything())?;
    let groups: Vec<_> = got.iter().map(|d| d["g"].clone()).collect();
    let mut want: Vec<_> = (0..20).map(|i| twentieth(i)["g"].as_str().unwrap_or_default().to_owned()).collect();
    want.sort();
    want.reverse();
    equal(groups, want)
}

async fn query_partition(t: &T) -> Outcome {
    let c = t.twenty().await?;
    for (filter, want) in [
        ("c.n = 7", json!(["i07"])),
        ("c.n > 7", json!(["i12", "i17"])),
        ("c.n >= 7 AND c.n < 17", json!(["i07", "i12"])),
        ("c.n IN (2, 12, 13)", json!(["i02", "i12"])),
        ("c.n BETWEEN 3 AND 12", json!(["i07", "i12"])),
        ("NOT (c.g = 'g0')", json!(["i02", "i07", "i17"])),
        ("c.g = 'g0' OR c.o.x = 2", json!(["i02", "i12"])),
        ("c.none = 1", json!([])),
        ("c.n != 7", json!(["i02", "i12", "i17"])),
    ] {
        equal(c.ids(&format!(" WHERE {filter}"), within("p2")).await?, want)?;
    }
    Ok(())
}

async fn query_parameters(t: &T) -> Outcome {
    let c = t.container().await?;
    let values = [json!("it's"), json!(1.5), json!(true), json!(null), json!([1, "two"]), json!({"a": {"b": 1}})];
    for (i, v) in values.iter().enumerate() {
        c.create(json!({"id": i.to_string(), "pk": "a", "v": v})).await?;
    }
    for (i, v) in values.iter().enumerate() {
        let query = Query::from("SELECT VALUE c.id FROM c WHERE c.v = @v").with_parameter("@v", v)?;
        for scope in [within("a"), across()] {
            equal(c.rows(query.clone(), scope).await?, json!([i.to_string()]))?;
        }
    }
    Ok(())
}

async fn query_cross(t: &T) -> Outcome {
    let c = t.twenty().await?;
    same(c.ids(" WHERE c.n >= 15", across()).await?, &everything()[15..])?;
    same(c.ids(" WHERE c.g = 'g2' AND c.n < 9", across()).await?, ["i02", "i05", "i08"])?;
    same(c.ids(" WHERE c.pk = 'p3'", across()).await?, ["i03", "i08", "i13", "i18"])?;
    equal(c.ids(" WHERE c.n > 100", across()).await?, json!([]))
}

async fn query_projection(t: &T) -> Outcome {
    let c = t.twenty().await?;
    for (selected, want) in [
        ("c.id, c.o.x", json!({"id": "i07", "x": 7})),
        ("c.id AS name, c.n * 2 + 1 AS m", json!({"name": "i07", "m": 15})),
        ("VALUE { k: c.n, l: [c.g, c.n] }", json!({"k": 7, "l": ["g1", 7]})),
        ("VALUE c.tags", json!(["t3", "all"])),
        ("c.id, c.none, c.n = 7 AS same", json!({"id": "i07", "same": true})),
        ("VALUE c.tags[1]", json!("all")),
        (r#"c["id"], c.g || "!" AS loud"#, json!({"id": "i07", "loud": "g1!"})),
    ] {
        equal(c.rows(format!("SELECT {selected} FROM c WHERE c.id = 'i07'"), within("p2")).await?, json!([want]))?;
    }
    equal(c.rows("SELECT VALUE c.none FROM c", within("p2")).await?, json!([]))?;
    let found = c.rows("SELECT * FROM c WHERE c.n = 7", within("p2")).await?;
    equal(found.into_iter().map(user).collect::<Value>(), json!([twentieth(7)]))
}

async fn query_order_by_partition(t: &T) -> Outcome {
    let c = t.container().await?;
    for (i, v) in [json!(3), json!("b"), json!(null), json!(true), json!(-1), json!("a"), json!(false), json!(2.5)].iter().enumerate() {
        c.create(json!({"id": i.to_string(), "pk": "a", "v": v})).await?;
    }
    c.create(json!({"id": "missing", "pk": "a"})).await?;
    let mut want = vec![json!("missing"), json!(null), json!(false), json!(true), json!(-1), json!(2.5), json!(3), json!("a"), json!("b")];
    let query = "SELECT VALUE IS_DEFINED(c.v) ? c.v : 'missing' FROM c ORDER BY c.v";
    equal(c.rows(query, within("a")).await?, want.clone())?;
    want.reverse();
    equal(c.rows(format!("{query} DESC"), within("a")).await?, want)
}

async fn query_order_by_cross(t: &T) -> Outcome {
    let c = t.twenty().await?;
    let mut want = everything();
    for how in ["ASC", "DESC"] {
        let pages = c.pages(format!("SELECT * FROM c ORDER BY c.n {how}"), across(), by(3)).await?;
        check(pages.iter().all(|p| p.len() <= 3), "a page above 3")?;
        equal(names(&pages.concat()), want.clone())?;
        want.reverse();
    }
    Ok(())
}

async fn query_order_by_string_cross(t: &T) -> Outcome {
    let c = t.twenty().await?;
    for how in ["ASC", "DESC"] {
        let got = c.pages(format!("SELECT c.id, c.g FROM c WHERE c.n > 4 ORDER BY c.g {how}"), across(), by(4)).await?.concat();
        same(names(&got), &everything()[5..])?;
        let groups: Vec<_> = got.iter().map(|d| d["g"].as_str().unwrap_or_default().to_owned()).collect();
        let mut want = groups.clone();
        want.sort();
        if how == "DESC" {
            want.reverse();
        }
        equal(groups, want)?;
    }
    Ok(())
}

async fn query_order_by_composite(t: &T) -> Outcome {
    let c = t.twenty_of(properties().with_indexing_policy(composite())).await?;
    let mut order: Vec<usize> = (0..20).collect();
    order.sort_by_key(|i| (i % 3, 20 - i));
    let mut want: Vec<_> = order.into_iter().map(|i| id_of(&twentieth(i))).collect();
    equal(c.ids(" ORDER BY c.g ASC, c.n DESC", across()).await?, want.clone())?;
    want.reverse();
    equal(names(&c.pages("SELECT * FROM c ORDER BY c.g DESC, c.n ASC", across(), by(4)).await?.concat()), want)
}

async fn query_order_by_refused(t: &T) -> Outcome {
    let c = t.twenty_of(properties().with_indexing_policy(composite())).await?;
    let text = fails(c.rows("SELECT * FROM c ORDER BY c.g ASC, c.n ASC", within("p1")).await, &[400])?;
    check(text.contains("composite index"), format_args!("says {text}"))
}

/// values wants of each expression the one value that SELECT VALUE gives.
async fn values(c: &C<'_>, scope: FeedScope, wanted: &[(&str, Value)]) -> Outcome {
    for (f, want) in wanted {
        equal(c.rows(format!("SELECT VALUE {f} FROM c"), scope.clone()).await?, json!([want]))?;
    }
    Ok(())
}

async fn query_aggregates_partition(t: &T) -> Outcome {
    let c = t.twenty().await?;
    let wanted = [
        ("COUNT(1)", json!(4)),
        ("SUM(c.n)", json!(34)),
        ("AVG(c.n)", json!(8.5)),
        ("MIN(c.n)", json!(1)),
        ("MAX(c.n)", json!(16)),
        ("MIN(c.id)", json!("i01")),
        ("COUNT(c.none)", json!(0)),
    ];
    values(&c, within("p1"), &wanted).await?;
    equal(c.rows("SELECT COUNT(1) AS k, SUM(c.n) AS s FROM c WHERE c.n > 1", within("p1")).await?, json!([{"k": 3, "s": 33}]))
}

/// grouped sorts rows by their text: groups come in any order.
fn grouped(mut rows: Vec<Value>) -> Vec<Value> {
    rows.sort_by_key(|r| r["g"].as_str().or(r.as_str()).unwrap_or_default().to_owned());
    rows
}

async fn query_group_by_partition(t: &T) -> Outcome {
    let c = t.twenty().await?;
    let rows = c.rows("SELECT c.g, COUNT(1) AS k, SUM(c.n) AS s FROM c GROUP BY c.g", within("p1")).await?;
    equal(grouped(rows), json!([{"g": "g0", "k": 1, "s": 6}, {"g": "g1", "k": 2, "s": 17}, {"g": "g2", "k": 1, "s": 11}]))
}

async fn query_distinct_partition(t: &T) -> Outcome {
    let c = t.twenty().await?;
    equal(grouped(c.rows("SELECT DISTINCT VALUE c.g FROM c", within("p1")).await?), json!(["g0", "g1", "g2"]))?;
    equal(c.rows("SELECT DISTINCT c.g FROM c", within("p1")).await?.len(), 3)
}

async fn query_distinct_cross(t: &T) -> Outcome {
    let c = t.twenty().await?;
    // The SDK merges an unordered DISTINCT where its rows have a bound.
    equal(grouped(c.rows("SELECT DISTINCT TOP 100 VALUE c.g FROM c", across()).await?), json!(["g0", "g1", "g2"]))?;
    equal(c.rows("SELECT DISTINCT VALUE c.g FROM c ORDER BY c.g DESC", across()).await?, json!(["g2", "g1", "g0"]))?;
    equal(c.rows("SELECT DISTINCT TOP 100 c.g, c.pk FROM c", across()).await?.len(), 15)?;
    equal(c.rows("SELECT DISTINCT TOP 100 VALUE c.tags FROM c", across()).await?.len(), 4)
}

async fn query_top_partition(t: &T) -> Outcome {
    let c = t.twenty().await?;
    equal(c.rows("SELECT TOP 2 VALUE c.id FROM c ORDER BY c.n DESC", within("p4")).await?, json!(["i19", "i14"]))?;
    equal(c.ids(" ORDER BY c.n OFFSET 1 LIMIT 2", within("p4")).await?, json!(["i09", "i14"]))?;
    equal(c.ids(" OFFSET 3 LIMIT 5", within("p4")).await?, json!(["i19"]))?;
    equal(c.rows("SELECT TOP 0 * FROM c", within("p4")).await?, json!([]))
}

async fn query_top_cross(t: &T) -> Outcome {
    let c = t.twenty().await?;
    let mut want = everything();
    want.reverse();
    want.truncate(7);
    equal(names(&c.pages("SELECT TOP 7 * FROM c ORDER BY c.n DESC", across(), by(2)).await?.concat()), want)?;
    equal(c.rows("SELECT TOP 7 * FROM c", across()).await?.len(), 7)
}

async fn query_offset_limit_cross(t: &T) -> Outcome {
    let c = t.twenty().await?;
    equal(c.ids(" ORDER BY c.n OFFSET 5 LIMIT 4", across()).await?, json!(["i05", "i06", "i07", "i08"]))?;
    let over = c.pages("SELECT * FROM c ORDER BY c.n OFFSET 18 LIMIT 10", across(), by(3)).await?.concat();
    equal(names(&over), json!(["i18", "i19"]))?;
    equal(c.ids(" ORDER BY c.n OFFSET 20 LIMIT 10", across()).await?, json!([]))
}

async fn query_join(t: &T) -> Outcome {
    let c = t.twenty().await?;
    let rows = c.rows("SELECT c.id, tag FROM c JOIN tag IN c.tags WHERE tag = 't1'", across()).await?;
    same(names(&rows), ["i01", "i05", "i09", "i13", "i17"])?;
    equal(c.rows("SELECT VALUE tag FROM c JOIN tag IN c.tags", within("p0")).await?.len(), 8)?;
    let tags = c.rows("SELECT VALUE tag FROM tag IN c.tags WHERE tag != 'all'", within("p0")).await?;
    equal(tags, json!(["t0", "t1", "t2", "t3"]))
}

async fn query_arrays(t: &T) -> Outcome {
    let c = t.twenty().await?;
    same(c.ids(" WHERE ARRAY_CONTAINS(c.tags, 't2')", within("p2")).await?, ["i02"])?;
    let query = "SELECT VALUE [ARRAY_LENGTH(c.tags), ARRAY_SLICE(c.tags, 1), ARRAY_CONCAT(c.tags, [c.n]),
        ARRAY(SELECT VALUE x FROM x IN c.tags WHERE x != 'all')] FROM c WHERE c.id = 'i07'";
    equal(c.rows(query, within("p2")).await?, json!([[2, ["all"], ["t3", "all", 7], ["t3"]]]))
}

async fn query_subqueries(t: &T) -> Outcome {
    let c = t.twenty().await?;
    same(c.ids(" WHERE EXISTS(SELECT VALUE x FROM x IN c.tags WHERE x = 't3')", within("p2")).await?, ["i07"])?;
    let counted = "SELECT VALUE (SELECT VALUE COUNT(1) FROM x IN c.tags) FROM c WHERE c.n = 7";
    equal(c.rows(counted, within("p2")).await?, json!([2]))?;
    let derived = "SELECT VALUE s.m FROM (SELECT c.n * 2 AS m FROM c WHERE c.n > 10) AS s";
    equal(c.rows(derived, within("p2")).await?, json!([24, 34]))
}

async fn query_strings(t: &T) -> Outcome {
    let c = t.container().await?;
    c.create(json!({"id": "1", "pk": "a", "s": "Hello World"})).await?;
    let query = r#"SELECT VALUE [CONTAINS(c.s, "world", true), STARTSWITH(c.s, "Hell"), ENDSWITH(c.s, "x"), UPPER(c.s), CONCAT(c.s, "!"),
        c.s LIKE "%o W%", RegexMatch(c.s, "^H.*d$"), SUBSTRING(c.s, 6, 5), REPLACE(c.s, "l", "L"), INDEX_OF(c.s, "o"), LENGTH(c.s)] FROM c"#;
    let want = json!([[true, true, false, "HELLO WORLD", "Hello World!", true, true, "World", "HeLLo WorLd", 4, 11]]);
    equal(c.rows(query, within("a")).await?, want)
}

async fn query_types(t: &T) -> Outcome {
    let c = t.container().await?;
    c.create(json!({"id": "1", "pk": "a", "z": null, "n": -2.5, "s": "x", "a": [], "o": {}})).await?;
    let query = r#"SELECT VALUE [IS_DEFINED(c.none), IS_DEFINED(c.z), IS_NULL(c.z), IS_NUMBER(c.n), IS_STRING(c.n), IS_ARRAY(c.a), IS_OBJECT(c.o),
        c.none ?? "else", IIF(c.n < 0, "minus", "plus"), ABS(c.n), FLOOR(c.n), ROUND(2.5), POWER(2, 10), SQRT(16), 7 % 4, 6 & 3] FROM c"#;
    let want = json!([[false, true, true, true, false, true, true, "else", "minus", 2.5, -3, 3, 1024, 4, 3, 2]]);
    equal(c.rows(query, within("a")).await?, want)
}

async fn query_spatial(t: &T) -> Outcome {
    let index = SpatialIndex::new("/at/*").with_type(SpatialType::Point).with_type(SpatialType::Polygon);
    let c = t.container_of(properties().with_indexing_policy(index_all().with_spatial_index(index))).await?;
    for (id, at) in [("berlin", [13.405, 52.52]), ("potsdam", [13.065, 52.4]), ("paris", [2.352, 48.857])] {
        c.create(json!({"id": id, "pk": id, "at": {"type": "Point", "coordinates": at}})).await?;
    }
    let near = r#" WHERE ST_DISTANCE(c.at, {"type": "Point", "coordinates": [13.4, 52.5]}) < 40000"#;
    same(c.ids(near, across()).await?, ["berlin", "potsdam"])?;
    let inside = r#" WHERE ST_WITHIN(c.at, {"type": "Polygon", "coordinates": [[[0, 45], [5, 45], [5, 50], [0, 50], [0, 45]]]})"#;
    same(c.ids(inside, across()).await?, ["paris"])
}

/// library creates documents with a vector and a text, each in a partition of its own.
async fn library(t: &T) -> Outcome<C<'_>> {
    let embedding = VectorEmbedding::new("/v", VectorDataType::Float32, 2, VectorDistanceFunction::Euclidean);
    let text = FullTextPath::new("/text").with_language("en-US");
    let policy = index_all().with_vector_index(VectorIndex::new("/v", VectorIndexType::Flat)).with_full_text_index("/text");
    let p = properties()
        .with_vector_embedding_policy(VectorEmbeddingPolicy::default().with_embedding(embedding))
        .with_full_text_policy(FullTextPolicy::new("en-US").with_full_text_path(text))
        .with_indexing_policy(policy);
    let c = t.container_of(p).await?;
    for (id, v, text) in [
        ("1", [0, 0], "a red bicycle on a mountain road"),
        ("2", [1, 0], "a blue car in the city"),
        ("3", [0, 2], "mountain mountain mountain, and a bicycle on every mountain"),
        ("4", [3, 3], "red wine and cheese"),
        ("5", [10, 10], "nothing of interest"),
    ] {
        c.create(json!({"id": id, "pk": format!("p{id}"), "v": v, "text": text})).await?;
    }
    Ok(c)
}

async fn query_vector(t: &T) -> Outcome {
    let c = library(t).await?;
    let query = "SELECT TOP 3 c.id, VectorDistance(c.v, [0, 0.9]) AS d FROM c ORDER BY VectorDistance(c.v, [0, 0.9])";
    let near = c.rows(query, across()).await?;
    equal(names(&near), json!(["1", "3", "2"]))?;
    check(near[0]["d"].as_f64().is_some_and(|d| (d - 0.9).abs() < 1e-6), format_args!("{near:?}"))
}

async fn query_full_text(t: &T) -> Outcome {
    let c = library(t).await?;
    same(c.ids(" WHERE FullTextContains(c.text, 'bicycle')", across()).await?, ["1", "3"])?;
    same(c.ids(" WHERE FullTextContainsAll(c.text, 'red', 'bicycle')", across()).await?, ["1"])?;
    same(c.ids(" WHERE FullTextContainsAny(c.text, 'wine', 'car')", across()).await?, ["2", "4"])
}

async fn query_syntax_error(t: &T) -> Outcome {
    let c = t.container().await?;
    for scope in [within("a"), across()] {
        let text = fails(c.rows("SELECT * FROM c WHERE c.n = = 1", scope).await, &[400])?;
        check(text.to_lowercase().contains("syntax error"), format_args!("says {text}"))?;
    }
    Ok(())
}

async fn query_metrics(t: &T) -> Outcome {
    let c = t.twenty().await?;
    let page = async |o: QueryOptions| -> Outcome<(String, String)> {
        let mut pages = c.c.query_items::<Value>("SELECT * FROM c WHERE c.n > 3", within("p1"), Some(o)).await?.into_pages();
        let Some(page) = pages.next().await else { return fail("no page") };
        let page = page?;
        Ok((page.query_metrics().unwrap_or_default().to_owned(), page.index_metrics().unwrap_or_default().to_owned()))
    };
    let (queried, indexed) = page(QueryOptions::default().with_populate_query_metrics(true).with_populate_index_metrics(true)).await?;
    check(queried.contains("outputDocumentCount=3;"), format_args!("query metrics {queried:?}"))?;
    check(indexed.contains("/n/?"), format_args!("index metrics {indexed:?}"))?;
    let (_, unasked) = page(QueryOptions::default()).await?;
    check(unasked.is_empty(), format_args!("index metrics that nobody asked for: {unasked:?}"))
}
