package query

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"slices"
	"sort"
	"testing"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/exec"
	"github.com/mayflydb/mayfly/query/internal/source"
)

// fakePartitionRangeSource is a Source, the data of a partition range, whose documents and index entries are
// slices in memory.
type fakePartitionRangeSource struct {
	docs    []*memoryDocument    // by rid
	entries []inMemoryIndexEntry // by key and rid
	opened  int                  // iterators that are not closed
	version string               // empty: it changes all the time
}

type memoryDocument struct {
	rid  uint64
	body []byte
}

type inMemoryIndexEntry struct {
	key, value []byte
	rid        uint64
}

func (d *memoryDocument) RID() uint64  { return d.rid }
func (d *memoryDocument) Body() []byte { return d.body }

func (d *memoryDocument) System() jsondoc.SystemProperties {
	rid := base64.StdEncoding.EncodeToString(binary.LittleEndian.AppendUint64(make([]byte, 8), d.rid))
	return jsondoc.SystemProperties{RID: rid, Self: "dbs/" + rid, ETag: `"e` + rid + `"`,
		TS: 1_700_000_000 + int64(d.rid)}
}

// newPageStateStore returns the given number of in-memory sources, over which the documents in bodies are
// distributed in consecutive runs. x computes the index entries (nil: no index). The rids of the documents
// rise in the order of bodies, from 1.
func newPageStateStore(t testing.TB, x *index.Indexer, bodies [][]byte, sources int) []source.DocumentSource {
	t.Helper()
	list := make([]*fakePartitionRangeSource, sources)
	for i := range list {
		list[i] = &fakePartitionRangeSource{}
	}
	// in runs, so that the order of the whole is that of the documents
	per := (len(bodies) + sources - 1) / sources
	for i, body := range bodies {
		parsed, err := jsondoc.Parse(body, jsondoc.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		list[i/per].add(x, &memoryDocument{uint64(i + 1), parsed.Body})
	}
	result := make([]source.DocumentSource, sources)
	for i, m := range list {
		sort.Slice(m.entries, func(a, b int) bool { return m.entries[a].full() < m.entries[b].full() })
		result[i] = m
	}
	return result
}

func (m *fakePartitionRangeSource) add(x *index.Indexer, d *memoryDocument) {
	m.docs = append(m.docs, d)
	for _, e := range x.Entries(nil, d.body, d.System().TS) {
		m.entries = append(m.entries, inMemoryIndexEntry{e.Key, e.Value, d.rid})
	}
}

func (e *inMemoryIndexEntry) full() string {
	return string(binary.BigEndian.AppendUint64(bytes.Clone(e.key), e.rid))
}

func (m *fakePartitionRangeSource) Scan(after uint64) source.DocumentIterator {
	m.opened++
	return &memoryDocumentIterator{m: m, at: m.find(after+1) - 1}
}

func (m *fakePartitionRangeSource) find(rid uint64) int {
	i, _ := slices.BinarySearchFunc(m.docs, rid,
		func(d *memoryDocument, rid uint64) int { return int(d.rid) - int(rid) })
	return i
}

type memoryDocumentIterator struct {
	m  *fakePartitionRangeSource
	at int
}

func (s *memoryDocumentIterator) Next() bool                { s.at++; return s.at < len(s.m.docs) }
func (s *memoryDocumentIterator) Document() source.Document { return s.m.docs[s.at] }
func (s *memoryDocumentIterator) Err() error                { return nil }
func (s *memoryDocumentIterator) Close() error              { s.m.opened--; return nil }

func (m *fakePartitionRangeSource) Fetch(rid uint64) (source.Document, bool, error) {
	if i := m.find(rid); i < len(m.docs) && m.docs[i].rid == rid {
		return m.docs[i], true, nil
	}
	return nil, false, nil
}

// inMemoryPostingIterator is a posting list in memory.
type inMemoryPostingIterator struct {
	exec.SortedRIDListIterator
	m *fakePartitionRangeSource
}

func (r *inMemoryPostingIterator) Close() error { r.m.opened--; return nil }

func (m *fakePartitionRangeSource) rids(list []uint64) source.PostingIterator {
	m.opened++
	return &inMemoryPostingIterator{exec.SortedRIDListIterator{Rids: list}, m}
}

func (m *fakePartitionRangeSource) Postings(prefix []byte) source.PostingIterator {
	var list []uint64
	for _, e := range m.span(prefix, append(bytes.Clone(prefix), 0xFF)) {
		if bytes.Equal(e.key, prefix) {
			list = append(list, e.rid)
		}
	}
	return m.rids(list)
}

// span returns the index entries whose keys, with the rids appended, lie in [lo, hi). If hi is nil there
// is no upper bound.
func (m *fakePartitionRangeSource) span(lo, hi []byte) []inMemoryIndexEntry {
	from := sort.Search(len(m.entries), func(i int) bool { return m.entries[i].full() >= string(lo) })
	to := sort.Search(len(m.entries), func(i int) bool { return m.entries[i].full() >= string(hi) })
	if hi == nil {
		to = len(m.entries)
	}
	return m.entries[from:max(from, to)]
}

func (m *fakePartitionRangeSource) Value(key []byte, rid uint64) ([]byte, bool, error) {
	for _, e := range m.span(binary.BigEndian.AppendUint64(bytes.Clone(key), rid), nil) {
		return e.value, bytes.Equal(e.key, key) && e.rid == rid, nil
	}
	return nil, false, nil
}

func (m *fakePartitionRangeSource) Terms(lo, hi []byte, reverse bool) source.IndexEntryIterator {
	m.opened++
	list := slices.Clone(m.span(lo, hi))
	if reverse {
		slices.Reverse(list)
	}
	return &inMemoryIndexEntryIterator{m: m, list: list, at: -1}
}

type inMemoryIndexEntryIterator struct {
	m    *fakePartitionRangeSource
	list []inMemoryIndexEntry
	at   int
}

func (t *inMemoryIndexEntryIterator) Next() bool    { t.at++; return t.at < len(t.list) }
func (t *inMemoryIndexEntryIterator) Key() []byte   { return t.list[t.at].key }
func (t *inMemoryIndexEntryIterator) Value() []byte { return t.list[t.at].value }
func (t *inMemoryIndexEntryIterator) RID() uint64   { return t.list[t.at].rid }
func (t *inMemoryIndexEntryIterator) Close() error  { t.m.opened--; return nil }

func (m *fakePartitionRangeSource) Partition() (source.PostingIterator, bool) { return nil, false }

func (m *fakePartitionRangeSource) Count() (int64, bool) { return int64(len(m.docs)), true }

func (m *fakePartitionRangeSource) Lacking(path index.Path, from uint64,
	reverse bool) (source.PostingIterator, bool) {
	names := make([]string, len(path))
	for i, s := range path {
		names[i] = s.Name
	}
	var list []uint64
	for _, d := range m.docs {
		lacks := jsondoc.Get(d.body, jsondoc.PathOf(names...)).Kind() == jsondoc.Undefined && !jsondoc.IsSystem(names[0])
		if lacks && (d.rid == from || (d.rid < from) == reverse) {
			list = append(list, d.rid)
		}
	}
	if reverse {
		slices.Reverse(list)
	}
	return m.rids(list), true
}

func (m *fakePartitionRangeSource) Version() (string, bool, error) {
	return m.version, m.version != "", nil
}

func (m *fakePartitionRangeSource) Dead(int) ([]uint64, bool, error) { return nil, true, nil }

func (t *inMemoryIndexEntryIterator) Seek(key []byte) bool {
	for t.at++; t.at < len(t.list); t.at++ {
		if bytes.Compare(t.list[t.at].key, key) >= 0 {
			return true
		}
	}
	return false
}
