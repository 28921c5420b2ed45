package httpapi

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/internal/cosmos"
	"github.com/mayflydb/mayfly/internal/requestlog"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
)

func parseHeaders(pairs ...string) (reqHeaders, error) {
	in := reqHeaders{RequestHeaders: new(cosmos.RequestHeaders)}
	err := in.parse(fieldsOf(pairs...), cosmos.Session)
	return in, err
}

// fieldsOf converts pairs of names and values to header fields.
func fieldsOf(pairs ...string) (list []requestlog.HeaderField) {
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, requestlog.HeaderField{Name: http.CanonicalHeaderKey(pairs[i]),
			Value: pairs[i+1]})
	}
	return list
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	in, err := parseHeaders(
		"x-ms-version", "2020-07-15", "x-ms-activity-id", "0dd29c1a-2f2e-4a5e-8f60-3a0f1f2f3d4e",
		"x-ms-cosmos-correlated-activityid", "AAAAAAAA-2f2e-4a5e-8f60-3a0f1f2f3d4e",
		"x-ms-consistency-level", "eventual", "x-ms-documentdb-partitionkey", `["a",1,true]`,
		"x-ms-documentdb-partitionkeyrangeid", "HpxDAIt3MtQ=,3", "x-ms-start-epk", "05c1", "x-ms-end-epk", "FF",
		"x-ms-cosmos-intended-collection-rid", "HpxDAIt3MtQ=", "x-ms-session-token", "0:-1#7", "if-match", ` "e" `, "if-none-match", "*",
		"prefer", "respond-async, Return=Minimal", "a-im", "Incremental Feed", "x-ms-max-item-count", " -1 ", "x-ms-continuation", "t",
		"x-ms-documentdb-responsecontinuationtokenlimitinkb", "1", "x-ms-documentdb-query-enablecrosspartition", "True",
		"x-ms-documentdb-is-upsert", "TRUE", "x-ms-documentdb-query", "True", "x-ms-cosmos-is-query-plan-request", "False",
		"x-ms-cosmos-is-batch-request", "true", "x-ms-documentdb-populatequerymetrics", "true", "x-ms-cosmos-populateindexmetrics-v2", "true",
		"x-ms-documentdb-populatequotainfo", "true", "x-ms-documentdb-populatepartitionstatistics", "true",
		"x-ms-cosmos-offer-autopilot-settings", `{"maxThroughput":4000,"autoUpgradePolicy":{"throughputPolicy":{"incrementPercent":10}}}`,
		"x-ms-cosmos-migrate-offer-to-autopilot", "true", "content-type", "Application/Query+JSON; charset=utf-8",
		"x-ms-indexing-directive", "Include", "x-ms-cosmos-priority-level", "whatever")
	if err != nil {
		t.Fatal(err)
	}
	if got := in.PartitionKey.String(); got != `["a",1,true]` {
		t.Errorf("partition key %s", got)
	}
	if !slices.Equal(in.Session, []store.SessionTokenEntry{{Range: "0", LSN: 7, Version: -1}}) {
		t.Errorf("session %v", in.Session)
	}
	in.PartitionKey, in.Session = definition.PartitionKey{}, nil
	ten := 10
	want := reqHeaders{
		activity: "0dd29c1a-2f2e-4a5e-8f60-3a0f1f2f3d4e", correlated: "AAAAAAAA-2f2e-4a5e-8f60-3a0f1f2f3d4e",
		upsert: true, query: true, batch: true, contentType: "application/query+json",
		RequestHeaders: &cosmos.RequestHeaders{
			RangeID: "3", MinEPK: "05C1", MaxEPK: "FF", IntendedRID: "HpxDAIt3MtQ=", IfMatch: `"e"`, IfNoneMatch: "*", Minimal: true, Incremental: true,
			MaxItems: -1, Continuation: "t", CrossPartition: true, QueryMetrics: true, IndexMetricsV2: true, PopulateQuota: true, Statistics: true,
			Throughput: definition.Throughput{Autoscale: 4000, Increment: &ten}, ToAutoscale: true,
		},
	}
	if !reflect.DeepEqual(in, want) {
		t.Errorf("got  %+v\nwant %+v", in, want)
	}
}

