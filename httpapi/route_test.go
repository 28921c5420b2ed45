package httpapi

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mayflydb/mayfly/internal/cosmos"
)

func TestParseTarget(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		path         string
		kind         cosmos.ResourceKind
		feed         bool
		ids          string // joined by |
		resourceType string
		link         string
	}{
		{"", cosmos.KindAccount, false, "", "", ""},
		{"/", cosmos.KindAccount, false, "", "", ""},
		{"//", cosmos.KindAccount, false, "", "", ""},
		{"/dbs", cosmos.KindDatabase, true, "", "dbs", ""},
		{"/dbs/", cosmos.KindDatabase, true, "", "dbs", ""},
		{"/DBS/a", cosmos.KindDatabase, false, "a", "dbs", "DBS/a"},
		{"/dbs/a/colls", cosmos.KindContainer, true, "a", "colls", "dbs/a"},
		{"/dbs/a/colls/b", cosmos.KindContainer, false, "a|b", "colls", "dbs/a/colls/b"},
		{"//dbs//a/colls/b//", cosmos.KindContainer, false, "a|b", "colls", "dbs/a/colls/b"},
		{"/dbs/a/colls/b/docs/", cosmos.KindItem, true, "a|b", "docs", "dbs/a/colls/b"},
		{"/dbs/a/colls/b/Docs/c/", cosmos.KindItem, false, "a|b|c", "docs", "dbs/a/colls/b/Docs/c"},
		{"/dbs/a/colls/b/docs/x%2Fy", cosmos.KindItem, false, "a|b|x/y", "docs", "dbs/a/colls/b/docs/x/y"},
		{"/dbs/a/colls/b/docs/x/y/", cosmos.KindItem, false, "a|b|x/y", "docs", "dbs/a/colls/b/docs/x/y"},
		{"/dbs/a/colls/b/docs/x//y%20z", cosmos.KindItem, false, "a|b|x//y z", "docs",
			"dbs/a/colls/b/docs/x//y z"},
		{"/dbs/a/colls/b/docs/1+1=2", cosmos.KindItem, false, "a|b|1+1=2", "docs",
			"dbs/a/colls/b/docs/1+1=2"},
		{"/dbs/a/colls/b/docs/100%25", cosmos.KindItem, false, "a|b|100%", "docs", "dbs/a/colls/b/docs/100%"},
		{"/dbs/a/colls/b/docs/%2520", cosmos.KindItem, false, "a|b|%20", "docs", "dbs/a/colls/b/docs/%20"},
		{"/dbs/a/colls/b/docs/%20%20", cosmos.KindItem, false, "a|b|  ", "docs", "dbs/a/colls/b/docs/  "},
		{"/dbs/d%20b/colls/P%C3%A4th/docs/\u00e9", cosmos.KindItem, false, "d b|Päth|é", "docs",
			"dbs/d b/colls/Päth/docs/é"},
		{"/dbs/a/colls/b/docs/c/attachments", cosmos.KindAttachment, true, "a|b|c", "attachments",
			"dbs/a/colls/b/docs/c"},
		{"/dbs/a/colls/b/docs/c/attachments/d", cosmos.KindAttachment, false, "a|b|c|d", "attachments",
			"dbs/a/colls/b/docs/c/attachments/d"},
		{"/dbs/a/colls/b/pkranges", cosmos.KindRange, true, "a|b", "pkranges", "dbs/a/colls/b"},
		{"/dbs/a/colls/b/sprocs/s", cosmos.KindSproc, false, "a|b|s", "sprocs", "dbs/a/colls/b/sprocs/s"},
		{"/dbs/a/colls/b/triggers", cosmos.KindTrigger, true, "a|b", "triggers", "dbs/a/colls/b"},
		{"/dbs/a/colls/b/udfs/u", cosmos.KindUDF, false, "a|b|u", "udfs", "dbs/a/colls/b/udfs/u"},
		{"/dbs/a/colls/b/conflicts/", cosmos.KindConflict, true, "a|b", "conflicts", "dbs/a/colls/b"},
		{"/dbs/a/users/u/permissions/p", cosmos.KindPermission, false, "a|u|p", "permissions",
			"dbs/a/users/u/permissions/p"},
		{"/dbs/a/users", cosmos.KindUser, true, "a", "users", "dbs/a"},
		{"/dbs/a/clientencryptionkeys/k", cosmos.KindEncryptionKey, false, "a|k", "clientencryptionkeys",
			"dbs/a/clientencryptionkeys/k"},
		{"/dbs/a/colls/b/operations/partitionkeydelete", cosmos.KindPartitionDelete, false, "a|b", "colls",
			"dbs/a/colls/b"},
		{"/dbs/a/colls/b/Operations/PartitionKeyDelete/", cosmos.KindPartitionDelete, false, "a|b", "colls",
			"dbs/a/colls/b"},
		{"/offers", cosmos.KindOffer, true, "", "offers", ""},
		{"//addresses/", cosmos.KindAddresses, true, "", "addresses", ""},
		{"/_mayfly/clock", cosmos.KindNone, false, "", "", "_mayfly/clock"},
		{"/_explorer/emulator.pem", cosmos.KindNone, false, "", "", "_explorer/emulator.pem"},
	} {
		got, err := parseTarget(tc.path, "")
		if err != nil {
			t.Errorf("%s: %v", tc.path, err)
			continue
		}
		if got.kind != tc.kind || got.feed != tc.feed || got.resourceType != tc.resourceType || got.ByRID {
			t.Errorf("%s: kind %d feed %v type %q byRID %v", tc.path, got.kind, got.feed, got.resourceType,
				got.ByRID)
		}
		if ids := strings.Join(got.IDs[:got.N], "|"); ids != tc.ids {
			t.Errorf("%s: ids %q, want %q", tc.path, ids, tc.ids)
		}
		if link, _, _ := got.link(0); link != tc.link {
			t.Errorf("%s: link %q, want %q", tc.path, link, tc.link)
		}
	}
}

