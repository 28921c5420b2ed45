package laboratory

import (
	"context"

	"github.com/swaggest/jsonschema-go"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/laboratory/route"
	"github.com/mayflydb/mayfly/store"
)

// ItemExpiryLease keeps an item from expiring for a limited time.
type ItemExpiryLease struct {
	ID    string `json:"id"`
	Until int64  `json:"leaseUntil" description:"End of the lease, in seconds since 1970; 0: no lease."`
}

const leaseLengthText = "'seconds' must be a whole number: the length of the lease."

// itemExpiryLeaseSeconds is the number of seconds for which a lease suspends the expiry of an item. The store
// checks the maximum.
type itemExpiryLeaseSeconds int

// DecodeMember reads the length of a lease in seconds from the JSON value v. It fails with status 400 unless
// v is an integer. It implements route.JSONMemberDecoder.
func (n *itemExpiryLeaseSeconds) DecodeMember(_ string, v jsondoc.Value) error {
	f := v.Num()
	if v.Kind() != jsondoc.Number || f != float64(int32(f)) {
		return route.BadRequest(leaseLengthText)
	}
	*n = itemExpiryLeaseSeconds(f)
	return nil
}

// JSONSchema returns the schema of a lease's length, an integer from 1 to store.MaxLease, for the OpenAPI
// document. It implements jsonschema.Exposer.
func (itemExpiryLeaseSeconds) JSONSchema() (s jsonschema.Schema, err error) {
	s.AddType(jsonschema.Integer)
	s.WithMinimum(1).WithMaximum(store.MaxLease).WithExamples(60)
	return s, nil
}

type takeLeaseRequest struct {
	ContainerPath
	ItemKeyFields
	Seconds itemExpiryLeaseSeconds `json:"seconds" missing:"'seconds' must be a whole number: the length of the lease."`
	_       struct{}               `additionalProperties:"false"`
}

func (l *Laboratory) takeLease(ctx context.Context, in *takeLeaseRequest) (ItemExpiryLease, error) {
	held, err := in.container.Lease(ctx, in.PartitionKey.PartitionKey, in.ID, int(in.Seconds))
	if err != nil {
		return ItemExpiryLease{}, err
	}
	return ItemExpiryLease{in.ID, held.Until}, nil
}

type releaseLeaseRequest struct {
	ContainerPath
	ItemKeyFields
	_ struct{} `additionalProperties:"false"`
}

// ForceRequestBody implements openapi.RequestBodyEnforcer, since this DELETE has a body.
func (releaseLeaseRequest) ForceRequestBody() {}

func (l *Laboratory) releaseLease(ctx context.Context, in *releaseLeaseRequest) (ItemExpiryLease, error) {
	if err := in.container.ReleaseLease(ctx, in.PartitionKey.PartitionKey, in.ID); err != nil {
		return ItemExpiryLease{}, err
	}
	return ItemExpiryLease{ID: in.ID}, nil
}
