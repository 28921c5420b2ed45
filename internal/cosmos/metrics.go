package cosmos

import (
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store"
)

// setExecutionInfo sets the direction in which equal rows of an ORDER BY are returned. Clients use it to
// decide which rows to skip when they resume the query.
func (c *requestInProgress) setExecutionInfo(p store.QueryPage) {
	if p.Ordered {
		c.out.ExecutionInfo = fmt.Sprintf(`{"reverseRidEnabled":false,"reverseIndexScan":%t}`, p.Descending)
	}
}

// setQueryMetrics sets the query metrics header for clients that ask for it: names and values, separated by
// ';' and '='. It contains all names that Cosmos DB sends. Times are in milliseconds and at least 0.01,
// which also stands for a time that is not measured separately.
func (c *requestInProgress) setQueryMetrics(s query.Stats, took time.Duration) {
	if !c.in.QueryMetrics {
		return
	}
	ratio := 1.0 // share of the loaded documents that match; 1 if none was loaded
	if s.Loaded > 0 {
		ratio = float64(s.Matched) / float64(s.Loaded)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "totalExecutionTimeInMs=%.2f", milliseconds(took))
	b.WriteString(";queryCompileTimeInMs=0.01;queryLogicalPlanBuildTimeInMs=0.01" +
		";queryPhysicalPlanBuildTimeInMs=0.01;queryOptimizationTimeInMs=0.01")
	fmt.Fprintf(&b, ";VMExecutionTimeInMs=%.2f", milliseconds(s.Elapsed))
	b.WriteString(";indexLookupTimeInMs=0.01;instructionCount=0")
	fmt.Fprintf(&b, ";documentLoadTimeInMs=%.2f", milliseconds(s.Load))
	b.WriteString(";systemFunctionExecuteTimeInMs=0.01;userFunctionExecuteTimeInMs=0.01")
	fmt.Fprintf(&b, ";retrievedDocumentCount=%d;retrievedDocumentSize=%d", s.Loaded, s.LoadedBytes)
	fmt.Fprintf(&b, ";outputDocumentCount=%d;outputDocumentSize=%d", s.Output, s.OutputBytes)
	fmt.Fprintf(&b, ";writeOutputTimeInMs=0.01;indexUtilizationRatio=%.2f", ratio)
	c.out.QueryMetrics = b.String()
}

// milliseconds returns d in milliseconds, at least 0.01.
func milliseconds(d time.Duration) float64 { return max(float64(d)/float64(time.Millisecond), 0.01) }

// setIndexUse sets the index metrics header for clients that ask for it: the indexes that a query has used,
// and those that would make it faster. Version 1 is in base64, version 2 is URL-encoded. If a client
// requests both, version 2 is sent.
func (c *requestInProgress) setIndexUse(use query.UsedAndPotentialIndexes) {
	var text []byte
	var err error
	switch {
	case c.in.IndexMetricsV2:
		text, err = indexUseV2(use)
		text = appendPercent(nil, text, "")
	case c.in.IndexMetrics:
		text, err = indexUseV1(use)
		text = base64.StdEncoding.AppendEncode(nil, text)
	default:
		return
	}
	if err == nil { // strings and booleans can always be marshaled
		c.out.IndexUtilization = string(text)
	}
}

// impact is the score of each index in the index metrics of a response. Indexes with a low impact are not
// listed.
const impact = "High"

// indexUseV1 returns version 1 of the index metrics.
func indexUseV1(use query.UsedAndPotentialIndexes) ([]byte, error) {
	type single struct {
		FilterExpression, IndexSpec       string
		FilterPreciseSet, IndexPreciseSet bool
		IndexImpactScore                  string
	}
	type composite struct {
		IndexSpecs       []string
		IndexPreciseSet  bool
		IndexImpactScore string
	}
	ofSingle := func(spec string) single { return single{"", spec, true, true, impact} }
	ofComposite := func(specs []string) composite { return composite{specs, true, impact} }
	return jsondoc.Marshal(struct {
		UtilizedSingleIndexes, PotentialSingleIndexes       []single
		UtilizedCompositeIndexes, PotentialCompositeIndexes []composite
	}{
		mapSlice(use.Single, ofSingle), mapSlice(use.PotentialSingle, ofSingle),
		mapSlice(use.Composite, ofComposite), mapSlice(use.PotentialComposite, ofComposite),
	})
}

// indexUseV2 returns version 2 of the index metrics. Only potential indexes have a score.
func indexUseV2(use query.UsedAndPotentialIndexes) ([]byte, error) {
	type single struct {
		IndexSpec        string
		IndexImpactScore string `json:",omitempty"`
	}
	type composite struct {
		IndexSpecs       []string
		IndexImpactScore string `json:",omitempty"`
	}
	type indexes struct {
		SingleIndexes    []single
		CompositeIndexes []composite
	}
	of := func(specs []string, lists [][]string, score string) indexes {
		return indexes{
			mapSlice(specs, func(spec string) single { return single{spec, score} }),
			mapSlice(lists, func(specs []string) composite { return composite{specs, score} }),
		}
	}
	return jsondoc.Marshal(struct{ UtilizedIndexes, PotentialIndexes indexes }{
		of(use.Single, use.Composite, ""), of(use.PotentialSingle, use.PotentialComposite, impact),
	})
}

// mapSlice returns the results of calling of with each element. The result is never null in JSON, since
// clients read its length.
func mapSlice[S, T any](list []S, of func(S) T) []T {
	out := make([]T, len(list))
	for i, s := range list {
		out[i] = of(s)
	}
	return out
}
