package cosmos

// The names of operations follow OpenTelemetry's conventions for Cosmos DB
// (https://opentelemetry.io/docs/specs/semconv/database/cosmosdb/): create_item, query_items, execute_batch.

// telemetryNouns holds the names that the kinds of resources have in telemetry, singular and plural.
var telemetryNouns = [kindCount][2]string{
	KindAccount: {"database_account", "database_accounts"}, KindDatabase: {"database", "databases"},
	KindContainer: {"container", "containers"}, KindItem: {"item", "items"},
	KindAttachment: {"attachment", "attachments"}, KindSproc: {"stored_procedure", "stored_procedures"},
	KindTrigger: {"trigger", "triggers"}, KindUDF: {"user_defined_function", "user_defined_functions"},
	KindConflict: {"conflict", "conflicts"}, KindRange: {"partition_key_range", "partition_key_ranges"},
	KindUser: {"user", "users"}, KindPermission: {"permission", "permissions"},
	KindEncryptionKey: {"client_encryption_key", "client_encryption_keys"},
	KindOffer:         {"throughput", "throughputs"}, KindAddresses: {"address", "addresses"},
}

var telemetryVerbs = [opCount]string{OpRead: "read_", OpCreate: "create_", OpUpsert: "upsert_",
	OpReplace: "replace_", OpDelete: "delete_", OpQuery: "query_", OpPatch: "patch_", OpOther: "unknown_"}

// TelemetryName returns the operation's name in telemetry, or "" if it is not an operation of Cosmos DB.
func (r *Request) TelemetryName() string {
	switch {
	case r.Kind == KindNone:
		return ""
	case r.Kind == KindPartitionDelete:
		return "delete_all_items_by_partition_key"
	case r.Operation == OpBatch:
		return "execute_batch"
	case r.Operation == OpChangeFeed || r.Operation == OpQueryChanges:
		return "query_change_feed"
	case r.Operation == OpQueryPlan:
		return "query_plan"
	case r.Kind == KindSproc && r.Operation == OpCreate && !r.Feed:
		return "execute_stored_procedure"
	case r.Operation == OpRead && r.Feed:
		return telemetryNames[r.Kind].list
	}
	return telemetryNames[r.Kind].by[r.Operation]
}

// operationTelemetryNames holds the names in telemetry of the operations on one kind of resource: by has
// those of single operations, such as create_item, and list that of reading all resources of the kind. A name
// that is not made of a verb and a kind, such as execute_batch, comes from TelemetryName.
type operationTelemetryNames struct {
	by   [opCount]string
	list string
}

// telemetryNames holds the names of operations in telemetry, by kind. They are computed once, because every
// request needs one.
var telemetryNames = makeTelemetryNames()

func makeTelemetryNames() (names [kindCount]operationTelemetryNames) {
	for kind, nouns := range telemetryNouns {
		for op, verb := range telemetryVerbs {
			names[kind].by[op] = verb + nouns[0]
		}
		names[kind].by[OpQuery] = telemetryVerbs[OpQuery] + nouns[1]
		names[kind].list = "read_all_" + nouns[1]
	}
	return names
}
