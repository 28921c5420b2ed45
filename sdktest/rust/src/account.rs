//! The account, databases and containers.

use crate::scenario::*;
use azure_data_cosmos::Query;
use azure_data_cosmos::models::{
    CompositeIndex, CompositeIndexOrder, CompositeIndexProperty, IndexingMode, IndexingPolicy, ResponseHeaders, SpatialIndex, SpatialType,
    ThroughputProperties, TimeToLive, UniqueKey, UniqueKeyPolicy,
};
use azure_data_cosmos::options::{CreateDatabaseOptions, ItemReadOptions, QueryOptions, ReadConsistencyStrategy};
use futures::{StreamExt, TryStreamExt};
use serde_json::json;
use std::collections::HashSet;

pub fn all() -> Vec<Scenario> {
    list![
        account_read: "no call that reads the account",
        connection_string: "no connection strings in the SDK",
        wrong_key, response_headers, consistency_levels, database_lifecycle, database_listing, container_lifecycle, container_listing,
        container_replace,
        container_quota: "no call that asks for quota information",
        indexing_policy, indexing_none, indexing_change, unique_keys,
        computed_properties: "container properties without computed properties",
        conflict_feed: "no conflicts",
        throughput_manual, throughput_autoscale,
        throughput_database: "a database is created without throughput",
        throughput_default, feed_range_list,
    ]
}

async fn wrong_key(t: &T) -> Outcome {
    // "another key", in base64. The client reads the account when it is made.
    let client = match connect(&t.endpoint, "YW5vdGhlciBrZXk=").await {
        Ok(client) => client,
        refused => return fails(refused, &[401]).map(drop),
    };
    fails(client.create_database(&t.name, None).await, &[401]).map(drop)
}

async fn response_headers(t: &T) -> Outcome {
    let c = t.container().await?;
    let mut seen = HashSet::new();
    let mut want = |h: &ResponseHeaders, item: bool| {
        check(h.request_charge().is_some_and(|r| r.value() > 0.0), "no charge")?;
        let id = h.activity_id().map(|a| a.as_str().to_owned()).unwrap_or_default();
        check(!id.is_empty() && seen.insert(id.clone()), format_args!("no activity id of its own: {id:?}"))?;
        check(!item || h.session_token().is_some_and(|s| s.as_str().contains('#')), "no session token")
    };
    let doc = json!({"id": "1", "pk": "a"});
    want(c.c.create_item("a", "1", &doc, None).await?.headers(), true)?;
    want(c.c.read_item("a", "1", None).await?.headers(), true)?;
    want(c.replace("a", json!({"id": "1", "pk": "a", "v": 1}), None).await?.headers(), true)?;
    let mut pages = c.c.query_items::<serde_json::Value>("SELECT * FROM c", within("a"), None).await?.into_pages();
    match pages.next().await {
        Some(page) => want(page?.headers(), false)?,
        None => fail("no page")?,
    }
    want(c.delete("a", "1").await?.headers(), true)
}

async fn consistency_levels(t: &T) -> Outcome {
    let c = t.container().await?;
    c.create(json!({"id": "1", "pk": "a"})).await?;
    for level in [ReadConsistencyStrategy::Session, ReadConsistencyStrategy::Eventual] {
        let mut o = content();
        o.read_consistency_strategy = Some(level);
        c.c.read_item("a", "1", Some(ItemReadOptions::default().with_operation_options(o.clone()))).await?;
        let rows = c.pages("SELECT * FROM c", within("a"), QueryOptions::default().with_operation_options(o)).await?.concat();
        equal(rows.len(), 1)?;
    }
    Ok(())
}

async fn database_lifecycle(t: &T) -> Outcome {
    let created = t.client.create_database(&t.name, None).await?;
    equal(u16::from(created.status().status_code()), 201)?;
    fails(t.client.create_database(&t.name, None).await, &[409])?;
    let db = t.client.database_client(t.name.as_str());
    equal(db.read(None).await?.into_model()?.id, t.name.as_str())?;
    equal(databases(t, "SELECT * FROM d WHERE d.id = @p", &t.name).await?, vec![t.name.as_str()])?;
    equal(u16::from(db.delete(None).await?.status().status_code()), 204)?;
    fails(db.read(None).await, &[404]).map(drop)
}

