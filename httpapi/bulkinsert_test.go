package httpapi

import (
	"fmt"
	"strings"
	"testing"
)

// TestBulkInsertByRange checks the stored procedure by which clients import the documents of a whole
// partition key range, without naming a partition key.
func TestBulkInsertByRange(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, ranges(3))
	w.container("")
	const insert = coll + "/sprocs/__.sys.commonBulkInsert"
	of := make(map[string][]string) // documents by range
	for i := range 30 {
		doc := fmt.Sprintf(`{"id":"%d","pk":"%d"}`, i, i)
		key := fmt.Sprintf(`["%d"]`, i)
		at := w.do("GET", docs+"/none", "", pk(key)...).header.Get("X-Ms-Documentdb-Partitionkeyrangeid")
		of[at] = append(of[at], doc)
	}
	if len(of) != 3 {
		t.Fatal(of)
	}
	in := func(id string) []string { return []string{"x-ms-documentdb-partitionkeyrangeid", id} }
	for id, list := range of {
		args := "[[" + strings.Join(list, ",") + "]]"
		w.do("POST", insert, args, in(id)...).body200(fmt.Sprintf(`{"count":%d,"errorCode":0}`, len(list))).
			head("x-ms-documentdb-partitionkeyrangeid", id)
	}
	w.do("GET", docs+"/7", "", pk(`["7"]`)...).want(200)
	for i := range 30 {
		w.do("GET", fmt.Sprintf("%s/%d", docs, i), "", pk(fmt.Sprintf(`["%d"]`, i))...).want(200)
	}
	mixed := "[[" + strings.Replace(of["1"][0], `"id":"`, `"id":"new`, 1) + "," + of["0"][0] +
		`],{"enableUpsert":true}]`
	w.do("POST", insert, mixed, in("1")...).fails(410, 1002, "")
	w.do("GET", docs, "", in("1")...).want(200).has("_count", fmt.Sprint(len(of["1"])))
	w.do("POST", insert, "[[]]", in("9")...).fails(410, 1002, "")
	w.do("POST", insert, "[[]]").fails(400, 0, "PartitionKey value must be supplied")
	w.script("sprocs", "p", "function () {}", "")
	w.do("POST", coll+"/sprocs/p", "[]", in("0")...).fails(400, 0, "PartitionKey value must be supplied")
}
