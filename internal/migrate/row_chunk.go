package migrate

import (
	"bytes"
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/host"
)

// keyValue is a row of an engine: a key and its value.
type keyValue struct{ key, value []byte }

// rowChunk is the rows of the source with keys in [start, end); a nil end means no upper bound.
type rowChunk struct {
	start, end []byte
	rows       []keyValue
	bytes      int

	// sets and deletes are the writes that would make the target equal to the source in this range of
	// keys.
	sets    []keyValue
	deletes [][]byte
}

func (c *rowChunk) differences() int { return len(c.sets) + len(c.deletes) }

// read reads the next chunk of the source in one View.
func (m *EngineMigration) read(ctx context.Context, from []byte) (*rowChunk, error) {
	c := &rowChunk{}
	err := m.o.Source.View(ctx, func(r engine.Reader) (err error) {
		*c = rowChunk{start: from}
		it := engine.Expect(r.Scan(engine.Range{Start: from}, false), chunkKeys)
		defer func() {
			if cerr := it.Close(); err == nil {
				err = cerr
			}
		}()
		for it.Next() {
			if len(c.rows) == chunkKeys || c.bytes >= chunkBytes {
				c.end = bytes.Clone(it.Key())
				return nil
			}
			if !bytes.Equal(it.Key(), host.HeadKey()) {
				c.rows = append(c.rows, keyValue{bytes.Clone(it.Key()), bytes.Clone(it.Value())})
				c.bytes += len(it.Key()) + len(it.Value())
			}
		}
		return nil
	})
	return c, err
}

// identical reports whether the values of a key have the same bytes. The passes that copy the source use it
// to find the rows in which the target differs.
func identical(_, source, target []byte) bool { return bytes.Equal(source, target) }

// equivalent reports whether two values of a key mean the same, for Compare. They are equal, or they are
// ceilings of LSNs (a scope issues only LSNs below its stored ceiling) and the target's is not lower: the
// source lowers its ceilings to the next LSNs when it is closed.
func equivalent(key, source, target []byte) bool {
	if bytes.Equal(source, target) {
		return true
	}
	if !bytes.HasSuffix(key, engine.CeilingKey(nil)) {
		return false
	}
	below, err := engine.ParseCeiling(source)
	above, err2 := engine.ParseCeiling(target)
	return err == nil && err2 == nil && below <= above
}

// compare sets the fields sets and deletes of the chunk to the writes that would make the target equal to it.
// same decides whether two values of a key are equal.
func (m *EngineMigration) compare(ctx context.Context, c *rowChunk, same func(key, source,
	target []byte) bool) error {
	return m.o.Target.View(ctx, func(r engine.Reader) (err error) {
		c.sets, c.deletes = nil, nil
		it := engine.Expect(r.Scan(engine.Range{Start: c.start, End: c.end}, false), len(c.rows)+1)
		defer func() {
			if cerr := it.Close(); err == nil {
				err = cerr
			}
		}()
		rows := c.rows
		for n := 0; it.Next(); n++ {
			if n%chunkKeys == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			for len(rows) > 0 && bytes.Compare(rows[0].key, it.Key()) < 0 {
				c.sets, rows = append(c.sets, rows[0]), rows[1:]
			}
			switch {
			case len(rows) > 0 && bytes.Equal(rows[0].key, it.Key()):
				if !same(rows[0].key, rows[0].value, it.Value()) {
					c.sets = append(c.sets, rows[0])
				}
				rows = rows[1:]
			case !bytes.Equal(it.Key(), host.HeadKey()):
				c.deletes = append(c.deletes, bytes.Clone(it.Key()))
			}
		}
		c.sets = append(c.sets, rows...)
		return nil
	})
}

// writeRound compares chunks with the target and writes the differences, in parallel. It returns the number
// of keys that it has written.
func (m *EngineMigration) writeRound(ctx context.Context, round []*rowChunk) (uint64, error) {
	g, ctx := errgroup.WithContext(ctx)
	for i, c := range round {
		g.Go(func() error {
			if err := m.compare(ctx, c, identical); err != nil {
				return err
			}
			return m.write(ctx, i, c.sets, c.deletes)
		})
	}
	if err := g.Wait(); err != nil {
		return 0, err
	}
	written := 0
	for _, c := range round {
		written += c.differences()
	}
	return uint64(written), nil
}

// deletesOnce is the maximum number of keys that one transaction deletes.
const deletesOnce = 10_000

// write sets and deletes keys of the target in transactions of one worker.
func (m *EngineMigration) write(ctx context.Context, worker int, sets []keyValue, deletes [][]byte) error {
	for len(sets)+len(deletes) > 0 {
		n := min(len(deletes), deletesOnce)
		_, err := m.o.Target.Update(ctx, [][]byte{m.scopes[worker]}, func(t engine.Txn) error {
			t.Enlarge()
			for _, r := range sets {
				t.Set(r.key, r.value)
			}
			for _, k := range deletes[:n] {
				t.Delete(k)
			}
			return nil
		})
		if err != nil {
			return err
		}
		m.written.Add(uint64(len(sets) + n))
		sets, deletes = nil, deletes[n:]
	}
	return nil
}

// copyKeys copies these keys of the source to the target, and deletes those that the source does not have.
func (m *EngineMigration) copyKeys(ctx context.Context, keys [][]byte) error {
	var sets []keyValue
	var deletes [][]byte
	err := m.o.Source.View(ctx, func(r engine.Reader) error {
		sets, deletes = nil, nil
		return engine.GetEach(r, keys, func(i int, value []byte) (bool, error) {
			if value == nil {
				deletes = append(deletes, keys[i])
			} else {
				sets = append(sets, keyValue{keys[i], bytes.Clone(value)})
			}
			return true, nil
		})
	})
	for err == nil && len(sets) > 0 {
		n, size := 0, 0
		for ; n < len(sets) && size < chunkBytes; n++ {
			size += len(sets[n].key) + len(sets[n].value)
		}
		err = m.write(ctx, 0, sets[:n], nil)
		sets = sets[n:]
	}
	if err != nil {
		return err
	}
	return m.write(ctx, 0, nil, deletes)
}
