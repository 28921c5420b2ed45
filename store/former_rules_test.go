package store

import (
	"context"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/host"
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/layout"
)

// former makes the container one that an earlier program has made and written: its entries follow the first
// rules.
func (g *indexRig) former() {
	g.t.Helper()
	err := g.c.change(g.t.Context(), func(now containerState, _ int64) (containerState, error) {
		x, err := newIndexer(formerDefinition(&now.spec))
		if err != nil {
			return now, err
		}
		now.terms, now.olders, now.rec.IndexRules = x, nil, 0
		return now, g.db.live().changeCatalog(context.Background(), func(t *host.Change) error {
			return host.SetRecord(t, layout.ContainerKey(g.c.d.rec.Num, g.c.name), now.rec)
		})
	})
	if err != nil {
		g.t.Fatal(err)
	}
}

func (g *indexRig) expect(text, want string) {
	g.t.Helper()
	var rows []string
	for row, err := range g.c.Rows(g.t.Context(), QueryRequest{Text: text}) {
		if err != nil {
			g.t.Fatal(err)
		}
		rows = append(rows, string(row))
	}
	if got := strings.Join(rows, " "); got != want {
		g.t.Errorf("%s gives %s, want %s", text, got, want)
	}
}

// A container whose entries were made when texts were English and rings had no direction answers as any other
// from the first moment, and is indexed anew.
func TestFormerRules(t *testing.T) {
	const policy = `{"fullTextIndexes":[{"path":"/s"}],"spatialIndexes":[{"path":"/o/*","types":["Point","Polygon"]}]}`
	g := newIndexRig(t, 1, 1, false, policy)
	g.spec.FullText = &definition.FullTextPolicy{DefaultLanguage: "en-US", Paths: []definition.FullTextPath{{Path: "/s", Language: "fr-FR"}}}
	g.replace(policy)
	g.former()
	for _, body := range []string{
		`{"id":"1","s":"ils mangeaient l'avion","o":{"type":"Polygon","coordinates":[[[0,0],[0,1],[1,1],[1,0],[0,0]]]}}`, // all but the square
		`{"id":"2","s":"the running man","o":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1],[0,0]]]}}`,
		`{"id":"3","s":"manger","o":{"type":"Polygon","coordinates":[[[0,0],[1,1],[1,0],[0,1],[0,0]]]}}`, // it crosses itself
	} {
		if _, _, err := g.c.Upsert(t.Context(), definition.PartitionKey{}, []byte(body), WriteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	g.reopen(false)
	questions := func() {
		t.Helper()
		g.expect(`SELECT VALUE c.id FROM c WHERE FullTextContains(c.s, "manger")`, `"1" "3"`)
		g.expect(`SELECT VALUE c.id FROM c WHERE FullTextContains(c.s, "avion")`, `"1"`)
		g.expect(`SELECT VALUE c.id FROM c WHERE ST_INTERSECTS(c.o, {"type":"Point","coordinates":[50,50]})`, `"1"`)
		g.expect(`SELECT VALUE c.id FROM c WHERE ST_INTERSECTS(c.o, {"type":"Point","coordinates":[0.5,0.25]})`, `"2"`)
		g.expect(`SELECT VALUE c.id FROM c ORDER BY RANK FullTextScore(c.s, "mange")`, `"3" "1" "2"`)
	}
	questions()
	g.check()
	if err := g.db.IndexNow(t.Context()); err != nil {
		t.Fatal(err)
	}
	if rec := g.c.state.Load().rec; rec.IndexRules != indexRules || len(g.c.state.Load().olders) != 0 {
		t.Errorf("it is not indexed anew: %+v", rec)
	}
	questions()
	g.check()
	g.reopen(true)
	if rec := g.c.state.Load().rec; rec.IndexRules != indexRules {
		t.Errorf("the rules are %d after the crash", rec.IndexRules)
	}
	questions()
	if err := g.db.Close(); err != nil {
		t.Error(err)
	}
}

func TestUnknownLanguage(t *testing.T) {
	for _, policy := range []definition.FullTextPolicy{
		{DefaultLanguage: "xx-YY"}, {DefaultLanguage: "en-US", Paths: []definition.FullTextPath{{Path: "/s", Language: "xx-YY"}}},
	} {
		s := definition.ContainerSpec{FullText: &policy}
		err := s.ValidateFullText()
		if fault.ErrorCode(err) != fault.CodeBadRequest || !strings.Contains(err.Error(), "The language specified in the full-text policy, 'xx-YY', is invalid.") {
			t.Errorf("%+v: %v", policy, err)
		}
	}
	s := definition.ContainerSpec{FullText: &definition.FullTextPolicy{DefaultLanguage: "pt-BR", Paths: []definition.FullTextPath{{Path: "/s"}}}}
	if err := s.ValidateFullText(); err != nil {
		t.Error(err)
	}
}
