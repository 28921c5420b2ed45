package store

import (
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/feed"
	"github.com/mayflydb/mayfly/store/internal/lint"
	"github.com/mayflydb/mayfly/store/internal/record"
	"github.com/mayflydb/mayfly/store/internal/resource"
	"github.com/mayflydb/mayfly/store/internal/value"
	"github.com/mayflydb/mayfly/store/internal/work"
)

// ThrottledError is the cause of an error with fault.CodeThrottled.
type ThrottledError = fault.ThrottledError

// Memory is the one budget of bytes that the requests under way hold together.
type Memory = work.Memory

// DefaultMemory is the number of bytes that requests may hold together where Options.Memory is 0.
const DefaultMemory = work.DefaultMemory

// NewMemory returns a budget of so many bytes, 0 for DefaultMemory, and of at most a quarter of GOMEMLIMIT.
func NewMemory(most int64) *Memory { return work.NewMemory(most) }

// The settings of a container that are Mayfly's own: see package definition.
type (
	ContainerSettings = definition.ContainerSettings
	OnExpire          = definition.OnExpire
	ExpiryEvents      = definition.ExpiryEvents
	Webhook           = definition.Webhook
	ReaperSettings    = definition.ReaperSettings
	PurgeDelay        = definition.PurgeDelay
	Starvation        = definition.Starvation
)

// Bounds of the settings.
const (
	MinIdle               = definition.MinIdle
	MaxMoves              = definition.MaxMoves
	DefaultEventRetention = definition.DefaultEventRetention
	MaxEventRetention     = definition.MaxEventRetention
	MaxWebhooks           = definition.MaxWebhooks
	MaxPurgeDelay         = definition.MaxPurgeDelay
)

// Item is one version of a stored document.
type Item = value.Item

// What operations take and give.
type (
	Key             = value.Key
	Scope           = value.Scope
	ListOptions     = value.ListOptions
	ReadOptions     = value.ReadOptions
	WriteOptions    = value.WriteOptions
	ImportOptions   = value.ImportOptions
	Receipt         = value.Receipt
	SessionPosition = value.SessionPosition
)

// ParseImport divides a document that says itself how old it is: see value.ParseImport.
func ParseImport(body []byte) (document []byte, o ImportOptions, err error) {
	return value.ParseImport(body)
}

// Operations and queries, and what became of them.
type (
	Operation       = value.Operation
	OperationKind   = value.OperationKind
	OperationResult = value.OperationResult
	Patch           = value.Patch
	QueryRequest    = value.QueryRequest
	QueryPage       = value.QueryPage
	CrossPartition  = value.CrossPartition
	Parameter       = value.Parameter
	OrderValue      = value.OrderValue
	Resume          = value.Resume
)

// The kinds of operations, and how far a query may reach.
const (
	OperationCreate  = value.OperationCreate
	OperationUpsert  = value.OperationUpsert
	OperationRead    = value.OperationRead
	OperationReplace = value.OperationReplace
	OperationDelete  = value.OperationDelete
	OperationPatch   = value.OperationPatch

	CrossServe  = value.CrossServe
	CrossStream = value.CrossStream
	CrossRefuse = value.CrossRefuse
)

// The sizes of pages.
const (
	MaxPageItems = value.MaxPageItems // of a page whose client leaves the number to the server
	MaxPageBytes = value.MaxPageBytes // a page that has so many is closed: one more item may follow
)

// PageLimit is how many items a page has at most, of which a client has asked for so many: see
// ListOptions.MaxItems.
func PageLimit(asked int) int { return value.PageLimit(asked) }

// Change feeds and the log of expiries.
type (
	Change          = feed.Change
	ChangeMode      = feed.Mode
	ChangeKind      = feed.Kind
	ChangesStart    = feed.Start
	ChangesPage     = feed.Page
	Expiration      = feed.Expiration
	ExpirationsPage = feed.LogPage
)

// The modes of a change feed, and the kinds of changes.
const (
	LatestVersions = feed.LatestVersions
	AllVersions    = feed.AllVersions

	ChangeLatest  = feed.Latest
	ChangeCreate  = feed.Create
	ChangeReplace = feed.Replace
	ChangeDelete  = feed.Delete
	ChangeExpire  = feed.Expire
)

// LintCount is how often a rule was broken by writes since Open, LintCase the last of them.
type (
	LintCount = lint.Count
	LintCase  = lint.Case
)

// Resource is one state of a small resource, Resources the children of one kind of one owner.
type (
	Resource  = resource.Resource
	Resources = resource.Resources
	Grant     = resource.Grant // what a permission gives
)

// ResourceKind is a kind of small resource.
type ResourceKind = record.ResourceKind

// The kinds, and whose children they are.
const (
	KindUser            = record.KindUser            // of a database
	KindPermission      = record.KindPermission      // of a user
	KindEncryptionKey   = record.KindEncryptionKey   // of a database
	KindStoredProcedure = record.KindStoredProcedure // of a container
	KindTrigger         = record.KindTrigger         // of a container
	KindFunction        = record.KindFunction        // of a container: a user defined function
)

// ChargeOfEntries is the charge in RU of writing or removing so many index entries.
func ChargeOfEntries(n int) float64 { return value.ChargeTerms(n) }
