package main

// others lists the scenarios about users, scripts and encryption, which are skipped, because the SDK for
// Go has no calls for them.
var others = []scenario{
	without("procedure-lifecycle", scripts),
	without("procedure-execute", scripts),
	without("procedure-writes", scripts),
	without("procedure-continuation", scripts),
	without("procedure-query-pages", scripts),
	without("procedure-rollback", scripts),
	without("procedure-log", scripts),
	without("trigger-lifecycle", scripts),
	without("trigger-pre", scripts),
	without("trigger-post", scripts),
	without("trigger-rollback", scripts),
	without("trigger-wrong-operation", scripts),
	without("function-lifecycle", scripts),
	without("function-query", scripts),
	without("user-lifecycle", "no users"),
	without("permission-lifecycle", "no users"),
	without("token-read", tokens),
	without("token-all", tokens),
	without("token-partition", tokens),
	without("token-other-container", tokens),
	without("token-expired", tokens),
	without("encryption-key-lifecycle", encryption),
	without("encryption-unknown-key", encryption),
	without("encryption-items", encryption),
}

const (
	scripts    = "no scripts"
	tokens     = "no resource tokens"
	encryption = "no client encryption"
	merges     = "merges no results"
)
