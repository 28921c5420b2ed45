package definition

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// ContainerSpec is the definition of a container: what Cosmos DB's container JSON holds besides the system
// properties. Fields that are zero stand for properties that were not given; EnsureDefaults fills in those to
// which the service gives a value. The JSON form, with Cosmos DB's names, is read by ParseContainerSpec and
// written by AppendJSON.
type ContainerSpec struct {
	ID           string
	PartitionKey PartitionKeyDefinition
	Indexing     index.Policy
	UniqueKeys   index.UniqueKeys

	// DefaultTTL is the time to live of items that have none of their own: ttl.Absent switches TTL off, for
	// items that have one as well; ttl.Never switches it on without a default.
	DefaultTTL ttl.Seconds
	// TTLPropertyPath names the property of seconds since 1970 from which times to live count, instead of
	// _ts; "" is none. A document without a number there counts from its _ts. It needs a DefaultTTL.
	TTLPropertyPath string
	// AnalyticalTTL is kept for clients that send it; there is no analytical store.
	AnalyticalTTL ttl.Seconds

	ConflictResolution ConflictResolution
	Geospatial         Geospatial
	ChangeFeed         *ChangeFeedPolicy
	// PreviousImagePolicy has PreviousImages as its meaning.
	PreviousImagePolicy *PreviousImagePolicy
	ComputedProperties  []ComputedProperty
	VectorEmbedding     *VectorEmbeddingPolicy
	FullText            *FullTextPolicy
	ClientEncryption    *ClientEncryptionPolicy
}

// ConflictResolution is how replicas in several regions would settle a conflict. It is kept for clients;
// there are none.
type ConflictResolution struct {
	Mode      string `json:"mode"` // LastWriterWins or Custom
	Path      string `json:"conflictResolutionPath"`
	Procedure string `json:"conflictResolutionProcedure"`
}

// Geospatial is what coordinates mean: Geography on the globe, or Geometry in a plane.
type Geospatial string

// The two geospatial types.
const (
	Geography Geospatial = "Geography"
	Geometry  Geospatial = "Geometry"
)

// ChangeFeedPolicy asks for a feed of all versions and deletes.
type ChangeFeedPolicy struct {
	RetentionMinutes int `json:"retentionDuration"` // how far back the feed reaches; 0: there is none
}

// ComputedProperty is a property that queries see and documents do not hold.
type ComputedProperty struct {
	Name  string `json:"name"`
	Query string `json:"query"` // SELECT VALUE ... FROM c
}

// VectorEmbeddingPolicy says which properties are vectors.
type VectorEmbeddingPolicy struct {
	Embeddings []VectorEmbedding `json:"vectorEmbeddings,omitzero"`
}

// VectorEmbedding is a property that is a vector.
type VectorEmbedding struct {
	Path             string `json:"path"`
	DataType         string `json:"dataType"`         // float32, float16, uint8 or int8
	DistanceFunction string `json:"distanceFunction"` // cosine, dotproduct or euclidean
	Dimensions       int    `json:"dimensions"`
}

// FullTextPolicy says which properties are searched by words.
type FullTextPolicy struct {
	DefaultLanguage string         `json:"defaultLanguage,omitempty"`
	Paths           []FullTextPath `json:"fullTextPaths,omitzero"`
}

// FullTextPath is a property that is searched by words.
type FullTextPath struct {
	Path     string `json:"path"`
	Language string `json:"language,omitempty"` // empty: the policy's
}

// ClientEncryptionPolicy says which properties clients encrypt. It cannot be changed.
type ClientEncryptionPolicy struct {
	IncludedPaths []ClientEncryptionPath `json:"includedPaths,omitzero"`
	FormatVersion int                    `json:"policyFormatVersion"` // 1 or 2
}

// ClientEncryptionPath is a property that clients encrypt.
type ClientEncryptionPath struct {
	Path      string `json:"path"`
	KeyID     string `json:"clientEncryptionKeyId"`
	Type      string `json:"encryptionType"` // Deterministic or Randomized
	Algorithm string `json:"encryptionAlgorithm"`
}

