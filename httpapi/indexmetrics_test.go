package httpapi

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

func TestIndexMetrics(t *testing.T) {
	t.Parallel()
	const name, v1, v2 = "X-Ms-Cosmos-Index-Utilization", "x-ms-cosmos-populateindexmetrics", "x-ms-cosmos-populateindexmetrics-v2"
	w := newServerUnderTest(t)
	w.container(keyedByPK + `,"indexingPolicy":{"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/free/*"}],"compositeIndexes":[[{"path":"/n"},{"path":"/a b+c","order":"descending"}]]}`)
	w.fill(4, 1)
	const text = `SELECT * FROM c WHERE c.id = "1" AND c.free = 1 ORDER BY c.n, c["a b+c"] DESC`
	w.ask(docs, text, served...).want(200).head(name, "")

	header := w.ask(docs, text, append(served, v1, "true")...).want(200).header.Get(name)
	raw, err := base64.StdEncoding.DecodeString(header)
	if err != nil {
		t.Fatal(header, err)
	}
	const single, composite = `"FilterPreciseSet":true,"IndexPreciseSet":true,"IndexImpactScore":"High"`, `"IndexPreciseSet":true,"IndexImpactScore":"High"`
	if want := `{"UtilizedSingleIndexes":[{"FilterExpression":"","IndexSpec":"/id/?",` + single + `}],"PotentialSingleIndexes":[{"FilterExpression":"","IndexSpec":"/free/?",` + single +
		`}],"UtilizedCompositeIndexes":[{"IndexSpecs":["/n ASC","/\"a b+c\" DESC"],` + composite + `}],"PotentialCompositeIndexes":[]}`; string(raw) != want {
		t.Errorf("got  %s\nwant %s", raw, want)
	}

	header = w.ask(docs, text, append(served, v1, "true", v2, "true")...).want(200).header.Get(name)
	for decoder, decode := range map[string]func(string) (string, error){"path": url.PathUnescape, "form": url.QueryUnescape} {
		got, err := decode(header)
		if want := `{"UtilizedIndexes":{"SingleIndexes":[{"IndexSpec":"/id/?"}],"CompositeIndexes":[{"IndexSpecs":["/n ASC","/\"a b+c\" DESC"]}]},` +
			`"PotentialIndexes":{"SingleIndexes":[{"IndexSpec":"/free/?","IndexImpactScore":"High"}],"CompositeIndexes":[]}}`; err != nil || got != want {
			t.Errorf("%s: got  %s, %v\nwant %s", decoder, got, err, want)
		}
	}
	for text, want := range map[string]string{ // what is used, and what is suggested
		"SELECT * FROM c": "/pk/? | ", "SELECT * FROM c WHERE c.n = 1 AND c.even = true": "/even/? /n/? | ",
		"SELECT * FROM c WHERE c.n = 1 AND c.m > 2": "/m/? /n/? | /n ASC,/m ASC", "SELECT * FROM c WHERE c.n > 1 ORDER BY c.n": "/n/? | ",
		"SELECT * FROM c WHERE STARTSWITH(c.s, 'a', false)": "/s/? | ", "SELECT UPPER(c.s) FROM c WHERE c.n = 1": "/n/? /s/? | ",
		// an ORDER BY beside conditions of one kind, and of two
		"SELECT * FROM c WHERE c.n = 1 AND c.m = 2 ORDER BY c.n":             "/m/? | ",
		"SELECT * FROM c WHERE c.n > 1 AND c.m > 2 ORDER BY c.n":             "/m/? | ",
		"SELECT * FROM c WHERE c.n > 1 AND c.m = 2 ORDER BY c.n":             "/m/? /n/? | /m ASC,/n ASC",
		"SELECT * FROM c WHERE c.n = 1 ORDER BY c.n":                         "/n/? | ",
		"SELECT c.n, c.m FROM c WHERE c.n = 1 AND c.m = 2 GROUP BY c.n, c.m": "/m/? /n/? | /n ASC,/m ASC",
		"SELECT c.n FROM c WHERE c.n = 1 AND c.m = 2 GROUP BY c.n":           "/m/? /n/? | ",
		"SELECT VALUE SUM(c.m) FROM c":                                       "/m/? | ", `SELECT * FROM c WHERE c["<&>"] = 1`: `/"<&>"/? | `, "SELECT c.s FROM c WHERE c.n = 1": "/n/? | ",
	} {
		header := w.ask(docs, text, append(pk(`["key0"]`), v2, "true")...).want(200).header.Get(name)
		plain, err := url.PathUnescape(header)
		var used, suggested []string
		for _, r := range gjson.Get(plain, "UtilizedIndexes.SingleIndexes.#.IndexSpec").Array() {
			used = append(used, r.Str)
		}
		for _, r := range gjson.Get(plain, "PotentialIndexes.CompositeIndexes.0.IndexSpecs").Array() {
			suggested = append(suggested, r.Str)
		}
		if got := strings.Join(used, " ") + " | " + strings.Join(suggested, ","); err != nil || got != want {
			t.Errorf("%s: got %q, want %q, %v", text, got, want, err)
		}
	}
	header = w.ask("/dbs", "SELECT * FROM c WHERE c.id = 'd'", v2, "true").want(200).header.Get(name)
	if got, err := url.PathUnescape(header); err != nil || !strings.HasPrefix(got, `{"UtilizedIndexes":{"SingleIndexes":[],"CompositeIndexes":[]}`) {
		t.Errorf("of databases: %s, %v", got, err)
	}
}