async fn database_listing(t: &T) -> Outcome {
    let want = ["x", "y", "z"].map(|end| format!("{}-{end}", t.name));
    for id in &want {
        t.client.create_database(id, None::<CreateDatabaseOptions>).await?;
    }
    same(databases(t, "SELECT * FROM d WHERE STARTSWITH(d.id, @p)", &format!("{}-", t.name)).await?, &want)?;
    for id in &want {
        t.client.database_client(id.as_str()).delete(None).await?;
    }
    Ok(())
}

/// databases are the ids that a query with the parameter @p finds.
async fn databases(t: &T, query: &str, p: &str) -> Outcome<Vec<String>> {
    let found = t.client.query_databases(Query::from(query).with_parameter("@p", p)?, None).await?;
    let found: Vec<_> = found.try_collect().await?;
    Ok(found.into_iter().filter_map(|d| d.id).collect())
}

async fn container_lifecycle(t: &T) -> Outcome {
    let db = t.database().await?;
    let created = db.create_container(properties(), None).await?;
    equal(u16::from(created.status().status_code()), 201)?;
    fails(db.create_container(properties(), None).await, &[409])?;
    let c = db.container_client("c", None).await?;
    let read = c.read(None).await?.into_model()?;
    equal(read.partition_key.paths().iter().map(|p| p.to_string()).collect::<Vec<_>>(), vec!["/pk"])?;
    equal(u16::from(c.delete(None).await?.status().status_code()), 204)?;
    fails(c.read(None).await, &[404])?;
    let none = t.client.database_client(format!("{}-none", t.name));
    fails(none.create_container(properties(), None).await, &[404]).map(drop)
}

async fn container_listing(t: &T) -> Outcome {
    for id in ["x", "y", "z"] {
        t.container_of(by_path(id, "/pk")).await?;
    }
    let list = async |query: Query| -> Outcome<Vec<String>> {
        let found: Vec<_> = t.database().await?.query_containers(query, None).await?.try_collect().await?;
        Ok(found.into_iter().map(|c| c.id.to_string()).collect())
    };
    same(list("SELECT * FROM c".into()).await?, ["x", "y", "z"])?;
    equal(list(Query::from("SELECT * FROM c WHERE c.id = @id").with_parameter("@id", "y")?).await?, vec!["y"])
}

async fn container_replace(t: &T) -> Outcome {
    let c = t.container().await?;
    let was = c.c.read(None).await?.into_model()?;
    let policy = index_all().with_excluded_path("/big/*");
    let changed = was.clone().with_default_ttl(100).with_indexing_policy(policy);
    equal(u16::from(c.c.replace(changed, None).await?.status().status_code()), 200)?;
    let now = c.c.read(None).await?.into_model()?;
    check(now.default_ttl == TimeToLive::Seconds(100), debug(&now.default_ttl))?;
    let excluded = now.indexing_policy.map(|p| p.excluded_paths).unwrap_or_default();
    check(excluded.iter().any(|p| p.path == "/big/*"), debug(excluded))?;
    equal(now.system_properties.resource_id, was.system_properties.resource_id.clone())?;
    let mut other = was;
    other.partition_key = "/other".into();
    fails(c.c.replace(other, None).await, &[400]).map(drop)
}

