package layout

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/mayflydb/mayfly/internal/jsondoc"
)

func TestEscapedStringsAgree(t *testing.T) {
	for _, s := range []string{"", "a", "a\x00b", "\x00", "é\x00\x01"} {
		if a, b := AppendEscapedString(nil, s), jsondoc.AppendEscaped(nil, []byte(s)); !bytes.Equal(a, b) {
			t.Errorf("%q: %x and %x", s, a, b)
		}
	}
}

// TestRIDs checks the exact text of rids and etags. It must not change, because clients parse rids.
func TestRIDs(t *testing.T) {
	const dbid, cid = 0x00439c1e, 0x8b7732d4
	child := func(n uint64) string { return RIDText(ChildRIDBytes(dbid, cid, n)) }
	for _, c := range []struct{ got, want string }{
		{RIDText(DatabaseRIDBytes(dbid)), "HpxDAA=="},
		{RIDText(ContainerRIDBytes(dbid, cid)), "HpxDAIt3MtQ="},
		{child(ItemRID(0, 1)), "HpxDAIt3MtQBAAAAAAAAAA=="},
		{child(RIDTypeRange<<60 | 1), "HpxDAIt3MtQBAAAAAAAAUA=="},
		{ETagText(0x1234abcd, 0x0fff, 0x28095c1a01da), `"1234abcd-0000-0000-0fff-28095c1a01da"`},
		{OfferRIDText(3), "AwAA"},
		{OfferRIDText(1<<24 | 3), "AwAAAQ=="},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
	if n := ItemRID(0xabc, 7); RIDRange(n) != 0xabc || binary.BigEndian.Uint64(Number(n)) != n {
		t.Errorf("rid %x", n)
	}
}
