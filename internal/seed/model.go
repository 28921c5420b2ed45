package seed

import (
	"github.com/mayflydb/mayfly/internal/tree"
	"github.com/mayflydb/mayfly/store"
	"github.com/mayflydb/mayfly/store/definition"
)

// SeedFile is a seed file. It may contain any of these members.
type SeedFile struct {
	Self      *tree.Value `json:"-" tree:"self"`
	Databases []Database  `json:"databases,omitempty"`
	Queues    []Queue     `json:"queues,omitempty"`
	Topics    []Topic     `json:"topics,omitempty"`
	// ContinuousBackup sets whether the account has continuous backup, until the server is restarted.
	ContinuousBackup *bool `json:"continuousBackup,omitempty" description:"New containers keep all versions of documents for 7 days."`
	// UserConfig is the content of a Config.json of the Service Bus emulator. A file with it must have no
	// other members.
	UserConfig AnyValue `json:"UserConfig,omitempty" description:"Config.json of the Service Bus emulator."`
	Schema     string   `json:"$schema,omitempty" description:"URL or path of the schema, for editors."`
}

// Database is a database. If its file is db.yaml in a folder, the id is the name of the folder.
type Database struct {
	Self       *tree.Value `json:"-" tree:"self"`
	ID         string      `json:"id,omitempty" description:"Default: the name of the folder."`
	Throughput Throughput  `json:"throughput,omitempty" description:"RU/s that its containers share."`
	Containers []Container `json:"containers,omitempty"`
	Users      []User      `json:"users,omitempty"`
	// Keys are keys for Cosmos DB's client-side encryption. Containers with a client encryption policy need
	// them.
	Keys   []EncryptionKey `json:"clientEncryptionKeys,omitempty"`
	Schema string          `json:"$schema,omitempty" description:"URL or path of the schema, for editors."`
}

// Container is a container: Cosmos DB's definition with members that Mayfly adds.
type Container struct {
	Self         *tree.Value  `json:"-" tree:"self"`
	ID           string       `json:"id,omitempty" description:"Default: the name of the folder."`
	PartitionKey PartitionKey `json:"partitionKey" required:"true"`
	ContainerPolicies
	Throughput Throughput `json:"throughput,omitempty" description:"Provisioned RU/s."`

	Ranges int `json:"ranges,omitempty" minimum:"1" description:"Number of partition key ranges at creation."`

	Settings   *MayflyContainerSettings `json:"settings,omitempty" description:"Mayfly's own settings."`
	Procedures []Script                 `json:"storedProcedures,omitempty"`
	Triggers   []Trigger                `json:"triggers,omitempty"`
	Functions  []Script                 `json:"userDefinedFunctions,omitempty"`
	Documents  []AnyValue               `json:"documents,omitempty" description:"Documents to create. A member _mayfly: {age: 29d} sets the age."`
	Schema     string                   `json:"$schema,omitempty" description:"URL or path of the schema, for editors."`
}

// own reports whether a member of a container is one that Mayfly adds to Cosmos DB's definition.
func own(member string) bool {
	switch member {
	case "throughput", "ranges", "settings", "storedProcedures", "triggers", "userDefinedFunctions",
		"documents", "$schema":
		return true
	}
	return false
}

// MayflyContainerSettings holds Mayfly's own settings of a container. null resets a setting to its default.
type MayflyContainerSettings struct {
	Self             *tree.Value                `json:"-" tree:"self"`
	OnExpire         *store.OnExpireSettings    `json:"onExpire,omitempty"`
	TTLCeiling       bool                       `json:"ttlCeiling,omitempty"`
	AutoDeleteOnIdle int                        `json:"autoDeleteOnIdle,omitempty" description:"Seconds of disuse until deletion; 0: never."`
	ExpiryEvents     *store.ExpiryEventSettings `json:"expiryEvents,omitempty"`
	Reaper           *store.ReaperSettings      `json:"reaper,omitempty"`

	ChangesTo string `json:"changesTo,omitempty" description:"Path of a queue or topic for the change feed."`

	Queries []SavedQuery `json:"queries,omitempty" description:"Saved queries."`

	saved []definition.SavedQuery // Queries as values of package store
}

// Script is a stored procedure or a user defined function, as a seed file defines it.
type Script struct {
	Self *tree.Value `json:"-" tree:"self"`
	ID   string      `json:"id" required:"true"`
	Body string      `json:"body,omitempty" description:"JavaScript source of the function."`
	File string      `json:"file,omitempty" description:"File with the body, relative to this file."`
}

// Trigger is a trigger of a container, as a seed file defines it.
type Trigger struct {
	Self *tree.Value `json:"-" tree:"self"`
	ID   string      `json:"id" required:"true"`
	Type string      `json:"triggerType" required:"true" enum:"Pre,Post"`
	On   string      `json:"triggerOperation" required:"true" enum:"All,Create,Replace,Upsert,Update,Delete"`
	Body string      `json:"body,omitempty" description:"JavaScript source of the function."`
	File string      `json:"file,omitempty" description:"File with the body, relative to this file."`
}

// EncryptionKey is a key for client-side encryption. It is wrapped, that is encrypted, by a key of the
// clients.
type EncryptionKey struct {
	Self      *tree.Value `json:"-" tree:"self"`
	ID        string      `json:"id" required:"true"`
	Algorithm string      `json:"encryptionAlgorithm" required:"true"`

	Wrapped string `json:"wrappedDataEncryptionKey" required:"true" description:"Encrypted key in base64."`

	Metadata AnyValue `json:"keyWrapMetadata" required:"true"`
}

