package definition

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// ContainerSpec is the definition of a container: the members of Cosmos DB's container JSON except the
// system properties. A zero field is a property that was not given; EnsureDefaults sets those that have a
// default in Cosmos DB. ParseContainerSpec reads the JSON form, with Cosmos DB's names, and AppendJSON
// writes it.
type ContainerSpec struct {
	ID           string
	PartitionKey PartitionKeyDefinition
	Indexing     index.Policy
	UniqueKeys   index.UniqueKeyConstraints

	// DefaultTTL is the time to live of items that have none of their own. ttl.Absent turns TTL off, even
	// for items that have one; ttl.Never turns it on without a default.
	DefaultTTL ttl.Seconds
	// TTLPropertyPath names the property, in seconds since 1970, from which times to live count instead of
	// _ts; "" means none. The time to live of a document without a number there counts from its _ts. A
	// TTLPropertyPath requires a DefaultTTL.
	TTLPropertyPath string
	// AnalyticalTTL is stored for clients that send it, but has no effect: there is no analytical store.
	AnalyticalTTL ttl.Seconds

	ConflictResolution ConflictResolution
	Geospatial         GeospatialType
	ChangeFeed         *ChangeFeedPolicy
	// PreviousImagePolicy says for which changes the feed of all versions and deletes includes the
	// previous version of a document; nil: the container has no policy for it. See PreviousImages.
	PreviousImagePolicy *PreviousImagePolicy
	ComputedProperties  []ComputedProperty
	VectorEmbedding     *VectorEmbeddingPolicy
	FullText            *FullTextPolicy
	ClientEncryption    *ClientEncryptionPolicy
}

// ConflictResolution is how replicas in several regions would resolve a conflict. It is stored for clients,
// but has no effect: there are no replicas.
type ConflictResolution struct {
	Mode      string `json:"mode"` // LastWriterWins or Custom
	Path      string `json:"conflictResolutionPath"`
	Procedure string `json:"conflictResolutionProcedure"`
}

// GeospatialType is the meaning of coordinates: Geography on the globe, or Geometry in a plane.
type GeospatialType string

// The two geospatial types.
const (
	Geography GeospatialType = "Geography"
	Geometry  GeospatialType = "Geometry"
)

// ChangeFeedPolicy turns on a feed of all versions and deletes.
type ChangeFeedPolicy struct {
	RetentionMinutes int `json:"retentionDuration"` // how far back the feed goes; 0: no such feed
}

// ComputedProperty is a property that queries see but documents do not contain.
type ComputedProperty struct {
	Name  string `json:"name"`
	Query string `json:"query"` // SELECT VALUE ... FROM c
}

// VectorEmbeddingPolicy lists the properties that are vectors.
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

// FullTextPolicy lists the properties with full-text search.
type FullTextPolicy struct {
	DefaultLanguage string         `json:"defaultLanguage,omitempty"`
	Paths           []FullTextPath `json:"fullTextPaths,omitzero"`
}

// FullTextPath is a property with full-text search.
type FullTextPath struct {
	Path     string `json:"path"`
	Language string `json:"language,omitempty"` // empty: DefaultLanguage
}

// ClientEncryptionPolicy lists the properties that clients encrypt. It cannot be changed.
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

// EnsureDefaults fills in Cosmos DB's defaults for properties that were not given: the system partition
// key, an index over everything, and the conflict and geospatial policies. It also converts their
// enumerated values to their usual case.
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
	s.Geospatial = GeospatialType(usualCase(string(s.Geospatial), geospatialTypes()))
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

// CheckReplace checks that s may replace old: the id, the partition key, the unique keys, the client
// encryption policy and existing vectors cannot change. A partition key missing in s is unchanged. The
// error has CodeBadRequest.
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

// sameConflicts reports whether s and old have the same conflict resolution policy. s may lack the
// defaults, which are filled in for the comparison.
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

// checkVectors checks that the vector policy and the vector indexes of s may replace those of old. Embeddings
// can be added, but neither changed nor removed. The vector index of a path can be removed, but not changed.
func (s ContainerSpec) checkVectors(old ContainerSpec) error {
	s.EnsureDefaults()
	if err := s.validateIndexing(); err != nil { // reports an index without its embedding first
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

// policyError converts an error of package index to a fault. name is the container's property that the
// error is about.
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
