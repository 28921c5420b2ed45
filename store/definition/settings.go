package definition

import "slices"

// ContainerSettings are Mayfly's own settings of a container, beside the ContainerSpec that Cosmos DB knows.
// They live in the container's record and go with it; replacing the container leaves them alone. The zero
// value is what a container begins with. A value that a Container returns must not be changed.
type ContainerSettings struct {
	OnExpire *OnExpire `json:"onExpire,omitempty"`
	// TTLCeiling makes the container's default the upper bound of its items' own ttl as well: a write lowers
	// what is longer, -1 included, silently. It means nothing while the default is off or -1.
	TTLCeiling bool `json:"ttlCeiling,omitempty"`
	// AutoDeleteOnIdle is after how many seconds of the data clock without use the container is deleted; 0:
	// never. Reads, writes, queries and feeds are use, and so is a change of the container; expiry is none.
	// At least MinIdle.
	AutoDeleteOnIdle int           `json:"autoDeleteOnIdle,omitempty"`
	ExpiryEvents     *ExpiryEvents `json:"expiryEvents,omitempty"`
	// Reaper holds purges back; nil: nothing does.
	Reaper *ReaperSettings `json:"reaper,omitempty"`
	// ChangesTo is the path of a queue or a topic, which is sent the change feed of latest versions: see
	// package hook.
	ChangesTo string `json:"changesTo,omitempty"`
	// Queries are the saved queries, in the order of their names.
	Queries []SavedQuery `json:"queries,omitempty"`
}

// OnExpire says what becomes of documents that expire, beyond that they are gone. It has one of its members.
type OnExpire struct {
	// MoveTo is the id of another container of the same database, the archive, where they are created anew:
	// see the essay in archive.go.
	MoveTo string `json:"moveTo,omitempty"`
	// ForwardTo is the path of a queue or a topic, where each becomes a message. Where that is deleted, or
	// full, or refuses senders, documents that have expired wait for it: nobody sees them any more.
	ForwardTo string `json:"forwardTo,omitempty"`

	// sink is one of another tenant of the host that no setting can name.
	Sink ExpirySink `json:"-"`
}

// MinIdle is the shortest AutoDeleteOnIdle in seconds, which is Azure Service Bus's.
const MinIdle = 300

// MaxMoves is how many times in a row a document can be moved by expiring: archives may have archives.
const MaxMoves = 4

// IsZero reports whether all settings are as in a new container.
func (s ContainerSettings) IsZero() bool {
	return s.OnExpire == nil && !s.TTLCeiling && s.AutoDeleteOnIdle == 0 && s.ExpiryEvents == nil &&
		s.Reaper == nil && s.ChangesTo == "" && len(s.Queries) == 0
}

// MoveTo is the id of the archive; empty where there is none.
func (s *ContainerSettings) MoveTo() string {
	if s.OnExpire == nil {
		return ""
	}
	return s.OnExpire.MoveTo
}

// Clone is a copy that shares nothing.
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

// ExpirySink names where the expired documents of a container go. The zero value is nowhere.
type ExpirySink struct{ Kind, Name string }

// The kinds of sinks that settings can name. SinkQueue is what the queues and topics call themselves; all
// kinds but SinkArchive belong to other tenants of the host.
const (
	SinkArchive = "archive"
	SinkQueue   = "queue"
)

// ExpirySink returns where documents that expire go.
func (s *ContainerSettings) ExpirySink() ExpirySink {
	switch {
	case s.OnExpire == nil:
		return ExpirySink{}
	case s.OnExpire.Sink != ExpirySink{}:
		return s.OnExpire.Sink
	case s.OnExpire.ForwardTo != "":
		return ExpirySink{SinkQueue, s.OnExpire.ForwardTo}
	case s.OnExpire.MoveTo != "":
		return ExpirySink{SinkArchive, s.OnExpire.MoveTo}
	}
	return ExpirySink{}
}
