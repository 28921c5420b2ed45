package definition

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

// containerSpecJSON is a container in JSON, without the system properties. The order of its fields is that of
// the output.
type containerSpecJSON struct {
	ID                 string                  `json:"id"`
	PartitionKey       *partitionKeyJSON       `json:"partitionKey,omitempty"`
	Indexing           json.RawMessage         `json:"indexingPolicy,omitempty"`
	DefaultTTL         json.RawMessage         `json:"defaultTtl,omitempty"`
	TTLPropertyPath    *string                 `json:"ttlPropertyPath,omitempty"`
	AnalyticalTTL      json.RawMessage         `json:"analyticalStorageTtl,omitempty"`
	UniqueKeys         json.RawMessage         `json:"uniqueKeyPolicy,omitempty"`
	ConflictResolution *ConflictResolution     `json:"conflictResolutionPolicy,omitempty"`
	Geospatial         *geospatialJSON         `json:"geospatialConfig,omitempty"`
	ChangeFeed         *ChangeFeedPolicy       `json:"changeFeedPolicy,omitempty"`
	PreviousImages     *PreviousImagePolicy    `json:"previousImageRetentionPolicy,omitempty"`
	ComputedProperties []computedPropertyJSON  `json:"computedProperties,omitzero"`
	VectorEmbedding    *VectorEmbeddingPolicy  `json:"vectorEmbeddingPolicy,omitempty"`
	FullText           *FullTextPolicy         `json:"fullTextPolicy,omitempty"`
	ClientEncryption   *ClientEncryptionPolicy `json:"clientEncryptionPolicy,omitempty"`
}

// geospatialJSON is the geospatial policy of a container in JSON.
type geospatialJSON struct {
	Type GeospatialType `json:"type"`
}

// computedPropertyJSON is a computed property in JSON. It distinguishes a missing member from an empty one,
// since Cosmos DB has different error messages for the two.
type computedPropertyJSON struct {
	Name  *string `json:"name"`
	Query *string `json:"query"`
}

// knownMembers maps the names that a JSON object may have to the members of their values. For a name whose
// value is an array, these are the members of its elements. nil means that the value is not checked.
type knownMembers map[string]knownMembers

// specMembers returns the properties of a container that have a meaning in Mayfly.
func specMembers() knownMembers {
	path := knownMembers{"path": nil}
	image := knownMembers{"mode": nil, "includedPaths": nil}
	indexed := knownMembers{"path": nil, "indexes": {"kind": nil, "dataType": nil, "precision": nil}}
	return knownMembers{
		"id":           nil,
		"partitionKey": {"paths": nil, "kind": nil, "version": nil, "systemKey": nil},
		"indexingPolicy": {
			"indexingMode": nil, "automatic": nil, "includedPaths": indexed, "excludedPaths": indexed,
			"compositeIndexes": {"path": nil, "order": nil},
			"spatialIndexes": {"path": nil, "types": nil,
				"boundingBox": {"xmin": nil, "ymin": nil, "xmax": nil, "ymax": nil}},
			"vectorIndexes": {"path": nil, "type": nil, "quantizerType": nil, "quantizationByteSize": nil,
				"indexingSearchListSize": nil,
				"vectorIndexShardKey":    nil},
			"fullTextIndexes": path,
		},
		"defaultTtl": nil, "ttlPropertyPath": nil, "analyticalStorageTtl": nil,
		"uniqueKeyPolicy": {"uniqueKeys": {"paths": nil}},
		"conflictResolutionPolicy": {"mode": nil, "conflictResolutionPath": nil,
			"conflictResolutionProcedure": nil},
		"geospatialConfig": {"type": nil},
		"changeFeedPolicy": {"retentionDuration": nil},
		"previousImageRetentionPolicy": {"mode": nil, "supportedFeatures": {"allVersionsAndDeletes": image,
			"globalSecondaryIndex": image, "containerCopy": image, "embeddingGeneratorService": image}},
		"computedProperties": {"name": nil, "query": nil},
		"vectorEmbeddingPolicy": {"vectorEmbeddings": {"path": nil, "dataType": nil, "distanceFunction": nil,
			"dimensions": nil}},
		"fullTextPolicy": {"defaultLanguage": nil, "fullTextPaths": {"path": nil, "language": nil}},
		"clientEncryptionPolicy": {"policyFormatVersion": nil,
			"includedPaths": {"path": nil, "clientEncryptionKeyId": nil,
				"encryptionType": nil, "encryptionAlgorithm": nil}},
		// System properties: clients send back what they have read.
		"_rid": nil, "_self": nil, "_etag": nil, "_ts": nil, "_docs": nil, "_sprocs": nil, "_triggers": nil, "_udfs": nil,
		"_conflicts": nil, "_lsn": nil,
	}
}

