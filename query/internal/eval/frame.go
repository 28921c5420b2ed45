package eval

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/internal/source"
	"github.com/mayflydb/mayfly/query/spill"
)

// Env is what queries need besides documents.
type Env struct {
	// Now is what GetCurrentDateTime and its kin say where there is no Clock.
	Now time.Time
	// Clock is asked by them once for each document: so they differ from row to row, as far as the clock goes
	// on meanwhile.
	Clock  func() time.Time
	Static time.Time      // what their Static forms say: the same on all pages; Now where it is zero
	Random func() float64 // what RAND says: in [0, 1); always 0 where it is nil
	// UDF calls a function that the container holds. Its error ends the query; where it is nil, no function
	// exists.
	UDF func(name string, args []jsondoc.Value) (jsondoc.Value, error)
	// Elapsed reports how long the request has taken, by a clock that nobody sets. Without it a page does not
	// end by time, no times are measured, and the context alone ends a run that takes too long.
	Elapsed func() time.Duration
	// Limit is of Elapsed: beyond it the run is given up with a *TimeError; 0 stands for DefaultLimit. Like
	// the end of the context it is looked at inside of rows and functions too.
	Limit time.Duration
	// MaxHeld is how many bytes a run may keep to sort, group and tell rows apart, beyond which it fails with
	// a *MemoryError; 0: 64 MB.
	MaxHeld int
	// Hold is asked for bytes before a run keeps more than a little; false ends it with a *BusyError. What it
	// has given is the run's until Run returns. Where it is nil, MaxHeld alone counts.
	Hold func(n int) bool
	// Temp takes what does not fit in MaxHeld; nil: then the run fails with a *MemoryError.
	Temp *spill.Dir
	// Turn is called now and then: it may make the run wait until others have had their turn. Its error ends
	// the run; where it is nil, nobody waits.
	Turn func(context.Context) error
}

// NewEnv returns the surroundings of a run by a clock, which gives the moment at which the run begins as
// well,
// with RAND by chance. elapsed is Env.Elapsed and may be nil. All other members are the caller's to set: the
// limits of time and memory, the functions of the container, and how the run shares the machine.
func NewEnv(clock func() time.Time, elapsed func() time.Duration) Env {
	utc := func() time.Time { return clock().UTC() }
	return Env{Now: utc(), Clock: utc, Random: rand.Float64, Elapsed: elapsed}
}

// Run is what one run of a query shares: the first error ends it, wherever its meter is looked at next.
type Run struct {
	lang.Call
	Env   Env
	given []jsondoc.Value // of the parameters
	Udfs  int
}

// Layout says what the frames and the runs of a compiled query have room for.
type Layout struct {
	Slots  int // of values that aliases are bound to
	Aggs   int
	Keys   int             // of GROUP BY
	Given  []jsondoc.Value // of the parameters
	Planar bool            // geometries lie in a plane, not on the globe
}

// NewRun begins a run. Fields of env that are zero get their defaults.
func NewRun(ctx context.Context, l Layout, env Env) *Run {
	if env.Static.IsZero() {
		env.Static = env.Now
	}
	if env.Random == nil {
		env.Random = func() float64 { return 0 }
	}
	if env.Limit <= 0 {
		env.Limit = lang.DefaultLimit
	}
	if env.MaxHeld <= 0 || env.MaxHeld > lang.MaxHeld {
		env.MaxHeld = lang.MaxHeld
	}
	return &Run{Env: env, given: l.Given, Call: lang.Call{
		Meter: lang.Meter{Ctx: ctx, Elapsed: env.Elapsed, Limit: env.Limit, Left: lang.LookEvery,
			Turn: env.Turn,
			Most: env.MaxHeld, NoTemp: env.Temp == nil,
			Ask: env.Hold, Asked: lang.HeldFree},
		Now: env.Now, Clock: env.Clock, Stale: true, Static: env.Static, Random: env.Random, Planar: l.Planar,
	}}
}

// row counts a row of a source: one document can have any number of them. It is false where the run has
// ended.
func (r *Run) row() bool { return r.Spend(lang.RowWork) }

// Frame is where compiled expressions find their values: the item, what the aliases are bound to, and the
// results of a group. Values are views on the item's text and good for as long as that is.
type Frame struct {
	Item  source.Document
	Body  []byte
	whole jsondoc.Value // the item with its system properties; undefined as long as nobody asked
	slots []jsondoc.Value
	aggs  []jsondoc.Value // by the id of the aggregate
	keys  []jsondoc.Value // of groups, by number
	Run   *Run
	key   []byte // scratch
}

// NewFrame returns a frame with the room that a layout asks for.
func NewFrame(r *Run, l Layout) *Frame {
	return &Frame{Run: r, slots: make([]jsondoc.Value, l.Slots), aggs: make([]jsondoc.Value, l.Aggs),
		keys: make([]jsondoc.Value, l.Keys)}
}

// Enter makes an item the one that expressions see.
func (f *Frame) Enter(d source.Document) {
	f.Item, f.Body, f.whole = d, d.Body(), jsondoc.Value{}
	f.Run.Call.Stale = true
}

// document returns the item as SELECT * shows it.
func (f *Frame) document() jsondoc.Value {
	if f.whole.Kind() == jsondoc.Undefined && f.Item != nil {
		f.whole = jsondoc.Of(f.appendItem(make([]byte, 0, len(f.Body)+256)))
	}
	return f.whole
}

// appendItem appends the text of the item as SELECT * shows it.
func (f *Frame) appendItem(dst []byte) []byte {
	if _, ok := f.Item.(source.Complete); ok {
		return append(dst, f.Body...)
	}
	return f.Item.System().Append(dst, f.Body)
}

// system returns a system property of the item.
func (f *Frame) system(name string) jsondoc.Value {
	if f.Item == nil { // a computed property on bare text
		return jsondoc.Value{}
	}
	if name == "_ts" {
		if t, ok := f.Item.(source.Timestamped); ok {
			return jsondoc.NumberValue(float64(t.TS()))
		}
	}
	if _, ok := f.Item.(source.Complete); ok {
		return jsondoc.Of(f.Body).Member(name)
	}
	s := f.Item.System()
	switch name {
	case "_rid":
		return jsondoc.StringValue(s.RID)
	case "_self":
		return jsondoc.StringValue(s.Self)
	case "_etag":
		return jsondoc.StringValue(s.ETag)
	case "_attachments":
		return jsondoc.StringValue("attachments/")
	case "_lsn":
		if s.LSN == 0 {
			return jsondoc.Value{}
		}
		return jsondoc.NumberValue(float64(s.LSN))
	}
	return jsondoc.NumberValue(float64(s.TS))
}
