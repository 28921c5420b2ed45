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
	// Unplaced is the style of errors without positions.
	Unplaced = fault.Unplaced
)

// The interfaces of a Source, by which a query reads a partition range.
type (
	DeadDocumentLister = source.DeadDocumentLister
	Counter            = source.Counter
	Document           = source.Document
	Documents          = source.Documents
	DocumentFinder     = source.DocumentFinder
	PartitionedSource  = source.PartitionedSource
	Postings           = source.Postings
	Prefetcher         = source.Prefetcher
	SeekableTerms      = source.SeekableTerms
	MissingPathLister  = source.MissingPathLister
	SkippingDocuments  = source.SkippingDocuments
	Source             = source.Source
	Terms              = source.Terms
	EntryReader        = source.EntryReader
	VersionedSource    = source.VersionedSource

	EntryCounter = source.EntryCounter
)

// The error of a regular expression that exceeds its time limit.
type (
	MatchError = lang.MatchError
)

const (
	// DefaultLimit is the time limit of a run if Env.Limit is not set.
	DefaultLimit = lang.DefaultLimit
)

// The position of a query over several sources.
type (
	Progress = cursor.WalkProgress
	Span     = cursor.Span
)

// The arguments of Prepare.
type (
	Computed  = bind.Computed
	Info      = bind.ContainerInfo
	Parameter = bind.Parameter
)

// The environment of a run, and the values that rows are ordered by.
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
	// DefaultBudget is the time limit of a page if RunOptions.Budget is not set.
	DefaultBudget = exec.DefaultBudget
)

// The plans of clients that merge the results of partition ranges.
type (
	GatewayOptions   = gateway.GatewayOptions
	GatewayPlan      = gateway.GatewayPlan
	KeyRange         = gateway.KeyRange
	UnsupportedError = gateway.UnsupportedError
)