// unknown appends to names those members of v, at any depth, that m does not have. A name that differs from
// a known one only in case is an error, because encoding/json would accept it as the known one. Only the
// version of a partition key may begin with a capital letter.
func (m knownMembers) unknown(names []string, v jsondoc.Value, at string) ([]string, error) {
	var err error
	v.Each(func(name string, elem jsondoc.Value) bool {
		if v.Kind() == jsondoc.Array {
			names, err = m.unknown(names, elem, at)
			return err == nil
		}
		inner, ok := m[name]
		switch {
		case at+name == "partitionKey.Version": // the spelling in the reference of the REST API
		case ok && inner != nil:
			names, err = inner.unknown(names, elem, at+name+".")
		case !ok:
			names = append(names, at+strings.Clone(name))
			for known := range m {
				if strings.EqualFold(known, name) {
					err = fault.New(fault.CodeBadRequest,
						fmt.Sprintf("'%s' is not a valid property in the current payload: it is spelled '%s'.", at+name, known))
				}
			}
		}
		return err == nil
	})
	return names, err
}

// ParseContainerSpec parses a container's definition from JSON. System properties are ignored. If strict is
// set, a property that has no meaning in Mayfly is an error, as in Cosmos DB. Otherwise ignored contains
// its name, after the names of the objects that contain it. The output of AppendJSON is read back
// unchanged. Any other definition must still be completed by EnsureDefaults and validated. Errors have
// CodeBadRequest.
func ParseContainerSpec(raw []byte, strict bool) (spec ContainerSpec, ignored []string, err error) {
	if err := jsondoc.Valid(raw, jsondoc.Limits{}); err != nil {
		return ContainerSpec{}, nil, DocumentError(err)
	}
	v := jsondoc.Of(raw)
	if v.Kind() != jsondoc.Object {
		return ContainerSpec{}, nil, fault.New(fault.CodeBadRequest,
			"A container must be a JSON object, not "+v.Kind().String()+".")
	}
	if ignored, err = specMembers().unknown(nil, v, ""); err != nil {
		return ContainerSpec{}, nil, err
	}
	if strict && len(ignored) > 0 {
		return ContainerSpec{}, nil, fault.New(fault.CodeBadRequest,
			"'"+ignored[0]+"' is not a valid property in the current payload.")
	}
	if v.Member("id").Kind() == jsondoc.Undefined {
		return ContainerSpec{}, nil, fault.New(fault.CodeBadRequest, missingIDText)
	}
	if err := checkSupported(v); err != nil {
		return ContainerSpec{}, nil, err
	}
	var w containerSpecJSON
	if err := json.Unmarshal(raw, &w); err != nil {
		return ContainerSpec{}, nil, decodeSpecError(err)
	}
	spec, err = w.spec()
	return spec, ignored, err
}

// checkSupported fails for the properties that define a materialized view or a global secondary index. It
// also fails for a full-text language that is the empty string, which Cosmos DB refuses although it accepts a
// missing language.
func checkSupported(v jsondoc.Value) error {
	for _, name := range []string{"materializedViewDefinition", "globalSecondaryIndexDefinition"} {
		if k := v.Member(name).Kind(); k != jsondoc.Undefined && k != jsondoc.Null {
			return fault.New(fault.CodeBadRequest, "The property '"+name+
				"' is not supported: there are no materialized views and no global secondary indexes.")
		}
	}
	text := v.Member("fullTextPolicy")
	languages := []jsondoc.Value{text.Member("defaultLanguage")}
	text.Member("fullTextPaths").Each(func(_ string, path jsondoc.Value) bool {
		languages = append(languages, path.Member("language"))
		return true
	})
	for _, l := range languages {
		if l.Kind() == jsondoc.String && l.Str() == "" {
			return unsupportedLanguage("")
		}
	}
	return nil
}

// decodeSpecError adds the name of the property to an error of encoding/json.
func decodeSpecError(err error) error {
	message := "One of the specified inputs is invalid: " + err.Error()
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		message = fmt.Sprintf("One of the specified inputs is invalid: the property '%s' has a value of the wrong type (%s).", wrong.Field, wrong.Value)
	}
	return &fault.Error{Code: fault.CodeBadRequest, Message: message, Err: err}
}

