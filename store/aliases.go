package store

import (
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/batch"
	"github.com/mayflydb/mayfly/store/internal/feed"
	"github.com/mayflydb/mayfly/store/internal/lint"
	"github.com/mayflydb/mayfly/store/internal/record"
	"github.com/mayflydb/mayfly/store/internal/resource"
	"github.com/mayflydb/mayfly/store/internal/value"
	"github.com/mayflydb/mayfly/store/internal/work"
)

// ThrottledError is the cause of an error with fault.CodeThrottled.
type ThrottledError = fault.ThrottledError

// MemoryBudget is the budget of bytes that all running requests share.
type MemoryBudget = work.MemoryBudget

// DefaultMemory is the number of bytes that running requests may hold together if Options.Memory is 0.
const DefaultMemory = work.DefaultMemory

// NewMemoryBudget returns a budget of most bytes, or of DefaultMemory bytes if most is 0. The budget is
// capped at a quarter of GOMEMLIMIT.
func NewMemoryBudget(most int64) *MemoryBudget { return work.NewMemory(most) }

// The settings of a container that Cosmos DB does not have: see package definition.
type (
	ContainerSettings   = definition.ContainerSettings
	OnExpireSettings    = definition.OnExpireSettings
	ExpiryEventSettings = definition.ExpiryEventSettings
	WebhookSettings     = definition.Webhook
	ReaperSettings      = definition.ReaperSettings
	PurgeDelay          = definition.PurgeDelay
	PurgeRateLimit      = definition.PurgeRateLimit
)

// Bounds of the ContainerSettings.
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

// The types of the arguments and results of item operations, such as keys, scopes, options and receipts.
type (
	ItemKey                = value.ItemKey
	KeyOrRange             = value.KeyOrRange
	ListOptions            = value.ListOptions
	ReadOptions            = value.ReadOptions
	WriteOptions           = value.WriteOptions
	ImportTimestampOptions = value.ImportTimestampOptions
	OperationReceipt       = value.OperationReceipt
	SessionTokenEntry      = value.SessionTokenEntry
)

// ParseImport splits a document whose properties say when it was written or when it expires ("_ts" or
// "_mayfly") into the document without these properties and the import options that they stand for. The forms
// of the two properties are described at value.ParseImport.
func ParseImport(body []byte) (document []byte, o ImportTimestampOptions, err error) {
	return value.ParseImport(body)
}

// The types of operations on items, of queries, and of the results of both.
type (
	ItemOperation              = value.ItemOperation
	ItemOperationKind          = value.ItemOperationKind
	ItemOperationResult        = value.ItemOperationResult
	Patch                      = value.Patch
	QueryRequest               = value.QueryRequest
	QueryPage                  = value.QueryPage
	CrossPartitionMode         = value.CrossPartitionMode
	QueryParameter             = value.QueryParameter
	OrderByValue               = value.OrderByValue
	OrderedQueryResumePosition = value.OrderedQueryResumePosition
)

// The options and the results of a batch of operations.
type (
	BatchOptions = batch.Options
	BatchResult  = batch.Result
)

// MaxBatchOperations is the maximum number of operations of a batch, as in Cosmos DB.
const MaxBatchOperations = batch.MaxOperations

// ErrTooManyOperations is the cause of the error for a batch with more than MaxBatchOperations operations.
// The size of the documents does not matter.
var ErrTooManyOperations = batch.ErrTooManyOperations

// The kinds of operations, and whether a query may cross partitions.
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

// Limits of the pages of lists, queries and change feeds.
const (
	MaxPageItems = value.MaxPageItems // items of a page if the client leaves the number to the server
	MaxPageBytes = value.MaxPageBytes // a page is closed when it has reached this size; it may exceed it
)

// PageLimit returns the maximum number of items of a page. requested is the number that the client requests,
// as in ListOptions.MaxItems: 0 means 100, and -1 as many as fit.
func PageLimit(requested int) int { return value.PageLimit(requested) }

// The types of change feeds and of the log of expiries.
type (
	Change          = feed.Change
	ChangeFeedMode  = feed.Mode
	ChangeKind      = feed.ChangeKind
	ChangesStart    = feed.StartPosition
	ChangesPage     = feed.ChangesPage
	Expiration      = feed.ExpiryEvent
	ExpirationsPage = feed.ExpiryLogPage
)

// The modes of a change feed, and the kinds of the changes in it.
const (
	LatestVersions = feed.LatestVersions
	AllVersions    = feed.AllVersions

	ChangeLatest  = feed.Latest
	ChangeCreate  = feed.Create
	ChangeReplace = feed.Replace
	ChangeDelete  = feed.Delete
	ChangeExpire  = feed.Expire
)

// LintCount is the number of writes since Open that broke a lint rule, which is a check for probable mistakes
// in documents. LastLintViolatingWrite is the latest such write.
type (
	LintCount              = lint.ViolationCount
	LastLintViolatingWrite = lint.LastViolatingWrite
)

// UserOrScriptResource is one version of a small resource (a user, permission, encryption key or script).
// ChildResources gives access to the resources of one kind that belong to one owner.
type (
	UserOrScriptResource = resource.UserOrScriptResource
	ChildResources       = resource.ChildResources
	PermissionGrant      = resource.PermissionGrant // the access that a permission gives
)

// ResourceKind is a kind of small resource: user, permission, client encryption key or script.
type ResourceKind = record.ResourceKind

// The kinds of small resources. Each is followed by its owner: a database, a user or a container.
const (
	KindUser            = record.KindUser            // of a database
	KindPermission      = record.KindPermission      // of a user
	KindEncryptionKey   = record.KindEncryptionKey   // of a database
	KindStoredProcedure = record.KindStoredProcedure // of a container
	KindTrigger         = record.KindTrigger         // of a container
	KindFunction        = record.KindFunction        // of a container: a user defined function
)

// ChargeOfEntries returns the charge in RU of writing or removing n index entries.
func ChargeOfEntries(n int) float64 { return value.ChargeTerms(n) }
