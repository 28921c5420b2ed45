package definition

import "testing"

// TestIndexableComputedProperties checks which computed properties depend only on the document's own text, so
// that an index can hold their values.
func TestIndexableComputedProperties(t *testing.T) {
	for query, want := range map[string]bool{
		"SELECT VALUE LOWER(c.name) FROM c":                         true,
		"SELECT VALUE c.price * 0.8 FROM c":                         true,
		"SELECT VALUE c['a'][\"b\"][0] FROM c":                      true,
		"SELECT VALUE c.a ?? c.b.c FROM c":                          true,
		"SELECT VALUE TimestampToDateTime(c._ts*1000) FROM c":       false,
		"SELECT VALUE c['_etag'] FROM c":                            false,
		"SELECT VALUE c FROM c":                                     false,
		"SELECT VALUE ObjectToArray(c) FROM c":                      false,
		"SELECT VALUE c[c.name] FROM c":                             false,
		"SELECT VALUE RAND() FROM c":                                false,
		"SELECT VALUE GetCurrentTimestamp() FROM c":                 false,
		"SELECT VALUE udf.f(c.a) FROM c":                            false,
		"SELECT VALUE (SELECT VALUE c.a) FROM c":                    false,
		"SELECT VALUE ST_DISTANCE(c.a, c.b) FROM c":                 false,
		"SELECT VALUE c.a FROM":                                     false,
		"SELECT c.a FROM c":                                         false,
		"SELECT VALUE {\"x\": c.x, \"y\": [c.y, -c.z]} FROM root c": true,
	} {
		if got := readsOnlyText(query); got != want {
			t.Errorf("%s: %v", query, got)
		}
	}
}
