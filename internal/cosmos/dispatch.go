package cosmos

// operationHandler runs one operation. It fills in the call's response or returns an error.
type operationHandler func(s *Service, c *requestInProgress) error

// handlers maps each kind and operation to its handler.
var handlers = [kindCount]struct{ feed, single [opCount]operationHandler }{
	KindAccount: {
		single: [opCount]operationHandler{OpRead: (*Service).readAccount},
	},
	KindDatabase: {
		feed: [opCount]operationHandler{
			OpRead: (*Service).listDatabases, OpCreate: (*Service).createDatabase,
			OpQuery: (*Service).queryDatabases,
		},
		single: [opCount]operationHandler{OpRead: (*Service).readDatabase,
			OpDelete: (*Service).deleteDatabase},
	},
	KindContainer: {
		feed: [opCount]operationHandler{
			OpRead: (*Service).listContainers, OpCreate: (*Service).createContainer,
			OpQuery: (*Service).queryContainers,
		},
		single: [opCount]operationHandler{
			OpRead: (*Service).readContainer, OpReplace: (*Service).replaceContainer,
			OpDelete: (*Service).deleteContainer,
		},
	},
	KindItem: {
		feed: [opCount]operationHandler{
			OpRead: (*Service).listItems, OpCreate: (*Service).createItem,
			OpUpsert: (*Service).upsertItem, OpChangeFeed: (*Service).changeFeed,
			OpQueryChanges: (*Service).queryChanges, OpQuery: (*Service).queryItems,
			OpQueryPlan: (*Service).queryPlan, OpBatch: (*Service).runBatch,
		},
		single: [opCount]operationHandler{
			OpRead: (*Service).readItem, OpReplace: (*Service).replaceItem,
			OpPatch: (*Service).patchItem, OpDelete: (*Service).deleteItem,
		},
	},
	KindPartitionDelete: {
		single: [opCount]operationHandler{OpCreate: (*Service).deletePartition},
	},
	KindRange: {
		feed: [opCount]operationHandler{OpRead: (*Service).listRanges},
	},
	KindOffer: {
		feed:   [opCount]operationHandler{OpRead: (*Service).listOffers, OpQuery: (*Service).queryOffers},
		single: [opCount]operationHandler{OpRead: (*Service).readOffer, OpReplace: (*Service).replaceOffer},
	},
	KindConflict: {
		feed:   [opCount]operationHandler{OpRead: (*Service).listNothing, OpQuery: (*Service).queryNothing},
		single: [opCount]operationHandler{OpRead: (*Service).readNothing, OpDelete: (*Service).readNothing},
	},
	KindAttachment: {
		feed: [opCount]operationHandler{
			OpRead: (*Service).listNothing, OpQuery: (*Service).queryNothing,
			OpCreate: (*Service).refuseAttachment, OpUpsert: (*Service).refuseAttachment,
		},
		single: [opCount]operationHandler{OpRead: (*Service).readNothing, OpDelete: (*Service).readNothing},
	},
	KindUser:       {feed: resourceFeedHandlers, single: resourceHandlers},
	KindPermission: {feed: resourceFeedHandlers, single: resourceHandlers},
	KindEncryptionKey: {
		feed: [opCount]operationHandler{
			OpRead: (*Service).listResources, OpCreate: (*Service).createResource,
			OpQuery: (*Service).queryResources,
		},
		single: [opCount]operationHandler{OpRead: (*Service).readResource,
			OpReplace: (*Service).replaceResource},
	},
	KindSproc:   {feed: resourceFeedHandlers, single: procedureHandlers},
	KindTrigger: {feed: resourceFeedHandlers, single: resourceHandlers},
	KindUDF:     {feed: resourceFeedHandlers, single: resourceHandlers},
	KindAddresses: {
		feed: [opCount]operationHandler{OpRead: (*Service).readAddresses},
	},
}

// The handlers for users, permissions, client encryption keys and scripts: all these kinds share them.
var (
	resourceFeedHandlers = [opCount]operationHandler{
		OpRead: (*Service).listResources, OpCreate: (*Service).createResource,
		OpUpsert: (*Service).upsertResource, OpQuery: (*Service).queryResources,
	}
	resourceHandlers = [opCount]operationHandler{
		OpRead: (*Service).readResource, OpReplace: (*Service).replaceResource,
		OpDelete: (*Service).deleteResource,
	}
	procedureHandlers = [opCount]operationHandler{
		OpRead: (*Service).readResource, OpReplace: (*Service).replaceResource,
		OpDelete: (*Service).deleteResource, OpCreate: (*Service).executeProcedure,
	}
)

// Supports reports whether an operation exists for a kind of resource, or for its feed.
func Supports(k ResourceKind, feed bool, o OperationType) bool { return handlerOf(k, feed, o) != nil }

func handlerOf(k ResourceKind, feed bool, o OperationType) operationHandler {
	if feed {
		return handlers[k].feed[o]
	}
	return handlers[k].single[o]
}