func TestParseTargetRefuses(t *testing.T) {
	t.Parallel()
	for path, status := range map[string]int{
		"/favicon.ico":                    404,
		"/dbs/a/docs":                     404,
		"/dbs/a/colls/b/media":            404,
		"/colls":                          404,
		"/dbs/a/colls/b/docs/%":           400,
		"/dbs/%zz":                        400,
		"/dbs/a/colls/b/operations/other": 404,
		"/dbs/a/colls/b/operations/partitionkeydelete/x": 404,
		"/offers/abcd/dbs": 404,
	} {
		_, err := parseTarget(path, "")
		if w, _ := cosmos.Classify(err); w.Status != status {
			t.Errorf("%s: %v (%d), want %d", path, err, w.Status, status)
		}
	}
	if _, err := parseTarget("/dbs", "%zz"); err == nil {
		t.Error("a malformed query string was accepted")
	}
}

func TestPathOfOperationsWithoutName(t *testing.T) {
	t.Parallel()
	// Without an operation's name the path is a feed that has no handler.
	got, err := parseTarget("/dbs/a/colls/b/operations", "")
	if err != nil || got.kind != cosmos.KindPartitionDelete || !got.feed {
		t.Errorf("kind %d, feed %v, error %v", got.kind, got.feed, err)
	}
}

func TestAddressingByRID(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]struct {
		byRID bool
		links []string
	}{
		"/dbs/HpxDAA==/colls/HpxDAIt3MtQ=/pkranges": {true,
			[]string{"hpxdait3mtq=", "HpxDAIt3MtQ=", "dbs/HpxDAA==/colls/HpxDAIt3MtQ="}},
		"/dbs/HpxDAA==/colls/HpxDAIt3MtQ=/docs/HpxDAIt3MtQBAAAAAAAAAA==/": {true,
			[]string{"hpxdait3mtqbaaaaaaaaaa==", "HpxDAIt3MtQBAAAAAAAAAA=="}},
		"/dbs/HpxD-A==":           {true, []string{"hpxd-a==", "HpxD-A==", "dbs/HpxD-A=="}},
		"/dbs/HpxDAA==/colls":     {true, []string{"hpxdaa==", "HpxDAA==", "dbs/HpxDAA=="}},
		"/offers/AbCd":            {true, []string{"abcd", "AbCd"}},
		"/dbs/HpxDAA=/colls":      {false, []string{"dbs/HpxDAA="}},
		"/dbs/shopping/colls":     {false, []string{"dbs/shopping"}},
		"/dbs/a.bcde==":           {false, []string{"dbs/a.bcde=="}},
		"/dbs/a%20b/colls/c/docs": {false, []string{"dbs/a b/colls/c", "dbs/a b/colls/c/", ""}},
	} {
		got, err := parseTarget(path, "")
		if err != nil || got.ByRID != want.byRID {
			t.Errorf("%s: byRID %v, error %v", path, got.ByRID, err)
		}
		for i, link := range want.links {
			if l, _, ok := got.link(i); ok != (link != "") || l != link {
				t.Errorf("%s: link %d is %q, want %q", path, i, l, link)
			}
		}
	}
}

