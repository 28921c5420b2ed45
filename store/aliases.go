package store

import (
	"github.com/mayflydb/mayfly/store/definition"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/store/internal/record"
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
