package query

import (
	"github.com/mayflydb/mayfly/query/internal/fault"
	"github.com/mayflydb/mayfly/query/internal/lang"
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
