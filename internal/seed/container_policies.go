package seed

// ContainerPolicies holds the members of a container's definition other than its id and its partition key.
// The store parses them itself; these structs describe which members are possible.
type ContainerPolicies struct {
	DefaultTTL       *int64                    `json:"defaultTtl,omitempty" description:"Seconds; -1: on, but no default; absent: TTL is off."`
	Indexing         *IndexingPolicy           `json:"indexingPolicy,omitempty"`
	UniqueKeys       *UniqueKeyPolicy          `json:"uniqueKeyPolicy,omitempty"`
	Computed         []ComputedProperty        `json:"computedProperties,omitempty"`
	Vectors          *VectorPolicy             `json:"vectorEmbeddingPolicy,omitempty"`
	FullText         *FullTextPolicy           `json:"fullTextPolicy,omitempty"`
	ChangeFeed       *ChangeFeedPolicy         `json:"changeFeedPolicy,omitempty"`
	PreviousImages   *PreviousImagePolicy      `json:"previousImageRetentionPolicy,omitempty"`
	Conflicts        *ConflictResolutionPolicy `json:"conflictResolutionPolicy,omitempty"`
	Geospatial       *Geospatial               `json:"geospatialConfig,omitempty"`
	ClientEncryption AnyValue                  `json:"clientEncryptionPolicy,omitempty"`
	TTLPropertyPath  string                    `json:"ttlPropertyPath,omitempty"`
	AnalyticalTTL    *int64                    `json:"analyticalStorageTtl,omitempty"`
}

// IndexingPolicy says what is indexed, and how.
type IndexingPolicy struct {
	Mode      string            `json:"indexingMode,omitempty" enum:"consistent,none,lazy"`
	Automatic *bool             `json:"automatic,omitempty"`
	Included  []IndexedPath     `json:"includedPaths,omitempty"`
	Excluded  []IndexedPath     `json:"excludedPaths,omitempty"`
	Composite [][]CompositePath `json:"compositeIndexes,omitempty"`
	Spatial   []SpatialPath     `json:"spatialIndexes,omitempty"`
	Vector    []VectorIndex     `json:"vectorIndexes,omitempty"`
	FullText  []PropertyPath    `json:"fullTextIndexes,omitempty"`
}

// PropertyPath is a JSON path of a property, such as /name.
type PropertyPath struct {
	Path string `json:"path" required:"true"`
}

// IndexedPath is a path such as /name/? or /address/*.
type IndexedPath struct {
	PropertyPath
	Indexes []AnyValue `json:"indexes,omitempty" description:"Index kinds of older SDKs; ignored."`
}

// CompositePath is a path of a composite index.
type CompositePath struct {
	PropertyPath
	Order string `json:"order,omitempty" enum:"ascending,descending"`
}

// SpatialPath is a path in documents with geometries, and the types of geometries that are indexed.
type SpatialPath struct {
	PropertyPath
	Types       []SpatialType `json:"types,omitempty"`
	BoundingBox AnyValue      `json:"boundingBox,omitempty"`
}

// SpatialType is a type of geometry in GeoJSON, such as Point.
type SpatialType string

// Enum returns the allowed values: see jsonschema.Enum.
func (SpatialType) Enum() []any { return []any{"Point", "LineString", "Polygon", "MultiPolygon"} }

// InlineJSONSchema implements jsonschema.SchemaInliner: the JSON schema of the type is written into each
// schema that uses the type, instead of being referenced.
func (SpatialType) InlineJSONSchema() {}

// VectorIndex is an index of a vector.
type VectorIndex struct {
	PropertyPath
	Type          string   `json:"type,omitempty" enum:"flat,quantizedFlat,diskANN"`
	QuantizerType string   `json:"quantizerType,omitempty"`
	Bytes         *int64   `json:"quantizationByteSize,omitempty"`
	SearchList    *int64   `json:"indexingSearchListSize,omitempty"`
	ShardKey      []string `json:"vectorIndexShardKey,omitempty"`
}