async fn indexing_policy(t: &T) -> Outcome {
    let mut spatial = SpatialIndex::new("/at/*");
    for kind in [SpatialType::Point, SpatialType::LineString, SpatialType::Polygon, SpatialType::MultiPolygon] {
        spatial = spatial.with_type(kind);
    }
    let policy = composite().with_excluded_path("/big/*").with_spatial_index(spatial);
    let c = t.container_of(properties().with_indexing_policy(policy.clone())).await?;
    let got = c.c.read(None).await?.into_model()?.indexing_policy.unwrap_or_default();
    check(got.indexing_mode == Some(IndexingMode::Consistent), debug(&got.indexing_mode))?;
    check(got.included_paths == policy.included_paths, debug(&got.included_paths))?;
    let excluded: Vec<_> = got.excluded_paths.iter().map(|p| p.path.clone()).collect();
    equal(excluded, vec!["/big/*", r#"/"_etag"/?"#])?;
    check(got.composite_indexes == policy.composite_indexes, debug(&got.composite_indexes))?;
    equal(got.spatial_indexes.iter().map(|s| s.path.clone()).collect::<Vec<_>>(), vec!["/at/*"])?;
    equal(got.spatial_indexes[0].types.len(), 4)
}

/// index_all is the indexing policy that indexes everything.
pub fn index_all() -> IndexingPolicy {
    let mut policy = IndexingPolicy::default().with_indexing_mode(IndexingMode::Consistent).with_included_path("/*");
    policy.automatic = true;
    policy
}

/// composite orders by g upwards and n downwards.
pub fn composite() -> IndexingPolicy {
    let index = CompositeIndex::default()
        .with_property(CompositeIndexProperty::new("/g", CompositeIndexOrder::Ascending))
        .with_property(CompositeIndexProperty::new("/n", CompositeIndexOrder::Descending));
    index_all().with_composite_index(index)
}

async fn indexing_none(t: &T) -> Outcome {
    let policy = IndexingPolicy::default().with_indexing_mode(IndexingMode::None);
    let c = t.twenty_of(properties().with_indexing_policy(policy)).await?;
    let got = c.c.read(None).await?.into_model()?.indexing_policy.unwrap_or_default();
    check(got.indexing_mode == Some(IndexingMode::None) && !got.automatic, debug(&got))?;
    same(c.ids(" WHERE c.n > 17", across()).await?, ["i18", "i19"])
}

async fn indexing_change(t: &T) -> Outcome {
    let c = t.twenty().await?;
    let want = ["i01", "i04", "i07", "i10", "i13", "i16", "i19"];
    same(c.ids(" WHERE c.g = 'g1'", across()).await?, want)?;
    for policy in [index_all().with_excluded_path("/g/?"), index_all()] {
        c.c.replace(c.c.read(None).await?.into_model()?.with_indexing_policy(policy), None).await?;
        same(c.ids(" WHERE c.g = 'g1'", across()).await?, want)?;
    }
    Ok(())
}

async fn unique_keys(t: &T) -> Outcome {
    let policy = UniqueKeyPolicy::default().with_unique_key(UniqueKey::default().with_path("/name").with_path("/o/x"));
    let c = t.container_of(properties().with_unique_key_policy(policy.clone())).await?;
    check(c.c.read(None).await?.into_model()?.unique_key_policy == Some(policy), "another policy")?;
    let named = |id: &str, pk: &str, name: &str| json!({"id": id, "pk": pk, "name": name, "o": {"x": 1}});
    c.create(named("1", "a", "ada")).await?;
    c.create(named("2", "a", "bob")).await?;
    fails(c.c.create_item("a", "3", named("3", "a", "ada"), None).await, &[409])?;
    fails(c.upsert("a", named("3", "a", "ada"), None).await, &[409])?;
    fails(c.replace("a", named("2", "a", "ada"), None).await, &[409])?;
    c.replace("a", named("1", "a", "ada"), None).await?;
    c.create(named("3", "b", "ada")).await?;
    c.delete("a", "1").await?;
    c.create(named("4", "a", "ada")).await.map(drop)
}

async fn throughput_manual(t: &T) -> Outcome {
    let c = t.container_with(properties(), Some(ThroughputProperties::manual(600))).await?;
    equal(throughput(&c).await?, "manual 600")?;
    c.c.begin_replace_throughput(ThroughputProperties::manual(1000), None).await?.await?;
    equal(throughput(&c).await?, "manual 1000")
}

async fn throughput_autoscale(t: &T) -> Outcome {
    let c = t.container_with(properties(), Some(ThroughputProperties::autoscale(4000, None))).await?;
    equal(throughput(&c).await?, "autoscale 4000")?;
    c.c.begin_replace_throughput(ThroughputProperties::autoscale(8000, None), None).await?.await?;
    equal(throughput(&c).await?, "autoscale 8000")
}

async fn throughput_default(t: &T) -> Outcome {
    equal(throughput(&t.container().await?).await?, "manual 400")?;
    check(t.database().await?.read_throughput(None).await?.is_none(), "the database has a throughput")
}

async fn throughput(c: &C<'_>) -> Outcome<String> {
    let Some(t) = c.c.read_throughput(None).await? else { return fail("no throughput") };
    Ok(match (t.autoscale_maximum(), t.throughput()) {
        (Some(max), _) => format!("autoscale {max}"),
        (None, n) => format!("manual {}", n.unwrap_or_default()),
    })
}

async fn feed_range_list(t: &T) -> Outcome {
    let ranges = t.container().await?.c.read_feed_ranges(None).await?;
    equal(ranges.len(), t.ranges)?;
    let mut edge = String::new();
    for r in &ranges {
        equal(r.min_inclusive().to_string(), edge)?;
        edge = r.max_exclusive().to_string();
    }
    equal(edge, "FF")
}
