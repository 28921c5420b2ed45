//! Runs the scenarios of ../scenarios.md with the official SDK for Rust.

mod account;
mod container;
mod feed;
mod items;
mod keys;
mod moves;
mod queries;
mod scenario;
mod ttl;
mod writes;

use scenario::{Flags, Outcome, Run, Scenario, T, change_clock};
use std::process::ExitCode;
use std::time::Duration;

/// How long one scenario may take, such as one whose SDK asks without end.
const LONGEST: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    let Some((flags, only)) = flags() else {
        eprintln!("usage: scenarios --endpoint URL [--ranges N] [--control URL] [--only NAME,NAME]");
        return ExitCode::from(2);
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    match runtime.block_on(run(&flags, &only)) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// flags reads the command line: the flags and the names of --only; none if it is not right.
fn flags() -> Option<(Flags, Vec<String>)> {
    let mut flags = Flags { endpoint: String::new(), ranges: 1, control: None };
    let mut only = Vec::new();
    let mut args = std::env::args().skip(1);
    while let Some(flag) = args.next() {
        let value = args.next()?;
        match flag.as_str() {
            "--endpoint" => flags.endpoint = value,
            "--ranges" => flags.ranges = value.parse().ok()?,
            "--control" => flags.control = Some(value),
            "--only" => only = value.split(',').map(str::to_owned).collect(),
            _ => return None,
        }
    }
    (!flags.endpoint.is_empty()).then_some((flags, only))
}

/// run runs the scenarios that are wanted and tells whether none failed.
async fn run(flags: &Flags, only: &[String]) -> bool {
    if let Err(e) = change_clock(&flags.endpoint, r#"{"freeze": true}"#).await {
        eprintln!("{e}");
        return false;
    }
    let parts = [account::all(), items::all(), keys::all(), queries::all(), writes::all(), feed::all(), others(), ttl::all(), moves::all()];
    let (mut passed, mut failed, mut absent) = (0, 0, 0);
    for s in parts.into_iter().flatten() {
        if !only.is_empty() && !only.contains(&s.name) {
            continue;
        }
        match s.run {
            Run::Absent(reason) => {
                absent += 1;
                println!("no-api {}: {reason}", s.name);
            }
            Run::Do(scenario) => match one(flags, &s.name, scenario).await {
                Ok(()) => {
                    passed += 1;
                    println!("ok {}", s.name);
                }
                Err(e) => {
                    failed += 1;
                    let text = e.to_string();
                    println!("FAIL {}: {}", s.name, text.split_whitespace().collect::<Vec<_>>().join(" "));
                }
            },
        }
    }
    println!("azure_data_cosmos {}: {passed}/{} ({absent} no-api)", version(), passed + failed);
    failed == 0 && passed > 0
}

/// one runs a scenario and deletes its database.
async fn one(flags: &Flags, name: &str, scenario: scenario::Body) -> Outcome {
    let t = T::new(flags, name).await?;
    let ended = match tokio::time::timeout(LONGEST, scenario(&t)).await {
        Ok(ended) => ended,
        Err(_) => scenario::fail(format!("no end after {LONGEST:?}")),
    };
    let closed = t.close().await;
    ended.and(closed)
}

/// version is that of the SDK this program was built with: the lock file has it.
fn version() -> &'static str {
    let lock = include_str!("../Cargo.lock");
    let after = lock.split_once("name = \"azure_data_cosmos\"\nversion = \"").map_or("", |(_, after)| after);
    after.split('"').next().unwrap_or_default()
}

const SCRIPTS: &str = "no scripts";
const TOKENS: &str = "no resource tokens";
const ENCRYPTION: &str = "no client encryption";

/// others are the scenarios of users, scripts and encryption: the SDK for Rust leaves these to others.
fn others() -> Vec<Scenario> {
    scenario::list![
        procedure_lifecycle: SCRIPTS, procedure_execute: SCRIPTS, procedure_writes: SCRIPTS, procedure_continuation: SCRIPTS,
        procedure_query_pages: SCRIPTS, procedure_rollback: SCRIPTS, procedure_log: SCRIPTS, trigger_lifecycle: SCRIPTS,
        trigger_pre: SCRIPTS, trigger_post: SCRIPTS, trigger_rollback: SCRIPTS, trigger_wrong_operation: SCRIPTS,
        function_lifecycle: SCRIPTS, function_query: SCRIPTS,
        user_lifecycle: "no users", permission_lifecycle: "no users",
        token_read: TOKENS, token_all: TOKENS, token_partition: TOKENS, token_other_container: TOKENS, token_expired: TOKENS,
        encryption_key_lifecycle: ENCRYPTION, encryption_unknown_key: ENCRYPTION, encryption_items: ENCRYPTION,
    ]
}