// EnsureDefaults fills in what Cosmos DB does where nothing was given: the system partition key, an index
// over everything, the words of the small policies in their usual case.
func (s *ContainerSpec) EnsureDefaults() {
	s.PartitionKey.EnsureDefaults()
	s.Indexing.Normalize()
	r := &s.ConflictResolution
	r.Mode = usualCase(r.Mode, conflictModes())
	if r.Mode == "" {
		r.Mode = conflictModes()[0]
	}
	if r.Mode == conflictModes()[0] && r.Path == "" {
		r.Path = "/_ts"
	}
	s.Geospatial = Geospatial(usualCase(string(s.Geospatial), geospatialTypes()))
	if s.Geospatial == "" {
		s.Geospatial = Geography
	}
	if s.VectorEmbedding != nil {
		v := VectorEmbeddingPolicy{Embeddings: slices.Clone(s.VectorEmbedding.Embeddings)}
		for i, e := range v.Embeddings {
			v.Embeddings[i].DataType = usualCase(e.DataType, vectorDataTypes())
			v.Embeddings[i].DistanceFunction = usualCase(e.DistanceFunction, distanceFunctions())
		}
		s.VectorEmbedding = &v
	}
}

// CheckReplace checks that s may take the place of old: the id, the partition key, the unique keys, the
// client encryption policy and what vectors are cannot change. A partition key that s leaves out is
// unchanged. The error has CodeBadRequest.
func (s ContainerSpec) CheckReplace(old ContainerSpec) error {
	switch {
	case s.ID != old.ID:
		return fault.New(fault.CodeBadRequest, fmt.Sprintf(
			"The 'id' of a collection cannot be changed as part of collection replace operation: '%s' is not '%s'.", s.ID, old.ID))
	case !s.PartitionKey.IsZero() && !s.PartitionKey.Equal(&old.PartitionKey):
		return fault.New(fault.CodeBadRequest,
			"'partitionKey' cannot be changed as part of collection replace operation.")
	case !s.UniqueKeys.Equal(old.UniqueKeys):
		return fault.New(fault.CodeBadRequest,
			"'uniqueKeyPolicy' cannot be changed as part of collection replace operation.")
	case s.ConflictResolution != (ConflictResolution{}) && !s.sameConflicts(old):
		return fault.New(fault.CodeBadRequest,
			"Updating conflict resolution policy is currently not supported")
	case !s.ClientEncryption.equal(old.ClientEncryption):
		return fault.New(fault.CodeBadRequest,
			"'clientEncryptionPolicy' cannot be changed as part of collection replace operation.")
	}
	return s.checkVectors(old)
}

// sameConflicts reports whether s has the conflict resolution policy of old, once it is completed.
func (s ContainerSpec) sameConflicts(old ContainerSpec) bool {
	s.EnsureDefaults()
	return s.ConflictResolution == old.ConflictResolution
}

func (p *ClientEncryptionPolicy) equal(q *ClientEncryptionPolicy) bool {
	if p == nil || q == nil {
		return p == q
	}
	return p.FormatVersion == q.FormatVersion && slices.Equal(p.IncludedPaths, q.IncludedPaths)
}

// checkVectors is CheckReplace for vectors: embeddings can be added but neither changed nor taken away, and
// the vector index of a path can be dropped but not changed.
func (s ContainerSpec) checkVectors(old ContainerSpec) error {
	s.EnsureDefaults()
	if err := s.validateIndexing(); err != nil { // an index whose embedding is gone is told as that
		return err
	}
	if old.VectorEmbedding != nil {
		for _, e := range old.VectorEmbedding.Embeddings {
			if s.VectorEmbedding == nil || !slices.Contains(s.VectorEmbedding.Embeddings, e) {
				return fault.New(fault.CodeBadRequest,
					"Paths in existing embedding policy cannot be modified in Collection Replace: "+
						"the embedding of '"+e.Path+"' is not the same.")
			}
		}
	}
	for _, was := range old.Indexing.Vector {
		for _, is := range s.Indexing.Vector {
			if is.Path == was.Path && !is.Equal(was) {
				return fault.New(fault.CodeBadRequest,
					"Paths in existing vector indexing policy cannot be modified in Collection Replace: "+
						"the index of '"+is.Path+"' is not the same.")
			}
		}
	}
	return nil
}

// policyError turns an error of package index into an Error; name is the property of the container that it is
// about.
func policyError(err error, name string) error {
	var p *index.PolicyError
	if errors.As(err, &p) {
		place := name
		if p.Path != "" {
			place += "." + p.Path
		}
		return &fault.Error{Code: fault.CodeBadRequest, Message: p.Reason + " (at " + place + ")", Err: err}
	}
	return err
}
