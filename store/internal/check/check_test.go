package check_test

import (
	"fmt"
	"testing"

	"github.com/mayflydb/mayfly/engine"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/internal/check"
	"github.com/mayflydb/mayfly/store/internal/layout"
	"github.com/mayflydb/mayfly/store/internal/viewtest"
	"github.com/mayflydb/mayfly/ttl"
)

// filled returns a container with three items: one inherits the default time to live, one has its own, and
// one never expires.
func filled(t *testing.T) *viewtest.Container {
	t.Helper()
	c := viewtest.New(t, 3600)
	c.Put(`{"id":"1","pk":"a","code":1,"n":[1,2]}`, 10, ttl.Absent)
	c.Put(`{"id":"2","pk":"a","code":2,"ttl":60}`, 10, 60)
	c.Put(`{"id":"3","pk":"b","code":3,"ttl":-1}`, 10, ttl.Never)
	return c
}

// violations returns the violations that Container reports for c.
func violations(t *testing.T, c *viewtest.Container) (found []error) {
	t.Helper()
	c.View(func(r engine.Reader) error {
		more, err := check.Container(c.State, jsondoc.Limits{}, r, func(v error) bool {
			found = append(found, v)
			return true
		})
		if !more {
			t.Error("it stopped")
		}
		return err
	})
	return found
}

// TestMissingKeys checks that Container reports nothing for a correct container, and a violation if any
// one of its keys is removed.
func TestMissingKeys(t *testing.T) {
	c := filled(t)
	if found := violations(t, c); len(found) > 0 {
		t.Fatalf("a whole container: %v", found)
	}
	keys := c.Keys()
	if len(keys) < 20 {
		t.Fatalf("%d keys", len(keys))
	}
	for _, key := range keys {
		var value []byte
		c.Update(func(t engine.Txn) error {
			v, err := t.Get(key)
			value = append([]byte{}, v...)
			t.Delete(key)
			return err
		})
		if len(violations(t, c)) == 0 {
			t.Errorf("nobody misses the key %x", key)
		}
		c.Update(func(t engine.Txn) error {
			t.Set(key, value)
			return nil
		})
	}
	if found := violations(t, c); len(found) > 0 {
		t.Errorf("whole again: %v", found)
	}
}

// TestUnreferencedKeys checks that Container reports a key that belongs to no item, in every family (kind of
// key).
func TestUnreferencedKeys(t *testing.T) {
	for _, family := range []byte{layout.FamilyItem, layout.FamilyFeed, layout.FamilyWritten,
		layout.FamilyDeadline, 'i', 'o'} {
		c := filled(t)
		c.Update(func(t engine.Txn) error {
			key := layout.AppendScopeKey(nil, c.Scope(), family, 1<<40)
			if family == layout.FamilyWritten || family == layout.FamilyDeadline {
				key = layout.AppendTimeKey(nil, c.Scope(), family, viewtest.Now, 1<<40)
			}
			t.Set(key, []byte("x"))
			return nil
		})
		if len(violations(t, c)) == 0 {
			t.Errorf("nobody sees a stranger in family %c", family)
		}
	}
	for _, family := range []byte{layout.FamilyPoint, layout.FamilyPartition, layout.FamilyUnique} {
		c := filled(t)
		c.Update(func(t engine.Txn) error {
			key := append(layout.ContainerFamily(c.State.Keys.CID, family).Start, "01234567"...)
			t.Set(key, []byte("01234567"))
			return nil
		})
		if len(violations(t, c)) == 0 {
			t.Errorf("nobody sees a stranger in family %c", family)
		}
	}
}

// TestReportStopsCheck checks that the function check.Container stops after the first violation for which the
// callback report returns false.
func TestReportStopsCheck(t *testing.T) {
	c := filled(t)
	c.Update(func(t engine.Txn) error {
		t.DeleteRange(layout.ContainerFamily(c.State.Keys.CID, layout.FamilyPoint))
		return nil
	})
	n := 0
	c.View(func(r engine.Reader) error {
		more, err := check.Container(c.State, jsondoc.Limits{}, r, func(error) bool { n++; return false })
		if more || n != 1 {
			t.Errorf("more %v after %d violations", more, n)
		}
		return err
	})
}

// TestOrphans checks that Orphans reports the keys of a container that is not in the catalog, and not those
// of one that is.
func TestOrphans(t *testing.T) {
	c := filled(t)
	for _, known := range []bool{true, false} {
		n := 0
		c.View(func(r engine.Reader) error {
			cids := map[uint32]bool{c.State.Keys.CID: known}
			return check.Orphans(r, cids, func(error) bool { n++; return true })
		})
		if (n == 0) != known {
			t.Errorf("known %v: %d strays", known, n)
		}
	}
}

// readCounter is a Reader that counts the calls of Get and GetMany.
type readCounter struct {
	engine.Reader
	reads int
}

func (r *readCounter) Get(key []byte) ([]byte, error) {
	r.reads++
	return r.Reader.Get(key)
}

func (r *readCounter) GetMany(keys [][]byte) ([][]byte, error) {
	r.reads++
	return r.Reader.GetMany(keys)
}

// TestReadsPerItem checks that Container reads the keys of many items at once: it makes little more
// than one read per item, since each read is a round trip to a remote engine.
func TestReadsPerItem(t *testing.T) {
	c := viewtest.New(t, 3600)
	for n := range 100 {
		c.Put(fmt.Sprintf(`{"id":"%d","pk":"a","code":%d,"n":[1,2]}`, n, n), 10, ttl.Absent)
	}
	c.View(func(r engine.Reader) error {
		counter := &readCounter{Reader: r}
		_, err := check.Container(c.State, jsondoc.Limits{}, counter, func(v error) bool {
			t.Error(v)
			return true
		})
		// One read for each item finds out whether the item's shape has a record.
		if counter.reads > 110 {
			t.Errorf("%d reads for 100 items", counter.reads)
		}
		return err
	})
}
