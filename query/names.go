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

// What is wrong with a query.
type (
	BusyError   = fault.BusyError
	CursorError = fault.CursorError
	Error       = fault.Error
	MemoryError = fault.MemoryError
	Style       = fault.Style
	TimeError   = fault.TimeError
)

const (
	Unplaced = fault.Unplaced
)

// What a query reads: a Source for each partition range.
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

// The language.
type (
	MatchError = lang.MatchError
)

const (
	DefaultLimit = lang.DefaultLimit
)

// How far a query has come.
type (
	Progress = cursor.Progress
	Span     = cursor.Span
)

// What a query is prepared with.
type (
	Computed  = bind.Computed
	Info      = bind.Info
	Parameter = bind.Parameter
)

// What a run is given.
type (
	Env        = eval.Env
	OrderValue = eval.OrderValue
)

// What a plan says of itself.
type (
	IndexUse = plan.IndexUse
)

// What a run takes and gives.
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
	DefaultBudget = exec.DefaultBudget
)

// The plans of clients that merge.
type (
	GatewayOptions   = gateway.GatewayOptions
	GatewayPlan      = gateway.GatewayPlan
	KeyRange         = gateway.KeyRange
	UnsupportedError = gateway.UnsupportedError
)
