package resource

import (
	"encoding/hex"
	"testing"

	"github.com/mayflydb/mayfly/internal/host"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/record"
)

// TestResourceKeys checks the exact keys, records and rids of small resources (users, permissions, client
// encryption keys, scripts). The keys and records are a format on disk and must not change.
func TestResourceKeys(t *testing.T) {
	of := ResourceOwner{Database: 0x00439c1e}
	in := func(k record.ResourceKind, number uint32) ChildResources { return Of(nil, k, number, of) }
	for _, tc := range []struct {
		in       ChildResources
		num      uint32
		rid, key string
	}{
		{in(record.KindUser, of.Database), 0x01020304, "HpxDAAECAwQ=", "0075" + "00439c1e" + "61" + "0001"},
		{in(record.KindPermission, 0x01020304), 2, "HpxDAAECAwQCAAAAAAAAAA==", "0070" + "01020304" + "61" + "0001"},
		{in(record.KindEncryptionKey, of.Database), 3, "HpxDAAAAAAADAAAAAgAAAA==", "0065" + "00439c1e" + "61" + "0001"},
		{in(record.KindStoredProcedure, 0x8b7732d4), 2, "HpxDAIt3MtQCAAAAAAAAgA==", "0072" + "8b7732d4" + "61" +
			"0001"},
		{in(record.KindTrigger, 0x8b7732d4), 2, "HpxDAIt3MtQCAAAAAAAAcA==", "0074" + "8b7732d4" + "61" + "0001"},
		{in(record.KindFunction, 0x8b7732d4), 2, "HpxDAIt3MtQCAAAAAAAAYA==", "0066" + "8b7732d4" + "61" + "0001"},
	} {
		if got := layout.RIDText(tc.in.ridBytes(tc.num)); got != tc.rid {
			t.Errorf("kind %d: rid %s, want %s", tc.in.family.Kind, got, tc.rid)
		}
		if got := hex.EncodeToString(tc.in.family.Key("a")); got != tc.key {
			t.Errorf("kind %d: key %s, want %s", tc.in.family.Kind, got, tc.key)
		}
	}
	rec := record.SmallResource{Num: 7, TS: 8, LSN: 9, Body: []byte(`{"id":"<&>"}`)}
	const want = `{"num":7,"ts":8,"lsn":9,"body":{"id":"<&>"}}`
	var back record.SmallResource
	if got := string(rec.Encode()); got != want {
		t.Errorf("record %s, want %s", got, want)
	}
	if err := host.DecodeRecord(rec.Encode(), &back); err != nil || string(back.Body) != string(rec.Body) ||
		back.Num != 7 || back.TS != 8 || back.LSN != 9 {
		t.Errorf("the record comes back as %+v (%v)", back, err)
	}
}