// spec returns the definition in w. Fields that were not given stay zero.
func (w *containerSpecJSON) spec() (s ContainerSpec, err error) {
	s = ContainerSpec{ID: w.ID, ChangeFeed: w.ChangeFeed, VectorEmbedding: w.VectorEmbedding,
		FullText: w.FullText, PreviousImagePolicy: w.PreviousImages,
		ClientEncryption: w.ClientEncryption}
	if w.PartitionKey != nil {
		if s.PartitionKey, err = w.PartitionKey.definition(); err != nil {
			return s, err
		}
	}
	if w.Indexing != nil {
		if s.Indexing, err = index.Parse(w.Indexing); err != nil {
			return s, policyError(err, "indexingPolicy")
		}
	}
	if w.UniqueKeys != nil {
		if s.UniqueKeys, err = index.ParseUniqueKeys(w.UniqueKeys); err != nil {
			return s, policyError(err, "uniqueKeyPolicy")
		}
	}
	if s.DefaultTTL, err = ttl.ParseDefault(w.DefaultTTL); err != nil {
		return s, &fault.Error{Code: fault.CodeBadRequest, Message: err.Error(), Err: err}
	}
	if string(w.AnalyticalTTL) != "0" {
		if s.AnalyticalTTL, err = ttl.ParseDefault(w.AnalyticalTTL); err != nil {
			return s, &fault.Error{Code: fault.CodeBadRequest,
				Message: "The 'analyticalStorageTtl' is invalid: it must be -1 or a positive integer.", Err: err}
		}
	}
	if w.TTLPropertyPath != nil {
		if s.TTLPropertyPath = *w.TTLPropertyPath; s.TTLPropertyPath == "" {
			return s, fault.New(fault.CodeBadRequest, "The 'ttlPropertyPath' cannot be empty.")
		}
	}
	if w.ConflictResolution != nil {
		s.ConflictResolution = *w.ConflictResolution
	}
	if w.Geospatial != nil {
		s.Geospatial = w.Geospatial.Type
	}
	if w.ComputedProperties != nil {
		s.ComputedProperties = []ComputedProperty{}
	}
	for _, c := range w.ComputedProperties {
		if c.Name == nil || c.Query == nil {
			return s, fault.New(fault.CodeBadRequest, "One of the specified inputs is invalid")
		}
		s.ComputedProperties = append(s.ComputedProperties, ComputedProperty{*c.Name, *c.Query})
	}
	return s, nil
}

// definition returns the partition key definition in w, with defaults filled in.
func (w *partitionKeyJSON) definition() (PartitionKeyDefinition, error) {
	d := PartitionKeyDefinition{Paths: w.Paths, Kind: w.Kind, SystemKey: w.SystemKey}
	if len(d.Paths) == 0 {
		return d, fault.New(fault.CodeBadRequest, "A partition key must have paths.")
	}
	if w.Version != nil {
		d.firstGiven = *w.Version == 1
		if d.Version = int(*w.Version); d.Version == 0 {
			return d, fault.New(fault.CodeBadRequest,
				"The partition key version '0' is invalid. Choose 1 or 2.")
		}
	}
	d.EnsureDefaults()
	return d, nil
}

// AppendJSON appends the definition to dst as the JSON object that clients read, without the system
// properties. The definition must have been completed by EnsureDefaults and validated; but the partition key
// may be the zero value, which is left out.
func (s ContainerSpec) AppendJSON(dst []byte) []byte {
	w := containerSpecJSON{ID: s.ID, Geospatial: &geospatialJSON{s.Geospatial},
		ConflictResolution: &s.ConflictResolution, PreviousImages: s.PreviousImagePolicy,
		ChangeFeed: s.ChangeFeed, VectorEmbedding: s.VectorEmbedding, FullText: s.FullText, ClientEncryption: s.ClientEncryption}
	if !s.PartitionKey.IsZero() {
		w.PartitionKey = s.PartitionKey.wire()
	}
	var err error
	if w.Indexing, err = s.Indexing.MarshalJSON(); err != nil {
		return dst
	}
	if !s.UniqueKeys.IsZero() {
		if w.UniqueKeys, err = s.UniqueKeys.MarshalJSON(); err != nil {
			return dst
		}
	}
	w.DefaultTTL, w.AnalyticalTTL = ttlToken(s.DefaultTTL), ttlToken(s.AnalyticalTTL)
	if s.TTLPropertyPath != "" {
		w.TTLPropertyPath = &s.TTLPropertyPath
	}
	if s.ComputedProperties != nil {
		w.ComputedProperties = []computedPropertyJSON{}
	}
	for i := range s.ComputedProperties {
		c := &s.ComputedProperties[i]
		w.ComputedProperties = append(w.ComputedProperties, computedPropertyJSON{&c.Name, &c.Query})
	}
	text, err := jsondoc.Marshal(w)
	if err != nil {
		return dst
	}
	return append(dst, text...)
}

// wire returns the JSON form of the definition.
func (d *PartitionKeyDefinition) wire() *partitionKeyJSON {
	w := &partitionKeyJSON{Paths: d.Paths, Kind: d.Kind, SystemKey: d.SystemKey}
	if v := partitionHashVersion(d.Version); v != 1 || d.firstGiven {
		w.Version = &v
	}
	return w
}

// ttlToken returns a time to live as JSON; nil if there is none.
func ttlToken(s ttl.Seconds) json.RawMessage {
	if s == ttl.Absent {
		return nil
	}
	return strconv.AppendInt(nil, int64(s), 10)
}
