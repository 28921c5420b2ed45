package exec

import (
	"encoding/binary"

	"github.com/mayflydb/mayfly/query/internal/cursor"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/record"
	"github.com/mayflydb/mayfly/query/internal/source"
	"github.com/mayflydb/mayfly/query/spill"
)

// spilledRows holds rows or groups that a page has stored in temporary files for later pages. They are valid
// as long as the documents of the sources do not change. If they are invalid or lost, a page makes the rows
// again and skips those that were returned, so results never depend on them.
type spilledRows struct {
	asked   uint64
	version string

	groups *eval.SpilledGroupReader // of GROUP BY, in the order of their keys
	rows   *spill.Iterator          // of the blocking form: finished rows
	sorted []*spill.Iterator
}

func (l *spilledRows) held() (n int) {
	for _, it := range l.files() {
		n += it.Held()
	}
	if l.groups != nil {
		n += l.groups.Held
	}
	return n
}

func (l *spilledRows) files() (list []*spill.Iterator) {
	if l.groups != nil && l.groups.It != nil {
		list = append(list, l.groups.It)
	}
	if l.rows != nil {
		list = append(list, l.rows)
	}
	for _, it := range l.sorted {
		if it != nil {
			list = append(list, it)
		}
	}
	return list
}

func (l *spilledRows) close() {
	if l == nil {
		return
	}
	for _, it := range l.files() {
		it.Close()
	}
}

// takeSpilled sets x.spilled to the rows that the previous page stored, if they are still valid.
func (x *Execution) takeSpilled() {
	if x.Opts.Cursor == "" || x.Opts.Memory == nil || x.Run.Env.Temp == nil {
		return
	}
	given := x.Opts.Memory.Take(x.Opts.Cursor)
	if given == nil {
		return
	}
	version, ok := x.version()
	l := given.spilled
	if l == nil || !ok || l.version != version || l.asked != x.Plan.Asked {
		given.Close()
		return
	}
	for _, it := range l.files() {
		it.Use(x.Run.Spend)
	}
	if l.groups != nil {
		x.Run.Use(l.groups.Held, "GROUP BY")
	}
	x.spilled = l
}

// newSpilled starts to store rows of this page for later pages. It returns nil if they cannot be stored, or
// if their validity could not be checked later.
func (x *Execution) newSpilled() *spilledRows {
	if x.Opts.Memory == nil || x.Run.Env.Temp == nil {
		return nil
	}
	version, ok := x.version()
	if !ok {
		return nil
	}
	return &spilledRows{asked: x.Plan.Asked, version: version}
}

// version returns a string that identifies the state of all documents that the query may read. The result is
// false if a source has no such string.
func (x *Execution) version() (string, bool) {
	all := binary.BigEndian.AppendUint64(nil, cursor.SpansHash(x.spans))
	for _, src := range x.sources {
		one, ok := src.(source.DocumentSetVersionReporter)
		if !ok {
			return "", false
		}
		version, ok, err := one.Version()
		if err != nil {
			x.Run.Fail(err)
		}
		if !ok || err != nil {
			return "", false
		}
		all = record.AppendSized(all, []byte(version))
	}
	return string(all), true
}

// eachGroup makes each group the current one and calls fn, until fn returns false. It then stores groups for
// the next page: the group for which fn returned false and all groups after it. It stores them only if g
// holds all groups.
func (x *Execution) eachGroup(g *eval.Grouper, fn func() bool) (more bool) {
	var rest *eval.SpilledGroupReader
	if g.Runs != nil {
		rest = g.Merged()
		defer func() {
			if x.spilled == nil || x.spilled.groups != rest {
				rest.Close()
			}
		}()
		more = x.showGroups(g, rest, fn)
	} else if more = g.Each(fn); !more && x.more && x.Run.Err == nil {
		if l := x.newSpilled(); l != nil && g.Bound == "" {
			if l.groups = x.writeGroups(g); l.groups != nil {
				x.spilled = l
			}
		}
		return more
	}
	if !more && x.more && x.Run.Err == nil && g.Bound == "" {
		if x.spilled = x.newSpilled(); x.spilled != nil {
			x.spilled.groups = rest
		}
	}
	return more
}

// showGroups makes each group in the temporary files the current one and calls fn, until fn returns false.
// The next page then begins with that group.
func (x *Execution) showGroups(g *eval.Grouper, rest *eval.SpilledGroupReader, fn func() bool) bool {
	one := rest.One
	if one == nil {
		one = rest.Next(g)
	}
	for ; one != nil; one = rest.Next(g) {
		if g.LoadResults(one); !fn() {
			return false
		}
	}
	return x.Run.Err == nil
}

// writeGroups writes the groups that g has in memory. If that fails, the next page makes them again.
func (x *Execution) writeGroups(g *eval.Grouper) *eval.SpilledGroupReader {
	sorter := x.Run.Env.Temp.NewSorter(0, x.Run.Spend)
	defer sorter.Close()
	if g.WriteTo(sorter) != nil {
		return nil
	}
	it, err := sorter.Sort()
	if err != nil {
		return nil
	}
	return &eval.SpilledGroupReader{It: it}
}

// moreGroups calls row for the groups that the previous page stored. It returns false if row has returned
// false or the run has failed.
func (x *Execution) moreGroups(g *eval.Grouper, row func() bool) bool {
	more := x.showGroups(g, x.spilled.groups, row)
	if more || !x.more {
		x.spilled.close()
		x.spilled = nil
	}
	return more
}
