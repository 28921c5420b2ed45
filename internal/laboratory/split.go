package laboratory

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/swaggest/jsonschema-go"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/internal/laboratory/route"
	"github.com/mayflydb/mayfly/store"
)

// SplitRangeResult is the response to a request that splits a partition key range: the two new ranges, in the
// form of Cosmos DB's list of ranges.
type SplitRangeResult struct {
	RID    string           `json:"_rid" description:"_rid of the container."`
	Ranges []PartitionRange `json:"PartitionKeyRanges" nullable:"false"`
	Count  int              `json:"_count"`

	position store.OperationReceipt
}

// PartitionRange is a partition key range in the form of Cosmos DB's protocol.
type PartitionRange struct {
	RID       string `json:"_rid"`
	Self      string `json:"_self"`
	ETag      string `json:"_etag"`
	Timestamp int64  `json:"_ts" description:"Last change, in seconds since 1970."`
	ID        string `json:"id"`

	Min string `json:"minInclusive" description:"Effective partition key in hexadecimal, the lower bound."`
	Max string `json:"maxExclusive" description:"Effective partition key in hexadecimal, the upper bound."`

	RIDPrefix *int     `json:"ridPrefix"`
	Fraction  float64  `json:"throughputFraction"`
	Status    string   `json:"status" enum:"online,splitting"`
	Parents   []string `json:"parents" nullable:"false" description:"Ids of the ranges before the split."`
	Archived  []string `json:"ownedArchivalPKRangeIds" nullable:"false" description:"Always empty."`
	LSN       uint64   `json:"lsn"`
}

// Receipt implements route.ResponseWithCharge: it returns the position of a partition range after the
// split.
func (h *SplitRangeResult) Receipt() store.OperationReceipt { return h.position }

// SetHeaders implements route.ResponseWithHeaders: it sets x-ms-item-count, the number of ranges in the
// response.
func (h *SplitRangeResult) SetHeaders(header http.Header) {
	header["x-ms-item-count"] = []string{strconv.Itoa(h.Count)}
}

// Verbatim implements route.VerbatimResponse: characters that HTML reserves are not escaped.
func (h *SplitRangeResult) Verbatim() {}

// effectivePartitionKeyHex is an effective partition key in hexadecimal.
type effectivePartitionKeyHex string

// DecodeMember decodes an effective partition key in hexadecimal from a JSON string. It fails with status 400
// for any other value.
func (b *effectivePartitionKeyHex) DecodeMember(name string, v jsondoc.Value) error {
	if v.Kind() != jsondoc.String {
		return route.BadRequest("'" + name + "' must be a string: an effective partition key in hexadecimal.")
	}
	text := strings.ToUpper(v.Str())
	if len(text)%2 != 0 || strings.Trim(text, "0123456789ABCDEF") != "" {
		return route.BadRequest(
			"The value '" + v.Str() + "' specified for the header '" + name + "' is invalid.")
	}
	*b = effectivePartitionKeyHex(text)
	return nil
}

// JSONSchema returns the schema of a boundary, a string of hexadecimal digits, for the OpenAPI document. It
// implements jsonschema.Exposer.
func (effectivePartitionKeyHex) JSONSchema() (s jsonschema.Schema, err error) {
	s.AddType(jsonschema.String)
	s.WithPattern("^([0-9A-Fa-f]{2})*$").WithExamples("1FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF")
	s.WithDescription("The effective partition key at which the upper half begins. " +
		"Default: the one that puts half of the documents on each side.")
	return s, nil
}

type splitRangeRequest struct {
	ContainerPath
	Range route.RequiredText       `json:"range" first:"true" description:"Id of the range to split."`
	At    effectivePartitionKeyHex `json:"at,omitempty"`
	_     struct{}                 `takes:"a split takes %" additionalProperties:"false"`
}

func (l *Laboratory) split(ctx context.Context, in *splitRangeRequest) (SplitRangeResult, error) {
	halves, err := in.container.Split(ctx, string(in.Range), string(in.At))
	if err != nil {
		return SplitRangeResult{}, err
	}
	info := in.container.Info()
	out := SplitRangeResult{RID: info.RID, Count: len(halves)}
	out.position.Range, out.position.LSN = in.container.Position("")
	for _, r := range halves {
		out.Ranges = append(out.Ranges, rangeOf(r, info))
	}
	return out, nil
}

func rangeOf(r store.PartitionRange, in store.ContainerInfo) PartitionRange {
	out := PartitionRange{RID: r.RID, ETag: r.ETag, Timestamp: r.Timestamp, ID: r.ID, Min: r.Min, Max: r.Max,
		Self:     "dbs/" + in.DatabaseRID + "/colls/" + in.RID + "/pkranges/" + r.RID + "/",
		Fraction: r.Fraction, Status: "online", Parents: present(r.Parents), Archived: []string{}, LSN: r.LSN}
	if n, err := strconv.Atoi(r.ID); err == nil {
		out.RIDPrefix = &n
	}
	if r.Splitting {
		out.Status = "splitting"
	}
	return out
}
