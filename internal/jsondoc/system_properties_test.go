package jsondoc

import "testing"

func TestSystemAppend(t *testing.T) {
	s := SystemProperties{
		RID:  "HpxDAIt3MtQBAAAAAAAAAA==",
		Self: "dbs/HpxDAA==/colls/HpxDAIt3MtQ=/docs/HpxDAIt3MtQBAAAAAAAAAA==/",
		ETag: `"00000000-0000-0000-e384-28095c1a01da"`,
		TS:   1700000000,
	}
	const own = `"_rid":"HpxDAIt3MtQBAAAAAAAAAA==","_self":"dbs/HpxDAA==/colls/HpxDAIt3MtQ=/docs/HpxDAIt3MtQBAAAAAAAAAA==/",` +
		`"_etag":"\"00000000-0000-0000-e384-28095c1a01da\"","_attachments":"attachments/","_ts":1700000000`
	for _, c := range []struct {
		body string
		lsn  uint64
		want string
	}{
		{`{}`, 0, `{` + own + `}`},
		{`{"id":"a"}`, 0, `{"id":"a",` + own + `}`},
		{`{"id":"a","b":{}}`, 18446744073709551615, `{"id":"a","b":{},` + own +
			`,"_lsn":18446744073709551615}`},
	} {
		s.LSN = c.lsn
		got := s.Append([]byte("x"), []byte(c.body))
		if string(got) != "x"+c.want {
			t.Errorf("%s:\ngot  %s\nwant x%s", c.body, got, c.want)
		}
		// A client that sends back what it has read gets what it had sent.
		if back := mustParse(t, string(got[1:])); string(back.Body) != c.body {
			t.Errorf("%s comes back as %s", c.body, back.Body)
		}
	}
}
