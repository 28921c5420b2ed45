package query

import (
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/cursor"
	"github.com/mayflydb/mayfly/query/internal/eval"
	"github.com/mayflydb/mayfly/query/internal/exec"
	"github.com/mayflydb/mayfly/query/internal/gateway"
	"github.com/mayflydb/mayfly/query/internal/lang"
	"github.com/mayflydb/mayfly/query/internal/plan"
	"github.com/mayflydb/mayfly/query/internal/queryerror"
	"github.com/mayflydb/mayfly/query/internal/source"
)

// The types of errors that parsing, planning or running a query can return, and the format of their texts.
type (
	MemoryUnavailableError = queryerror.MemoryUnavailableError
	CursorError            = queryerror.CursorError
	Error                  = queryerror.Error
	MemoryError            = queryerror.MemoryError
	ErrorFormat            = queryerror.ErrorFormat
	TimeLimitError         = queryerror.TimeLimitError
)

const (
	// Unplaced is the format of error messages without positions in the query: {"Errors":["..."]}.
	Unplaced = queryerror.Unplaced
)

// The interfaces of a Source, by which a query reads a partition range.
type (
	DeadDocumentLister          = source.DeadDocumentLister
	DocumentCounter             = source.DocumentCounter
	Document                    = source.Document
	DocumentIterator            = source.DocumentIterator
	ContainerWideDocumentFinder = source.ContainerWideDocumentFinder
	ScopePartitionKeyReporter   = source.ScopePartitionKeyReporter
	PostingIterator             = source.PostingIterator
	Prefetcher                  = source.Prefetcher
	SeekableIndexEntryIterator  = source.SeekableIndexEntryIterator
	DocumentsWithoutPathLister  = source.DocumentsWithoutPathLister
	SkippedRIDReporter          = source.SkippedRIDReporter
	DocumentSource              = source.DocumentSource
	IndexEntryIterator          = source.IndexEntryIterator
	IndexEntryReader            = source.IndexEntryReader
	DocumentSetVersionReporter  = source.DocumentSetVersionReporter

	IndexEntryCounter    = source.IndexEntryCounter
	InsertCountEstimator = source.InsertCountEstimator
)

// The error of a regular expression that exceeds its time limit.
type (
	RegexTimeoutError = lang.RegexTimeoutError
)

const (
	// DefaultLimit is the time limit of a run if Env.Limit is not set.
	DefaultLimit = lang.DefaultLimit
)

// The position of a query that reads several sources one after the other, and the span of partition keys of
// a source.
type (
	MultiSourceReadProgress = cursor.MultiSourceReadProgress
	SourceKeyRange          = cursor.SourceKeyRange
)

// What Prepare needs besides the text of the query.
type (
	ComputedProperty = bind.ComputedProperty
	ContainerInfo    = bind.ContainerInfo
	Parameter        = bind.Parameter
)

// What a run of a query needs from its caller (clock, limits, functions), and a value that ORDER BY sorts
// by.
type (
	Env          = eval.Env
	OrderByValue = eval.OrderByValue
)

// Which indexes a query uses, and which would be useful.
type (
	UsedAndPotentialIndexes = plan.UsedAndPotentialIndexes
)

// The arguments and results of running a query, from package exec.
type (
	PatchCondition       = exec.PatchCondition
	PageStateStore       = exec.PageStateStore
	Page                 = exec.Page
	StateBetweenPages    = exec.StateBetweenPages
	OrderByStartPosition = exec.OrderByStartPosition
	RunOptions           = exec.RunOptions
	Stats                = exec.Stats
	CallerProvidedObject = exec.CallerProvidedObject
)

const (
	// DefaultBudget is the time limit of a page if RunOptions.Budget is not set.
	DefaultBudget = exec.DefaultBudget
)

// The plans of clients that merge the results of partition ranges.
type (
	GatewayOptions             = gateway.GatewayOptions
	GatewayPlan                = gateway.GatewayPlan
	EffectivePartitionKeyRange = gateway.EffectivePartitionKeyRange
	MissingClientFeaturesError = gateway.MissingClientFeaturesError
)
