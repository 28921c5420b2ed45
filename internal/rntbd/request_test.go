package rntbd_test

import (
	"slices"
	"testing"

	"github.com/mayflydb/mayfly/internal/rntbdtest"
)

func TestRequests(t *testing.T) {
	bytesOf := func(id uint16, value string) rntbdtest.Token {
		return rntbdtest.Token{ID: id, Type: rntbdtest.Bytes, Value: []byte(value)}
	}
	text, flag, number := rntbdtest.Text, rntbdtest.Flag, rntbdtest.Number
	in := func(more ...rntbdtest.Token) []rntbdtest.Token {
		return append([]rntbdtest.Token{text(0x15, "d"), text(0x16, "c")}, more...)
	}
	const rid = "\x01\x00\x00\x00\x80\x00\x00\x02" // of a container
	for name, c := range map[string]struct {
		resource, operation uint16
		tokens              []rntbdtest.Token
		body                string
		want                string
	}{
		"create": {3, 1, in(text(0x2B, `["a"]`), text(1, "type%3dmaster"),
			rntbdtest.Token{ID: 3, Type: rntbdtest.SmallString, Value: []byte("Thu")}, flag(0x82, 1)),
			`{"id":"x"}`,
			"POST /dbs/d/colls/c/docs\nAuthorization: type%3dmaster\nPrefer: return=minimal\n" +
				"X-Ms-Date: Thu\nX-Ms-Documentdb-Partitionkey: [\"a\"]\n{\"id\":\"x\"}"},
		"names are escaped": {3, 3, in(text(0x17, "ä b+c%é/?")), "",
			"GET /dbs/d/colls/c/docs/%C3%A4%20b+c%25%C3%A9%2F%3F\n"},
		"a read by an etag": {3, 3, in(text(0x17, "x"), text(8, `"1"`)), "",
			"GET /dbs/d/colls/c/docs/x\nIf-None-Match: \"1\"\n"},
		"a write by an etag": {3, 6, in(text(0x17, "x"), text(8, `"1"`)), "{}",
			"PUT /dbs/d/colls/c/docs/x\nIf-Match: \"1\"\n{}"},
		"upsert": {3, 0x13, in(), "{}", "POST /dbs/d/colls/c/docs\nX-Ms-Documentdb-Is-Upsert: True\n{}"},
		"patch": {3, 2, in(text(0x17, "x")), "[]",
			"PATCH /dbs/d/colls/c/docs/x\nContent-Type: application/json-patch+json\n[]"},
		"delete": {3, 5, in(text(0x17, "x"), text(0x35, "AQAAAIAAAAI=")), "",
			"DELETE /dbs/d/colls/c/docs/x\ncached AQAAAIAAAAI=\n"},
		"query": {3, 0xF, in(text(0x2C, "3"), number(4, 0xFFFFFFFF), flag(0x42, 1), flag(0xC4, 3)), "{}",
			"POST /dbs/d/colls/c/docs\nContent-Type: application/query+json\n" +
				"X-Ms-Cosmos-Supported-Serialization-Formats: JsonText,CosmosBinary\n" +
				"X-Ms-Documentdb-Isquery: True\nX-Ms-Documentdb-Partitionkeyrangeid: 3\n" +
				"X-Ms-Documentdb-Populatequerymetrics: True\nX-Ms-Max-Item-Count: -1\n{}"},
		"bare query": {3, 9, in(), "SELECT 1",
			"POST /dbs/d/colls/c/docs\nContent-Type: application/sql\n" +
				"X-Ms-Documentdb-Isquery: True\nSELECT 1"},
		"changes in a part of a range": {3, 4, in(text(0x3F, "Incremental Feed"),
			text(8, `"7"`), flag(0x64, 3),
			bytesOf(0x62, "1FFF"), bytesOf(0x63, "FF")), "",
			"GET /dbs/d/colls/c/docs\nA-Im: Incremental Feed\nIf-None-Match: \"7\"\nX-Ms-End-Epk: FF\n" +
				"X-Ms-Start-Epk: 1FFF\n"},
		"a part by keys": {3, 4, in(flag(0x64, 2), bytesOf(0x62, "\x1f\xff")), "",
			"GET /dbs/d/colls/c/docs\nX-Ms-Start-Epk: 1fff\n"},
		"batch": {3, 0x25, in(flag(0x73, 1), flag(0x74, 0)), "rows", "POST /dbs/d/colls/c/docs\n" +
			"X-Ms-Cosmos-Batch-Atomic: True\nX-Ms-Cosmos-Batch-Continue-On-Error: False\n" +
			"X-Ms-Cosmos-Is-Batch-Request: True\nrows"},
		"a procedure": {7, 8, in(text(0x1B, "p"), flag(0x3E, 1)), "[1]",
			"POST /dbs/d/colls/c/sprocs/p\nX-Ms-Documentdb-Script-Enable-Logging: True\n[1]"},
		"databases": {1, 4, nil, "", "GET /dbs\n"},
		"containers": {2, 0xF, []rntbdtest.Token{text(0x15, "d")}, "{}",
			"POST /dbs/d/colls\nContent-Type: application/query+json\nX-Ms-Documentdb-Isquery: True\n{}"},
		"a permission": {6, 3, []rntbdtest.Token{text(0x15, "d"), text(0x19, "u"), text(0x1A, "p")}, "",
			"GET /dbs/d/users/u/permissions/p\n"},
		"an item by rid": {3, 3, []rntbdtest.Token{bytesOf(0, rid+"\x01\x00\x00\x00\x00\x00\x00\xfb")}, "",
			"GET /dbs/AQAAAA==/colls/AQAAAIAAAAI=/docs/AQAAAIAAAAIBAAAAAAAA+w==\n"},
		"items by rid": {3, 4, []rntbdtest.Token{bytesOf(0, rid)}, "",
			"GET /dbs/AQAAAA==/colls/AQAAAIAAAAI=/docs\n"},
		"an offer by rid": {0xF, 3, []rntbdtest.Token{bytesOf(0, "\x01\x02\x03")}, "", "GET /offers/AQID\n"},
		"an unknown token": {3, 3, in(text(0x17, "x"), text(0x106, "new"), bytesOf(0x5A, "\x00")), "",
			"GET /dbs/d/colls/c/docs/x\n"},
		"a known rid beside names": {3, 4, in(bytesOf(0, rid)), "",
			"GET /dbs/d/colls/c/docs\ncached AQAAAIAAAAI=\n"},
	} {
		t.Run(name, func(t *testing.T) {
			l := greeted(t, echo)
			tokens := slices.Clone(c.tokens)
			var payload []byte
			if c.body != "" {
				payload, tokens = []byte(c.body), append(tokens, flag(2, 1))
			}
			slices.Reverse(tokens) // their order is free
			l.write(rntbdtest.Frame(c.resource, c.operation, [16]byte{}, payload, tokens...))
			if a := l.read(); a.Status != 200 || string(a.Body) != c.want {
				t.Errorf("%d %s\nwant %s", a.Status, a.Body, c.want)
			}
		})
	}
}

// TestRepeatedToken checks that the last value counts if a frame contains the same token twice.
func TestRepeatedToken(t *testing.T) {
	l := greeted(t, echo)
	l.write(frame(1, read, nil, rntbdtest.Text(0x2B, `["a"]`), rntbdtest.Text(0x2B, `["b"]`)))
	const want = "GET /dbs/d/colls/c/docs/x\nX-Ms-Documentdb-Partitionkey: [\"b\"]\n"
	if a := l.read(); string(a.Body) != want {
		t.Errorf("%s", a.Body)
	}
}
