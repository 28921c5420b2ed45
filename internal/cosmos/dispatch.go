package cosmos

// handler runs one operation. It fills in the call's response or returns an error.
type handler func(s *Service, c *activeOperation) error

// handlers maps each kind and operation to its handler.
var handlers = [kindCount]struct{ feed, single [opCount]handler }{
	KindAccount: {
		single: [opCount]handler{OpRead: (*Service).readAccount},
	},
	KindDatabase: {
		feed: [opCount]handler{
			OpRead: (*Service).listDatabases, OpCreate: (*Service).createDatabase,
			OpQuery: (*Service).queryDatabases,
		},
		single: [opCount]handler{OpRead: (*Service).readDatabase, OpDelete: (*Service).deleteDatabase},
	},
	KindContainer: {
		feed: [opCount]handler{
			OpRead: (*Service).listContainers, OpCreate: (*Service).createContainer,
			OpQuery: (*Service).queryContainers,
		},
		single: [opCount]handler{
			OpRead: (*Service).readContainer, OpReplace: (*Service).replaceContainer,
			OpDelete: (*Service).deleteContainer,
		},
	},
	KindItem: {
		feed: [opCount]handler{
			OpRead: (*Service).listItems, OpCreate: (*Service).createItem,
			OpUpsert: (*Service).upsertItem, OpChangeFeed: (*Service).changeFeed,
			OpQueryChanges: (*Service).queryChanges, OpQuery: (*Service).queryItems,
			OpQueryPlan: (*Service).queryPlan, OpBatch: (*Service).runBatch,
		},
		single: [opCount]handler{
			OpRead: (*Service).readItem, OpReplace: (*Service).replaceItem,
			OpPatch: (*Service).patchItem, OpDelete: (*Service).deleteItem,
		},
	},
	KindPartitionDelete: {
		single: [opCount]handler{OpCreate: (*Service).deletePartition},
	},
	KindRange: {
		feed: [opCount]handler{OpRead: (*Service).listRanges},
	},
	KindOffer: {
		feed:   [opCount]handler{OpRead: (*Service).listOffers, OpQuery: (*Service).queryOffers},
		single: [opCount]handler{OpRead: (*Service).readOffer, OpReplace: (*Service).replaceOffer},
	},
	KindConflict: {
		feed:   [opCount]handler{OpRead: (*Service).listNothing, OpQuery: (*Service).queryNothing},
		single: [opCount]handler{OpRead: (*Service).readNothing, OpDelete: (*Service).readNothing},
	},
	KindAttachment: {
		feed: [opCount]handler{
			OpRead: (*Service).listNothing, OpQuery: (*Service).queryNothing,
			OpCreate: (*Service).refuseAttachment, OpUpsert: (*Service).refuseAttachment,
		},
		single: [opCount]handler{OpRead: (*Service).readNothing, OpDelete: (*Service).readNothing},
	},
	KindUser:       {feed: resourceFeedHandlers, single: resourceHandlers},
	KindPermission: {feed: resourceFeedHandlers, single: resourceHandlers},
	KindEncryptionKey: {
		feed: [opCount]handler{
			OpRead: (*Service).listResources, OpCreate: (*Service).createResource,
			OpQuery: (*Service).queryResources,
		},
		single: [opCount]handler{OpRead: (*Service).readResource, OpReplace: (*Service).replaceResource},
	},
	KindSproc:   {feed: resourceFeedHandlers, single: procedureHandlers},
	KindTrigger: {feed: resourceFeedHandlers, single: resourceHandlers},
	KindUDF:     {feed: resourceFeedHandlers, single: resourceHandlers},
	KindAddresses: {
		feed: [opCount]handler{OpRead: (*Service).readAddresses},
	},
}

// The handlers for users, permissions, client encryption keys and scripts: all these kinds share them.
var (
	resourceFeedHandlers = [opCount]handler{
		OpRead: (*Service).listResources, OpCreate: (*Service).createResource,
		OpUpsert: (*Service).upsertResource, OpQuery: (*Service).queryResources,
	}
	resourceHandlers = [opCount]handler{
		OpRead: (*Service).readResource, OpReplace: (*Service).replaceResource,
		OpDelete: (*Service).deleteResource,
	}
	procedureHandlers = [opCount]handler{
		OpRead: (*Service).readResource, OpReplace: (*Service).replaceResource,
		OpDelete: (*Service).deleteResource, OpCreate: (*Service).executeProcedure,
	}
)

// Supports reports whether an operation exists for a kind of resource, or for its feed.
func Supports(k ResourceKind, feed bool, o OperationType) bool { return handlerOf(k, feed, o) != nil }

func handlerOf(k ResourceKind, feed bool, o OperationType) handler {
	if feed {
		return handlers[k].feed[o]
	}
	return handlers[k].single[o]
}