func TestEmptyHeaders(t *testing.T) {
	t.Parallel()
	// Empty values are as good as none; an activity id that is no GUID is not echoed.
	in, err := parseHeaders("x-ms-continuation", "", "x-ms-session-token", "", "x-ms-documentdb-partitionkey",
		"", "x-ms-max-item-count", "",
		"x-ms-activity-id", "../../etc/passwd", "x-ms-documentdb-query-enablecrosspartition", "")
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(in, reqHeaders{RequestHeaders: new(cosmos.RequestHeaders)}) {
		t.Errorf("got %+v", in)
	}
}

func TestBadHeaders(t *testing.T) {
	t.Parallel()
	for header, values := range map[string][]string{
		"x-ms-version": {"latest", "2013-01-01", "2015-01-01",
			"2020-01-01", "2020-7-15", "2020/07/15", "20200715"},
		"x-ms-consistency-level": {"Linearizable", "Strong", "BoundedStaleness",
			"Bounded"},
		"x-ms-session-token": {"x", "0", "0:", ":1", "0:a#1", "0:1#",
			"0:-1#x", "0:-1#5#a=1", "0:-1#5#1=b", "0:-1#99999999999999999999"},
		"x-ms-documentdb-partitionkey": {"a", `"a"`, `{}`, `[`, `["a"`, `[["a"]]`,
			`[{"a":1}]`, `["\q"]`, `["\x1"]`, `["\UFFFFFFFF"]`, `["\U00000022"]`, `["\`, `["a"] x`},
		"x-ms-start-epk": {"0", "XY", "05C", "-1"},
		"x-ms-end-epk":   {"FFF", "gg"},
		"a-im":           {"feed", "diff"},
		"x-ms-max-item-count": {"0", "-2", "1.5", "ten", "2147483648",
			"99999999999999999999"},
		"x-ms-documentdb-is-upsert":         {"1", "yes"},
		"x-ms-documentdb-isquery":           {"maybe"},
		"x-ms-documentdb-query-enable-scan": {"x"},
		"x-ms-offer-throughput":             {"0", "-400", "many", "400.5"},
		"x-ms-cosmos-offer-autopilot-settings": {"4000", "{}", `{"maxThroughput":"4000"}`,
			`{"maxThroughput":0}`, "{"},
		"x-ms-offer-type":                                    {"S9"},
		"x-ms-indexing-directive":                            {"Sometimes"},
		"x-ms-documentdb-content-serialization-format":       {"HybridRow", "text", "JsonText,CosmosBinary"},
		"x-ms-documentdb-responsecontinuationtokenlimitinkb": {"0", "-1", "x"},
	} {
		for _, value := range values {
			_, err := parseHeaders(header, value)
			if w, defect := cosmos.Classify(err); err == nil || defect || w.Status != 400 {
				t.Errorf("%s: %s: %v (%d)", header, value, err, w.Status)
			}
		}
	}
	for _, pairs := range [][]string{
		{"x-ms-offer-throughput", "400", "x-ms-cosmos-offer-autopilot-settings", `{"maxThroughput":4000}`},
		{"x-ms-offer-throughput", "400", "x-ms-offer-type", "S1"},
	} {
		if _, err := parseHeaders(pairs...); fault.ErrorCode(err) == fault.CodeBadRequest || err == nil {
			t.Errorf("%v: %v", pairs, err)
		}
	}
}

func TestFirstBadHeaderIsNamed(t *testing.T) {
	t.Parallel()
	for range 20 {
		_, err := parseHeaders("x-ms-version", "x", "a-im", "y", "x-ms-max-item-count", "z")
		if err == nil || !strings.Contains(err.Error(), "'a-im'") {
			t.Fatalf("error %v", err)
		}
	}
}

func BenchmarkHeaders(b *testing.B) {
	var h []requestlog.HeaderField
	for name, value := range map[string]string{"x-ms-version": "2020-11-05", "x-ms-date": signedDate,
		"authorization": "x", "accept": "application/json",
		"user-agent": "azsdk-go-azcosmos", "x-ms-documentdb-partitionkey": `["abc"]`, "x-ms-session-token": "0:-1#5", "cache-control": "no-cache",
		"x-ms-cosmos-sdk-supportedcapabilities": "1"} {
		h = append(h, fieldsOf(name, value)...)
	}
	b.ReportAllocs()
	for b.Loop() {
		in := reqHeaders{RequestHeaders: new(cosmos.RequestHeaders)}
		if err := in.parse(h, cosmos.Session); err != nil {
			b.Fatal(err)
		}
	}
}
