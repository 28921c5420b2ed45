//! What the scenarios share: a client and a database of their own, the server's clock, and a few ways to say what is
//! wanted.

pub use crate::container::*;
use azure_data_cosmos::models::{
    ContainerProperties, PartitionKey, PartitionKeyDefinition, PartitionKeyKind, PartitionKeyValue, ThroughputProperties,
};
use azure_data_cosmos::options::{
    ContentResponseOnWrite, CreateContainerOptions, ItemWriteOptions, MaxItemCountHint, OperationOptions, Precondition, QueryOptions,
    Region,
};
use azure_data_cosmos::{AccountReference, CosmosClient, CosmosError, DatabaseClient, FeedScope, RoutingStrategy};
use serde_json::{Value, json};
use std::cell::Cell;
use std::fmt::{Debug, Display};
use std::future::Future;
use std::num::NonZeroU32;
use std::panic::Location;
use std::pin::Pin;

/// The master key that every Cosmos DB emulator is known to have.
pub const MASTER_KEY: &str = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";

/// What the command line says.
pub struct Flags {
    pub endpoint: String,
    pub ranges: usize,
    pub control: Option<String>,
}

pub type Body = for<'a> fn(&'a T) -> Pin<Box<dyn Future<Output = Outcome> + 'a>>;

/// One of scenarios.md.
pub struct Scenario {
    pub name: String,
    pub run: Run,
}

pub enum Run {
    Do(Body),
    /// The SDK has no call for it, and why.
    Absent(&'static str),
}

/// list makes scenarios of functions; `name: reason` is one that the SDK has no call for.
macro_rules! list {
    ($($f:ident $(: $reason:expr)?),* $(,)?) => {
        vec![$($crate::scenario::Scenario {
            name: stringify!($f).replace('_', "-"),
            run: $crate::scenario::list!(@run $f $($reason)?),
        }),*]
    };
    (@run $f:ident) => { $crate::scenario::Run::Do(|t| Box::pin($f(t))) };
    (@run $f:ident $reason:expr) => { $crate::scenario::Run::Absent($reason) };
}
pub(crate) use list;

/// Failure ends a scenario. It tells the line that led here.
#[derive(Debug)]
pub struct Failure(pub String);

pub type Outcome<V = ()> = Result<V, Failure>;

impl Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

macro_rules! failures {
    ($($from:ty),*) => {$(
        impl From<$from> for Failure {
            #[track_caller]
            fn from(e: $from) -> Self {
                Failure(format!("{}: {}", here(), causes(&e)))
            }
        }
    )*};
}
failures!(CosmosError, serde_json::Error, reqwest::Error);

/// causes tells an error and what it came from.
fn causes(e: &dyn std::error::Error) -> String {
    let mut text = e.to_string();
    let mut next = e.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

#[track_caller]
pub fn here() -> String {
    let at = Location::caller();
    format!("{}:{}", at.file().rsplit('/').next().unwrap_or_default(), at.line())
}

#[track_caller]
pub fn fail<V>(what: impl Display) -> Outcome<V> {
    Err(Failure(format!("{}: {what}", here())))
}

/// check ends the scenario unless ok.
#[track_caller]
pub fn check(ok: bool, what: impl Display) -> Outcome {
    if ok { Ok(()) } else { fail(what) }
}

/// equal ends the scenario unless got is what is wanted; a number is the same however it is spelled.
#[track_caller]
pub fn equal(got: impl Into<Value>, want: impl Into<Value>) -> Outcome {
    let (got, want) = (got.into(), want.into());
    check(plain(&got) == plain(&want), format_args!("got {got}, want {want}"))
}

fn plain(v: &Value) -> Value {
    match v {
        Value::Number(n) => json!(n.as_f64()),
        Value::Array(l) => l.iter().map(plain).collect(),
        Value::Object(m) => m.iter().map(|(k, v)| (k.clone(), plain(v))).collect(),
        _ => v.clone(),
    }
}

/// fails wants an answer with one of these statuses, and returns what it says.
#[track_caller]
pub fn fails<V>(result: Result<V, CosmosError>, statuses: &[u16]) -> Outcome<String> {
    match result {
        Ok(_) => fail(format_args!("not refused with {statuses:?}")),
        Err(e) if !statuses.contains(&u16::from(e.status().status_code())) => fail(format_args!("not refused with {statuses:?}: {e}")),
        Err(e) => {
            let body = e.response().and_then(|r| r.body().clone().single().ok());
            Ok(format!("{e} {}", String::from_utf8_lossy(&body.unwrap_or_default())))
        }
    }
}

/// same wants these ids in any order, each once.
#[track_caller]
pub fn same<S: AsRef<str>>(mut got: Vec<String>, want: impl IntoIterator<Item = S>) -> Outcome {
    let mut want: Vec<String> = want.into_iter().map(|s| s.as_ref().to_owned()).collect();
    got.sort();
    want.sort();
    equal(got, want)
}

/// T is what one scenario works with: a client, and a database of its own that is made when it is first asked for.
pub struct T {
    pub name: String,
    pub endpoint: String,
    pub ranges: usize,
    control: Option<String>,
    pub client: CosmosClient,
    made: Cell<bool>,
}

impl T {
    pub async fn new(flags: &Flags, name: &str) -> Outcome<T> {
        Ok(T {
            name: name.to_owned(),
            endpoint: flags.endpoint.clone(),
            ranges: flags.ranges,
            control: flags.control.clone(),
            client: connect(&flags.endpoint, MASTER_KEY).await?,
            made: Cell::new(false),
        })
    }

    /// connect makes one more client.
    pub async fn connect(&self) -> Outcome<CosmosClient> {
        Ok(connect(&self.endpoint, MASTER_KEY).await?)
    }

    /// database returns the scenario's database.
    pub async fn database(&self) -> Outcome<DatabaseClient> {
        if !self.made.replace(true) {
            self.client.create_database(&self.name, None).await?;
        }
        Ok(self.client.database_client(self.name.as_str()))
    }

    /// container creates a container with the id "c", partitioned by /pk.
    pub async fn container(&self) -> Outcome<C<'_>> {
        self.container_of(properties()).await
    }

    pub async fn container_of(&self, p: ContainerProperties) -> Outcome<C<'_>> {
        self.container_with(p, None).await
    }