// UniqueKeyPolicy says which values must be unique within a logical partition.
type UniqueKeyPolicy struct {
	Keys []UniqueKey `json:"uniqueKeys,omitempty"`
}

// UniqueKey is a list of paths whose values together must be unique.
type UniqueKey struct {
	Paths []string `json:"paths" required:"true"`
}

// ComputedProperty is a property that is visible to queries but not stored in documents.
type ComputedProperty struct {
	Name  string `json:"name" required:"true"`
	Query string `json:"query" required:"true" description:"Such as SELECT VALUE LOWER(c.name) FROM c."`
}

// VectorPolicy is a container's vectorEmbeddingPolicy: the paths of the vectors in its documents, with their
// types and distance functions.
type VectorPolicy struct {
	Embeddings []VectorEmbedding `json:"vectorEmbeddings,omitempty"`
}

// VectorEmbedding is the path and the type of a vector.
type VectorEmbedding struct {
	PropertyPath
	DataType   string `json:"dataType,omitempty" enum:"float32,float16,int8,uint8"`
	Distance   string `json:"distanceFunction,omitempty" enum:"cosine,dotproduct,euclidean"`
	Dimensions int64  `json:"dimensions,omitempty"`
}

// FullTextPolicy says which properties contain text for full-text search.
type FullTextPolicy struct {
	Language string         `json:"defaultLanguage,omitempty"`
	Paths    []FullTextPath `json:"fullTextPaths,omitempty"`
}

// FullTextPath is the path of a text for full-text search.
type FullTextPath struct {
	PropertyPath
	Language string `json:"language,omitempty"`
}

// ChangeFeedPolicy enables the change feed with all versions and deletes.
type ChangeFeedPolicy struct {
	Retention int64 `json:"retentionDuration,omitempty" description:"Minutes that all versions are kept."`
}

// PreviousImagePolicy says for which changes the change feed of all versions contains the previous version.
type PreviousImagePolicy struct {
	Mode     *int64                 `json:"mode,omitempty" minimum:"0" maximum:"3" description:"Older form of supportedFeatures.allVersionsAndDeletes.mode."`
	Features *PreviousImageFeatures `json:"supportedFeatures,omitempty"`
}

// PreviousImageFeatures says which features of Cosmos DB are given the previous version of a changed document
// of the container; one of them is the change feed with all versions and deletes.
type PreviousImageFeatures struct {
	AllVersions    *PreviousImageFeatureSetting `json:"allVersionsAndDeletes,omitempty"`
	SecondaryIndex *PreviousImageFeatureSetting `json:"globalSecondaryIndex,omitempty"`
	Copy           *PreviousImageFeatureSetting `json:"containerCopy,omitempty"`
	Embeddings     *PreviousImageFeatureSetting `json:"embeddingGeneratorService,omitempty"`
}

// PreviousImageFeatureSetting says for which changes (replaces, deletes) one feature of Cosmos DB gets the
// previous version of a document.
type PreviousImageFeatureSetting struct {
	Mode  *int64   `json:"mode,omitempty" minimum:"0" maximum:"3" description:"0: none; 1: replaces; 2: deletes; 3: both."`
	Paths []string `json:"includedPaths,omitempty" description:"Stored for clients; has no effect."`
}

// ConflictResolutionPolicy is stored and returned to clients, but has no effect.
type ConflictResolutionPolicy struct {
	Mode      string `json:"mode,omitempty" enum:"LastWriterWins,Custom"`
	Path      string `json:"conflictResolutionPath,omitempty"`
	Procedure string `json:"conflictResolutionProcedure,omitempty"`
}

// Geospatial says whether coordinates are on the globe or in a plane.
type Geospatial struct {
	Type string `json:"type,omitempty" enum:"Geography,Geometry"`
}
