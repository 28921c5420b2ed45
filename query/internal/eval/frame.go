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

// Env is the environment of a query: everything that it needs besides documents.
type Env struct {
	// Now is the result of GetCurrentDateTime and related functions if Clock is nil.
	Now time.Time
	// Clock is called once for each document, for the result of GetCurrentDateTime and related functions,
	// so that the time can differ from row to row. If it is nil, their result is Now.
	Clock func() time.Time
	// Static is the time that GetCurrentDateTimeStatic and the other Static functions return, the same on
	// all pages of a query. If it is zero, they return Now.
	Static time.Time
	Random func() float64 // result of RAND, in [0, 1); nil: always 0
	// UDF calls a user defined function of the container. An error of it ends the query. If UDF is nil, the
	// container has no such functions.
	UDF func(name string, args []jsondoc.Value) (jsondoc.Value, error)
	// Elapsed returns how long the request has taken, measured by a monotonic clock. If it is nil, no times
	// are measured, pages do not end early because of time, and only the context ends a run that takes too
	// long.
	Elapsed func() time.Duration
	// Limit is the value of Elapsed at which the run fails with a *TimeLimitError; 0: DefaultLimit. It is
	// checked where the context is checked, also while a row is made and inside functions.
	Limit time.Duration
	// MaxHeld is the number of bytes that a run may keep in memory for sorting, grouping and DISTINCT. If it
	// needs more, it fails with a *MemoryError. 0: 64 MB.
	MaxHeld int
	// Hold is called with a number of bytes before a run keeps that much additional memory, unless it is
	// little. If Hold returns false, the run ends with a *MemoryUnavailableError. The memory belongs to the
	// run until Run returns. If Hold is nil, only MaxHeld limits the memory.
	Hold func(n int) bool
	// Temp stores data beyond MaxHeld in files; nil: the run fails with a *MemoryError.
	Temp *spill.TempDir
	// Turn is called at intervals. It may block to let other runs proceed. An error of it ends the run. If
	// Turn is nil, the run never waits for others.
	Turn func(context.Context) error
}

// NewEnv returns the environment of a run. The first call of clock gives the time at which the run begins.
// RAND is random. elapsed becomes Env.Elapsed and may be nil. The caller sets all other members: the limits
// of time and memory, the functions of the container, and how the run shares the machine with others.
func NewEnv(clock func() time.Time, elapsed func() time.Duration) Env {
	utc := func() time.Time { return clock().UTC() }
	return Env{Now: utc(), Clock: utc, Random: rand.Float64, Elapsed: elapsed}
}

// QueryRunState is the state that all frames of one run of a query share. After its first error, the run ends
// at the next check of its limits.
type QueryRunState struct {
	lang.CallContext
	Env    Env
	params []jsondoc.Value // values of the parameters
	Udfs   int
}

// FrameSettings holds what the frames of a compiled query are made with: their sizes, the values of the
// query's parameters, and the kind of its geometries.
type FrameSettings struct {
	Slots  int // number of values that aliases are bound to
	Aggs   int
	Keys   int             // number of GROUP BY keys
	Params []jsondoc.Value // values of the parameters
	Planar bool            // geometries are in a plane, not on the globe
}

// NewRun begins a run. Zero fields of env get their defaults.
func NewRun(ctx context.Context, l FrameSettings, env Env) *QueryRunState {
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
	return &QueryRunState{Env: env, params: l.Params, CallContext: lang.CallContext{
		ResourceLimiter: lang.ResourceLimiter{Ctx: ctx, Elapsed: env.Elapsed, Limit: env.Limit, Left: lang.LookEvery,
			Turn: env.Turn,
			Most: env.MaxHeld, NoTemp: env.Temp == nil,
			Request: env.Hold, Granted: lang.HeldFree},
		Now: env.Now, Clock: env.Clock, Stale: true, Static: env.Static, Random: env.Random, Planar: l.Planar,
	}}
}

// row counts one row of a source; a document can have any number of them. It returns false if the run has
// ended.
func (r *QueryRunState) row() bool { return r.Spend(lang.RowWork) }

// Frame holds the values that compiled expressions read: the current document (the item), the values of
// aliases for the current row, and the results of the current group. "To set the frame to a document, or to a
// row" means to store its values there, so that expressions are computed for it. Values share the memory of
// the item's text and are valid as long as the text is.
type Frame struct {
	Item     source.Document
	Body     []byte
	rendered jsondoc.Value // the item with its system properties; undefined until it is needed
	slots    []jsondoc.Value
	aggs     []jsondoc.Value // by aggregate id
	keys     []jsondoc.Value // of the group, by number
	Run      *QueryRunState
	key      []byte // scratch
}

// NewFrame returns a frame with room for the aliases, aggregates and GROUP BY keys of a compiled query.
func NewFrame(r *QueryRunState, l FrameSettings) *Frame {
	return &Frame{Run: r, slots: make([]jsondoc.Value, l.Slots), aggs: make([]jsondoc.Value, l.Aggs),
		keys: make([]jsondoc.Value, l.Keys)}
}

// Enter makes d the current document of the frame. The values of aliases are unchanged.
func (f *Frame) Enter(d source.Document) {
	f.Item, f.Body, f.rendered = d, d.Body(), jsondoc.Value{}
	f.Run.CallContext.Stale = true
}

// document returns the current document with its system properties, as SELECT * returns it.
func (f *Frame) document() jsondoc.Value {
	if f.rendered.Kind() == jsondoc.Undefined && f.Item != nil {
		f.rendered = jsondoc.Of(f.appendItem(make([]byte, 0, len(f.Body)+256)))
	}
	return f.rendered
}

// appendItem appends the text of the current document with its system properties, as SELECT * returns it.
func (f *Frame) appendItem(dst []byte) []byte {
	if _, ok := f.Item.(source.DocumentIncludingSystemProperties); ok {
		return append(dst, f.Body...)
	}
	if a, ok := f.Item.(source.DocumentTextAppender); ok {
		return a.AppendTo(dst)
	}
	return f.Item.System().Append(dst, f.Body)
}

// system returns a system property of the item.
func (f *Frame) system(name string) jsondoc.Value {
	if f.Item == nil { // the computed property is evaluated on a text without a stored item
		return jsondoc.Value{}
	}
	if name == "_ts" {
		if t, ok := f.Item.(source.TimestampedDocument); ok {
			return jsondoc.NumberValue(float64(t.TS()))
		}
	}
	if _, ok := f.Item.(source.DocumentIncludingSystemProperties); ok {
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