    pub async fn container_with(&self, p: ContainerProperties, throughput: Option<ThroughputProperties>) -> Outcome<C<'_>> {
        let db = self.database().await?;
        let id = p.id.to_string();
        let options = throughput.map(|t| CreateContainerOptions::default().with_throughput(t));
        db.create_container(p, options).await?;
        Ok(C { c: db.container_client(id, None).await?, t: self })
    }

    /// twenty creates a container with the twenty.
    pub async fn twenty(&self) -> Outcome<C<'_>> {
        self.twenty_of(properties()).await
    }

    pub async fn twenty_of(&self, p: ContainerProperties) -> Outcome<C<'_>> {
        let c = self.container_of(p).await?;
        for i in 0..20 {
            c.create(twentieth(i)).await?;
        }
        Ok(c)
    }

    /// advance moves the server's clock on.
    pub async fn advance(&self, seconds: u32) -> Outcome {
        change_clock(&self.endpoint, &format!(r#"{{"advance": "{seconds}s"}}"#)).await
    }

    /// restart ends the server, by "stop" or "kill", and returns when it is back.
    pub async fn restart(&self, how: &str) -> Outcome {
        match &self.control {
            Some(control) => own(reqwest::Method::POST, control, how, "").await,
            None => fail("needs --control"),
        }
    }

    pub async fn close(&self) -> Outcome {
        if self.made.get() {
            self.client.database_client(self.name.as_str()).delete(None).await?;
        }
        Ok(())
    }
}

/// connect makes a client with the options that it has by default.
pub async fn connect(endpoint: &str, key: &str) -> Result<CosmosClient, CosmosError> {
    let account = AccountReference::with_authentication_key(endpoint.parse()?, key.to_owned());
    CosmosClient::builder().build(account, RoutingStrategy::ProximityTo(Region::EAST_US)).await
}

/// own calls one of the server's own routes, without TLS: the server answers both ways on its port.
pub async fn own(method: reqwest::Method, endpoint: &str, path: &str, body: &str) -> Outcome {
    let url = format!("{}{path}", endpoint.replacen("https:", "http:", 1));
    let client = reqwest::Client::builder().no_proxy().build()?;
    let res = client.request(method, &url).bearer_auth(MASTER_KEY).body(body.to_owned()).send().await?;
    let status = res.status();
    check(status.as_u16() == 200, format_args!("{url}: {status}: {}", res.text().await?))
}

pub async fn change_clock(endpoint: &str, change: &str) -> Outcome {
    own(reqwest::Method::PUT, endpoint, "_mayfly/clock", change).await
}

/// properties are those of the container "c", partitioned by /pk.
pub fn properties() -> ContainerProperties {
    by_path("c", "/pk")
}

pub fn by_path(id: &str, path: &str) -> ContainerProperties {
    ContainerProperties::new(id.to_owned(), PartitionKeyDefinition::new(vec![path.to_owned().into()]))
}

pub fn by_three(paths: [&'static str; 3]) -> ContainerProperties {
    let definition = PartitionKeyDefinition::new(paths.map(Into::into).to_vec()).with_kind(PartitionKeyKind::MultiHash);
    ContainerProperties::new("c", definition)
}

/// key is the partition key of a value, or of the levels of a list.
pub fn key(value: impl Into<Value>) -> PartitionKey {
    let level = |v: &Value| match v {
        Value::String(s) => PartitionKeyValue::from(s.clone()),
        Value::Bool(b) => (*b).into(),
        Value::Number(n) => n.as_f64().and_then(|n| PartitionKeyValue::try_from(n).ok()).expect("a finite number"),
        _ => PartitionKey::NULL,
    };
    match value.into() {
        Value::Array(levels) => levels.iter().map(level).collect::<Vec<_>>().try_into().expect("at most three levels"),
        v => level(&v).into(),
    }
}

/// within is the scope of one partition key.
pub fn within(pk: impl Into<Value>) -> FeedScope {
    FeedScope::partition(key(pk))
}

/// across is the scope of all partition keys.
pub fn across() -> FeedScope {
    FeedScope::full_container()
}

/// content asks for the document that a write has written.
pub fn content() -> OperationOptions {
    let mut o = OperationOptions::default();
    o.content_response_on_write = Some(ContentResponseOnWrite::Enabled);
    o
}

pub fn writing() -> Option<ItemWriteOptions> {
    Some(ItemWriteOptions::default().with_operation_options(content()))
}

/// matching is a write that asks for the content and has to find this etag.
pub fn matching(etag: &str) -> Option<ItemWriteOptions> {
    Some(ItemWriteOptions::default().with_operation_options(content()).with_precondition(if_match(etag)))
}

pub fn if_match(etag: &str) -> Precondition {
    Precondition::IfMatch(etag.to_owned().into())
}

/// by is a query by pages of so many.
pub fn by(n: u32) -> QueryOptions {
    QueryOptions::default().with_max_item_count(limit(n))
}

pub fn limit(n: u32) -> MaxItemCountHint {
    MaxItemCountHint::Limit(NonZeroU32::new(n).expect("a page has items"))
}

/// user strips what the server adds to a document.
pub fn user(mut doc: Value) -> Value {
    if let Some(m) = doc.as_object_mut() {
        for name in ["_rid", "_self", "_etag", "_attachments", "_ts", "_lsn"] {
            m.remove(name);
        }
    }
    doc
}

pub fn id_of(doc: &Value) -> String {
    doc["id"].as_str().unwrap_or_default().to_owned()
}

/// names are the ids of documents.
pub fn names(docs: &[Value]) -> Vec<String> {
    docs.iter().map(id_of).collect()
}

/// twentieth is one of the twenty.
pub fn twentieth(i: usize) -> Value {
    json!({
        "id": format!("i{i:02}"), "pk": format!("p{}", i % 5), "n": i, "g": format!("g{}", i % 3),
        "tags": [format!("t{}", i % 4), "all"], "o": {"x": i},
    })
}

/// everything are the ids of the twenty.
pub fn everything() -> Vec<String> {
    (0..20).map(|i| id_of(&twentieth(i))).collect()
}

pub fn debug(v: impl Debug) -> String {
    format!("{v:?}")
}