// User is a user with its permissions, as a seed file defines it.
type User struct {
	Self        *tree.Value  `json:"-" tree:"self"`
	ID          string       `json:"id" required:"true"`
	Permissions []Permission `json:"permissions,omitempty"`
}

// Permission allows a user to read or write a container, a part of it, or a resource in it.
type Permission struct {
	Self      *tree.Value `json:"-" tree:"self"`
	ID        string      `json:"id" required:"true"`
	Mode      string      `json:"permissionMode" required:"true" enum:"Read,All"`
	Container string      `json:"container,omitempty" description:"Id of a container of the same database."`
	Resource  string      `json:"resource,omitempty" description:"Instead of 'container': a path such as dbs/shop/colls/carts/docs/1."`
	Partition []AnyValue  `json:"resourcePartitionKey,omitempty"`
}

// Queue is a queue, as a seed file defines it.
type Queue struct {
	Self *tree.Value `json:"-" tree:"self"`
	Name string      `json:"name" required:"true"`
	QueueOrSubscriptionSettings
	SenderSettings
}

// Topic is a topic with its subscriptions, as a seed file defines it.
type Topic struct {
	Self          *tree.Value    `json:"-" tree:"self"`
	Name          string         `json:"name" required:"true"`
	Subscriptions []Subscription `json:"subscriptions,omitempty"`
	SenderSettings
	FilteringBeforePublishing bool `json:"filteringMessagesBeforePublishing,omitempty"`
	SubscriptionPartitioning  bool `json:"enableSubscriptionPartitioning,omitempty"`
}

// Subscription is a subscription of a topic, as a seed file defines it.
type Subscription struct {
	Self  *tree.Value        `json:"-" tree:"self"`
	Name  string             `json:"name" required:"true"`
	Rules []SubscriptionRule `json:"rules,omitempty" description:"Default: a rule that selects all messages."`
	QueueOrSubscriptionSettings
	DeadLetterOnFilterErrors bool `json:"deadLetteringOnFilterEvaluationExceptions,omitempty"`
	CommonEntitySettings
}

// QueueOrSubscriptionSettings has the members common to queues and subscriptions.
type QueueOrSubscriptionSettings struct {
	LockDuration           DurationValue `json:"lockDuration,omitempty"`
	MaxDeliveryCount       int32         `json:"maxDeliveryCount,omitempty"`
	RequiresSession        bool          `json:"requiresSession,omitempty"`
	DeadLetterOnExpiration bool          `json:"deadLetteringOnMessageExpiration,omitempty"`
	ForwardTo              string        `json:"forwardTo,omitempty"`
	ForwardDeadLettersTo   string        `json:"forwardDeadLetteredMessagesTo,omitempty"`
}

// SenderSettings has the members common to queues and topics.
type SenderSettings struct {
	RequiresDuplicateDetection bool          `json:"requiresDuplicateDetection,omitempty"`
	DuplicateDetectionWindow   DurationValue `json:"duplicateDetectionHistoryTimeWindow,omitempty"`
	MaxSizeMB                  int32         `json:"maxSizeInMegabytes,omitempty"`
	MaxMessageKB               int32         `json:"maxMessageSizeInKilobytes,omitempty"`
	EnablePartitioning         bool          `json:"enablePartitioning,omitempty"`
	EnableExpress              bool          `json:"enableExpress,omitempty"`
	SupportOrdering            bool          `json:"supportOrdering,omitempty"`
	AnonymousAccessible        bool          `json:"isAnonymousAccessible,omitempty"`
	// AuthorizationRules is XML in the form in which clients send it. Mayfly stores it and checks nothing.
	AuthorizationRules string `json:"authorizationRules,omitempty" description:"XML as clients send it; stored, but not checked."`
	CommonEntitySettings
}

// CommonEntitySettings has the members common to all entities.
type CommonEntitySettings struct {
	DefaultTTL       DurationValue `json:"defaultMessageTimeToLive,omitempty"`
	AutoDeleteOnIdle DurationValue `json:"autoDeleteOnIdle,omitempty"`
	EnableBatched    bool          `json:"enableBatchedOperations,omitempty"`
	Status           string        `json:"status,omitempty" enum:"Active,Disabled,SendDisabled,ReceiveDisabled"`
	UserMetadata     string        `json:"userMetadata,omitempty"`
}

// SubscriptionRule is a rule of a subscription. It has a filter (SQL, correlation, or one that matches all
// messages or none) and may have an action.
type SubscriptionRule struct {
	Self *tree.Value `json:"-" tree:"self"`
	Name string      `json:"name" required:"true"`
	SQL  *string     `json:"sql,omitempty" description:"SQL filter, such as region = 'eu'."`

	Parameters AnyValue `json:"parameters,omitempty" description:"Such as {region: eu} for @region."`

	Correlation *CorrelationFilter `json:"correlation,omitempty" description:"Used instead of 'sql'."`

	Kind string `json:"kind,omitempty" enum:"all,none" description:"Filter for all messages, or for none."`

	Action   *string  `json:"action,omitempty" description:"Such as SET x = 1."`
	OfAction AnyValue `json:"actionParameters,omitempty"`
}

// CorrelationFilter is a filter that compares properties of a message for equality.
type CorrelationFilter struct {
	ContentType      string   `json:"contentType,omitempty"`
	CorrelationID    string   `json:"correlationId,omitempty"`
	Subject          string   `json:"subject,omitempty"`
	MessageID        string   `json:"messageId,omitempty"`
	ReplyTo          string   `json:"replyTo,omitempty"`
	ReplyToSessionID string   `json:"replyToSessionId,omitempty"`
	SessionID        string   `json:"sessionId,omitempty"`
	To               string   `json:"to,omitempty"`
	Properties       AnyValue `json:"properties,omitempty" description:"Application properties."`
}
