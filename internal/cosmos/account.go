package cosmos

import (
	"strconv"
	"strings"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store"
)

// region is the account's only region, named as in the emulators.
const region = "South Central US"

// queryEngine is the account's queryEngineConfiguration: JSON text in a JSON string. Clients fail if they
// cannot parse it.
const queryEngine = `{"maxSqlQueryInputLength":524288,"maxJoinsPerSqlQuery":10,` +
	`"maxLogicalAndPerSqlQuery":500,"maxLogicalOrPerSqlQuery":500,` +
	`"maxUdfRefPerSqlQuery":10,"maxInExpressionItemsCount":16000,"queryMaxInMemorySortDocumentCount":500,` +
	`"maxQueryRequestTimeoutFraction":0.9,` +
	`"sqlAllowNonFiniteNumbers":false,"sqlAllowAggregateFunctions":true,"sqlAllowSubQuery":true,` +
	`"sqlAllowScalarSubQuery":true,"allowNewKeywords":true,` +
	`"sqlAllowLike":true,"sqlAllowGroupByClause":true,"maxSpatialQueryCells":12,` +
	`"spatialMaxGeometryPointCount":256,"sqlDisableQueryILOptimization":false,` +
	`"sqlDisableFilterPlanOptimization":false,"sqlAllowTop":true,"enableSpatialIndexing":true,` +
	`"queryEnableFullText":true,` +
	`"queryEnableFullTextPreviewFeatures":true}`

// readAccount responds to a read of the account, the first request of every client. The client sends its
// further requests to the locations in the response.
func (s *Service) readAccount(c *requestInProgress) error {
	location := append([]byte(`[{"name":"`+region+`","databaseAccountEndpoint":`),
		jsondoc.StringValue(strings.ToValidUTF8(c.req.Endpoint, "")).Raw()...)
	location = append(location, `}]`...)

	b := append(make([]byte, 0, 2048), `{"_self":"","id":`...)
	b = jsondoc.AppendString(b, s.opt.AccountID)
	b = append(b, `,"_rid":`...)
	b = jsondoc.AppendString(b, s.opt.AccountID)
	b = append(b, `,"media":"//media/","addresses":"//addresses/","_dbs":"//dbs/","writableLocations":`...)
	b = append(b, location...)
	b = append(b, `,"readableLocations":`...)
	b = append(b, location...)
	// A quorum is one replica, so a client in direct mode reads from one replica at every consistency level.
	b = append(b, `,"enableMultipleWriteLocations":false,"continuousBackupEnabled":`...)
	b = strconv.AppendBool(b, s.db.ContinuousBackup())
	b = append(b, `,"enableNRegionSynchronousCommit":false,`+
		`"enablePerPartitionFailoverBehavior":false,`+
		`"userReplicationPolicy":{"asyncReplication":false,"minReplicaSetSize":1,"maxReplicasetSize":1},`+
		`"systemReplicationPolicy":{"minReplicaSetSize":1,"maxReplicasetSize":1,"asyncReplication":false},`+
		`"userConsistencyPolicy":{"defaultConsistencyLevel":`...)
	b = jsondoc.AppendString(b, s.opt.Consistency.String())
	b = append(b, `},"readPolicy":{"primaryReadCoefficient":1,"secondaryReadCoefficient":1},`+
		`"queryEngineConfiguration":`...)
	b = jsondoc.AppendString(b, queryEngine)
	b = append(b, '}')
	return c.json(StatusOK, b)
}

// listNothing returns the feeds that are always empty in a single-region store: conflicts and attachments.
func (s *Service) listNothing(c *requestInProgress) error {
	f, err := s.emptyFeed(c)
	if err != nil {
		return err
	}
	return sendFeed(c, f)
}

// queryNothing responds to a query over conflicts or attachments, whose feeds are always empty in a store
// with a single region. It fails if the query is invalid, or if it names neither a partition key nor a
// partition key range and its headers do not allow a cross-partition query.
func (s *Service) queryNothing(c *requestInProgress) error {
	f, err := s.emptyFeed(c)
	if err != nil {
		return err
	}
	if c.in.PartitionKey.IsZero() && c.in.RangeID == "" && s.crossPartition(c) == store.CrossRefuse {
		return store.CrossPartitionDisabled()
	}
	return queryFeed(c, f)
}

func (s *Service) emptyFeed(c *requestInProgress) (resourceFeed[struct{}], error) {
	container, err := s.container(c)
	if err != nil {
		return resourceFeed[struct{}]{}, err
	}
	f := resourceFeed[struct{}]{key: "Conflicts", owner: container.Info().RID}
	if c.req.Kind == KindAttachment {
		f.key = "Attachments"
	}
	return f, nil
}

// refuseAttachment refuses the creation of an attachment.
func (s *Service) refuseAttachment(*requestInProgress) error {
	return BadRequest("Attachments are not supported by this server.")
}

// readNothing returns 404 for a request for a single conflict or attachment.
func (s *Service) readNothing(c *requestInProgress) error {
	if _, err := s.container(c); err != nil {
		return err
	}
	return NotFound("There is no '" + c.req.Address.Leaf() + "'.")
}