func TestUnescapedQuestionMarkInPath(t *testing.T) {
	t.Parallel()
	got, err := parseTarget("/dbs/a/colls/b/docs/what", "is%20this?/x")
	if err != nil || got.Leaf() != "what" {
		t.Fatalf("leaf %q, error %v", got.Leaf(), err)
	}
	if l, query, _ := got.link(2); l != "dbs/a/colls/b/docs/what?is this?/x" || !query {
		t.Errorf("link %q, query %v", l, query)
	}
	got.absorbQuery()
	got.absorbQuery()
	if got.Leaf() != "what?is this?/x" {
		t.Errorf("leaf %q", got.Leaf())
	}
	feed, err := parseTarget("/dbs/a/colls/b/docs", "x=1")
	if feed.absorbQuery(); err != nil || feed.Leaf() != "b" {
		t.Errorf("the query string of a feed became part of %q, error %v", feed.Leaf(), err)
	}
}

func TestRequestPath(t *testing.T) {
	t.Parallel()
	for target, want := range map[string][2]string{
		"/dbs/a%2Fb?x=%20":           {"/dbs/a%2Fb", "x=%20"},
		`/dbs/a%2Fb|"^`:              {`/dbs/a%2Fb|"^`, ""},
		"//addresses/":               {"//addresses/", ""},
		"http://h:1/dbs/a%2Fb?c":     {"/dbs/a%2Fb", "c"},
		"/dbs/x/colls/y/docs/a+b%2B": {"/dbs/x/colls/y/docs/a+b%2B", ""},
	} {
		if path, query := requestPath(httptest.NewRequest("GET", target, nil)); path != want[0] ||
			query != want[1] {
			t.Errorf("%s: %q, %q", target, path, query)
		}
	}
}

func FuzzParseTarget(f *testing.F) {
	for _, s := range []string{"/", "/dbs/a/colls/b/docs/x%2Fy", "//dbs//HpxDAA==/colls/", "/offers/abcd",
		"/_mayfly/%2e%2e", "/dbs/a/colls/b/operations/partitionkeydelete"} {
		f.Add(s, "a=b")
	}
	f.Fuzz(func(t *testing.T, path, query string) {
		got, err := parseTarget(path, query)
		if err != nil {
			if w, defect := cosmos.Classify(err); defect || w.Status != 400 && w.Status != 404 {
				t.Fatalf("%q: %v (%d)", path, err, w.Status)
			}
			return
		}
		got.absorbQuery()
		for i := 0; ; i++ {
			if i > 10 {
				t.Fatalf("%q: no end of links", path)
			}
			if _, _, ok := got.link(i); !ok {
				break
			}
		}
		if got.kind == cosmos.KindNone || got.kind == cosmos.KindAddresses || !utf8.ValidString(path) {
			return
		}
		// What was read, escaped and written again, is read as the same.
		var b strings.Builder
		for i := range got.N {
			b.WriteString("/" + keywordAt(t, &got, i) + "/" + url.PathEscape(got.IDs[i]))
		}
		if got.feed {
			b.WriteString("/" + got.resourceType)
		} else if got.kind == cosmos.KindPartitionDelete {
			b.WriteString("/operations/partitionkeydelete")
		}
		if got.kind == cosmos.KindPartitionDelete && got.feed {
			return // its keyword is not its resource type
		}
		again, err := parseTarget(b.String(), "")
		if err != nil || again.kind != got.kind || again.feed != got.feed || again.IDs != got.IDs {
			t.Fatalf("%q became %q: %+v, %v", path, b.String(), again, err)
		}
	})
}

// keywordAt returns the keyword (such as "docs") that precedes the i-th id in the path of a target.
func keywordAt(t *testing.T, got *targetResource, i int) string {
	k := got.kind
	var chain []string
	for k != cosmos.KindAccount {
		found := false
		for _, g := range grammar {
			if g.kind == k {
				chain = append([]string{g.keyword}, chain...)
				k, found = g.parent, true
				break
			}
		}
		if !found {
			t.Fatalf("kind %d has no keyword", k)
		}
	}
	return chain[i]
}
