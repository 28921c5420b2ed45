package cursor

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// walkedDocument is a document of a walk: the position at which its source returns it, and its rid.
type walkedDocument struct {
	at  byte
	rid uint64
}

// cut divides all keys at the given bounds, single bytes in ascending order, and returns the resulting
// spans.
func cut(bounds []byte) []SourceKeyRange {
	spans := make([]SourceKeyRange, len(bounds)+1)
	for i, b := range bounds {
		spans[i].To, spans[i+1].From = []byte{b}, []byte{b}
	}
	return spans
}

func (s SourceKeyRange) contains(p walkedDocument) bool {
	at := []byte{p.at}
	return bytes.Compare(s.From, at) <= 0 && (len(s.To) == 0 || bytes.Compare(at, s.To) < 0)
}

// TestProgress reads random documents page by page while the sources are divided at random, and sometimes
// continues each source in a walk of its own. It checks that each document is returned exactly once.
func TestProgress(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 0))
		var points []walkedDocument
		for i := range 60 {
			points = append(points, walkedDocument{byte(r.IntN(256)), uint64(i + 1)})
		}
		bounds := []byte{}
		met := map[walkedDocument]int{}
		var walk func(within SourceKeyRange, text []byte, depth int)
		walk = func(within SourceKeyRange, text []byte, depth int) {
			for pages := 0; ; pages++ {
				for range r.IntN(2) { // divide one
					bounds = append(bounds, byte(1+r.IntN(255)))
					slices.Sort(bounds)
					bounds = slices.Compact(bounds)
				}
				var spans []SourceKeyRange
				for _, s := range cut(bounds) {
					s.From = slices.MaxFunc([][]byte{s.From, within.From}, bytes.Compare)
					if !endsBy(s.To, within.To) {
						s.To = within.To
					}
					if len(s.To) == 0 || bytes.Compare(s.From, s.To) < 0 {
						spans = append(spans, s)
					}
				}
				from := Begin(spans)
				if text != nil {
					p, rest, ok := ParseProgress(text)
					if from = p; !ok || len(rest) > 0 || !p.Covers(spans) {
						t.Fatalf("seed %d: %x covers %v: %v", seed, text, p.within, spans)
					}
				}
				if depth > 0 && r.IntN(5) == 0 { // go on in each part by itself
					for _, s := range spans {
						walk(s, from.Append(nil), depth-1)
					}
					return
				}
				room := 1 + r.IntN(6)
				next := from
				for i, s := range spans {
					after, _, left := from.At(s)
					if !left {
						continue
					}
					for _, p := range points {
						if room > 0 && p.rid > after && s.contains(p) {
							met[p]++
							room--
							next = from.Reach(spans, i, p.rid, 0)
						}
					}
				}
				if room > 0 {
					return
				}
				text = next.Append([]byte{})
			}
		}
		walk(SourceKeyRange{}, nil, 3)
		for _, p := range points {
			if met[p] != 1 {
				t.Fatalf("seed %d: %v was met %d times", seed, p, met[p])
			}
		}
	}
}

func TestProgressCovers(t *testing.T) {
	b := func(s string) []byte { return []byte(s) }
	p := Begin([]SourceKeyRange{{b("c"), b("f")}, {b("f"), b("k")}})
	for _, c := range []struct {
		spans []SourceKeyRange
		ok    bool
	}{
		{[]SourceKeyRange{{b("c"), b("k")}}, true}, {[]SourceKeyRange{{b("d"), b("e")}, {b("e"), b("f")}},
			true},
		{nil, false},
		{[]SourceKeyRange{{b("b"), b("k")}}, false}, {[]SourceKeyRange{{b("c"), b("l")}}, false},
		{[]SourceKeyRange{{b("c"), nil}},
			false}, {[]SourceKeyRange{{nil, b("d")}}, false},
		{[]SourceKeyRange{{b("z"), b("z")}}, true}, // nothing
	} {
		if p.Covers(c.spans) != c.ok {
			t.Errorf("%q: %v", c.spans, !c.ok)
		}
	}
}

// FuzzProgress parses any bytes as a MultiSourceReadProgress. A progress that can be parsed must be the same
// after it is encoded and parsed again.
func FuzzProgress(f *testing.F) {
	spans := cut([]byte{20, 30})
	p := Begin(spans).Reach(spans, 1, 77, 2)
	f.Add(p.Append(nil))
	f.Add(p.Reach(cut([]byte{20, 25, 30}), 1, 80, 0).Append(nil))
	f.Add([]byte{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, rest, ok := ParseProgress(b)
		if !ok {
			return
		}
		again, none, ok := ParseProgress(p.Append(nil))
		if !ok || len(none) > 0 || fmt.Sprint(again) != fmt.Sprint(p) || len(rest) > len(b) {
			t.Errorf("%x was read as %v, then as %v", b, p, again)
		}
		for i := range spans {
			rid, _, left := p.At(spans[i])
			if left != (rid != finished) {
				t.Errorf("%v in %v: %d, %v", spans[i], p, rid, left)
			}
			p.Reach(spans, i, 1, 0)
		}
	})
}
