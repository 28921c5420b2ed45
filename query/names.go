package query

import (
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/cursor"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/exec"
	"github.com/mayflydb/mayfly/query/internal/fault"
	"github.com/mayflydb/mayfly/query/internal/gateway"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/internal/plan"
	"github.com/mayflydb/mayfly/query/internal/source"
)

// The errors of queries.
type (
	BusyError   = fault.BusyError
	CursorError = fault.CursorError
	Error       = fault.Error
	MemoryError = fault.MemoryError
	Style       = fault.Style
	TimeError   = fault.TimeError
)

const (
	// Unplaced is the style of errors without places.
	Unplaced = fault.Unplaced
)

// The interfaces of a Source, by which a query reads a partition range.
type (
	Census      = source.Census
	Counter     = source.Counter
	Document    = source.Document
	Documents   = source.Documents
	Finder      = source.Finder
	Partitioned = source.Partitioned
	Postings    = source.Postings
	Prefetcher  = source.Prefetcher
	Seeker      = source.Seeker
	Shapes      = source.Shapes
	Skipping    = source.Skipping
	Source      = source.Source
	Terms       = source.Terms
	Values      = source.Values
	Versioned   = source.Versioned
)

// The error of a regular expression that takes too long.
type (
	MatchError = lang.MatchError
)

const (
	// DefaultLimit is how long a run may take where Env.Limit does not say.
	DefaultLimit = lang.DefaultLimit
)

// The position of a query over several sources.
type (
	Progress = cursor.Progress
	Span     = cursor.Span
)

// The arguments of Prepare.
type (
	Computed  = bind.Computed
	Info      = bind.Info
	Parameter = bind.Parameter
)

// The surroundings of a run, and what rows are ordered by.
type (
	Env        = eval.Env
	OrderValue = eval.OrderValue
)

// The use of indexes.
type (
	IndexUse = plan.IndexUse
)

// The arguments and results of a run.
type (
	Condition  = exec.Condition
	Memory     = exec.Memory
	Page       = exec.Page
	PageState  = exec.PageState
	Resume     = exec.Resume
	RunOptions = exec.RunOptions
	Stats      = exec.Stats
	Value      = exec.Value
)

const (
	// DefaultBudget is how long a page takes at most where RunOptions.Budget does not say.
	DefaultBudget = exec.DefaultBudget
)

// The plans of clients that merge the results of partition ranges.
type (
	GatewayOptions   = gateway.GatewayOptions
	GatewayPlan      = gateway.GatewayPlan
	KeyRange         = gateway.KeyRange
	UnsupportedError = gateway.UnsupportedError
)
