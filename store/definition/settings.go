package definition

import "slices"

// ContainerSettings are Mayfly's own settings of a container, besides the ContainerSpec of Cosmos DB. They
// are stored in the container's record and deleted with it; replacing the container does not change them.
// The zero value is that of a new container. Callers must not change a value that a container has returned.
type ContainerSettings struct {
	OnExpire *OnExpireSettings `json:"onExpire,omitempty"`
	// TTLCeiling makes the container's default the upper limit of its items' own ttl, too: a write silently
	// lowers a longer ttl, including -1. It has no effect while the default is off or -1.
	TTLCeiling bool `json:"ttlCeiling,omitempty" description:"Whether defaultTtl is the maximal ttl."`
	// AutoDeleteOnIdle is the number of seconds of the data clock after which an unused container is
	// deleted; 0 means never. Reads, writes, queries, feeds and changes of the container count as use;
	// expiry does not. The minimum is MinIdle.
	AutoDeleteOnIdle int `json:"autoDeleteOnIdle,omitempty" description:"Idle seconds to deletion; 0: never."`

	ExpiryEvents *ExpiryEventSettings `json:"expiryEvents,omitempty"`
	// Reaper delays the purges of expired items; nil means no delay.
	Reaper *ReaperSettings `json:"reaper,omitempty"`
	// ChangesTo is the path of a queue or a topic that receives the change feed of latest versions: see
	// package hook.
	ChangesTo string `json:"changesTo,omitempty" description:"Path of the queue or topic for changes."`
	// Queries are the saved queries, in the order of their names.
	Queries []SavedQuery `json:"queries,omitempty"`
}

// OnExpireSettings defines where expired documents are moved. Only one of its members is set.
type OnExpireSettings struct {
	// MoveTo is the id of the archive: another container of the same database, in which the expired documents
	// are created.
	MoveTo string `json:"moveTo,omitempty" description:"Id of the container that gets expired items."`
	// ForwardTo is the path of a queue or a topic, to which each expired document is sent as a message. If
	// the queue is deleted or full, or refuses senders, expired documents wait for it, invisible to
	// readers.
	ForwardTo string `json:"forwardTo,omitempty" description:"Path of the queue or topic that gets them."`

	// Sink is a destination in another tenant of the host (a kind of data on the same engine), for callers
	// in Go; the JSON form of the settings cannot name it.
	Sink ExpiredItemSinkReference `json:"-"`
}

// MinIdle is the shortest AutoDeleteOnIdle in seconds, as in Azure Service Bus.
const MinIdle = 300

// MaxMoves is the maximum number of times that a document can be moved to an archive, since an archive may
// itself have an archive.
const MaxMoves = 4

// IsZero reports whether all settings are those of a new container.
func (s ContainerSettings) IsZero() bool {
	return s.OnExpire == nil && !s.TTLCeiling && s.AutoDeleteOnIdle == 0 && s.ExpiryEvents == nil &&
		s.Reaper == nil && s.ChangesTo == "" && len(s.Queries) == 0
}

// MoveTo returns the id of the archive; empty if there is none.
func (s *ContainerSettings) MoveTo() string {
	if s.OnExpire == nil {
		return ""
	}
	return s.OnExpire.MoveTo
}

// Clone returns a deep copy.
func (s ContainerSettings) Clone() ContainerSettings {
	if s.OnExpire != nil {
		on := *s.OnExpire
		s.OnExpire = &on
	}
	s.ExpiryEvents = s.ExpiryEvents.Clone()
	s.Reaper = s.Reaper.Clone()
	s.Queries = slices.Clone(s.Queries)
	return s
}

// ExpiredItemSinkReference names the destination of a container's expired documents. The zero value means
// none.
type ExpiredItemSinkReference struct{ Kind, Name string }

// The kinds of sinks that settings can name. SinkQueue stands for a queue or a topic. All kinds but
// SinkArchive belong to other tenants of the host.
const (
	SinkArchive = "archive"
	SinkQueue   = "queue"
)

// ExpirySink returns the destination of expired documents.
func (s *ContainerSettings) ExpirySink() ExpiredItemSinkReference {
	switch {
	case s.OnExpire == nil:
		return ExpiredItemSinkReference{}
	case s.OnExpire.Sink != ExpiredItemSinkReference{}:
		return s.OnExpire.Sink
	case s.OnExpire.ForwardTo != "":
		return ExpiredItemSinkReference{SinkQueue, s.OnExpire.ForwardTo}
	case s.OnExpire.MoveTo != "":
		return ExpiredItemSinkReference{SinkArchive, s.OnExpire.MoveTo}
	}
	return ExpiredItemSinkReference{}
}
