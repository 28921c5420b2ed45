package definition

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/query"
	"github.com/mayflydb/mayfly/store/fault"
	"github.com/mayflydb/mayfly/ttl"
)

const (
	maxIDLength           = 255  // characters; for all ids but those of items
	MaxItemIDBytes        = 1023 // of an item's id
	maxComputedProperties = 20
	maxVectorDimensions   = 4096

	missingIDText = "The input content is invalid because the required properties - 'id; ' - are missing"
)

// conflictModes returns the conflict resolution modes of Cosmos DB, in the case in which the service
// returns them.
func conflictModes() []string { return []string{"LastWriterWins", "Custom"} }

func geospatialTypes() []string { return []string{string(Geography), string(Geometry)} }

func vectorDataTypes() []string { return []string{"float32", "float16", "uint8", "int8"} }

func distanceFunctions() []string { return []string{"cosine", "dotproduct", "euclidean"} }

func encryptionTypes() []string { return []string{"Deterministic", "Randomized"} }

const encryptionAlgorithm = "AEAD_AES_256_CBC_HMAC_SHA256"

// usualCase returns the word in words that equals s if case is ignored. It returns s if there is none.
func usualCase(s string, words []string) string {
	for _, w := range words {
		if strings.EqualFold(s, w) {
			return w
		}
	}
	return s
}

// ValidateID checks the id of a database, container, user, permission or script: 1 to 255 characters, none
// of / \ # ?, tab, line breaks and NUL, and no space at the end. kind is the kind of resource, for the
// error text. The error has CodeBadRequest.
func ValidateID(kind, id string) error {
	reason := ""
	switch n := utf8.RuneCountInString(id); {
	case n < 1 || n > maxIDLength:
		return fault.New(fault.CodeBadRequest, fmt.Sprintf("The input name '%.80s' is invalid. "+idLengthText,
			id, maxIDLength))
	case !utf8.ValidString(id):
		reason = "it is not valid UTF-8"
	case strings.ContainsAny(id, "/\\#?\t\r\n\x00"):
		reason = `it contains one of '/', '\', '#', '?', tab, line breaks and NUL`
	case strings.HasSuffix(id, " "):
		reason = "it ends with a space"
	default:
		return nil
	}
	return fault.New(fault.CodeBadRequest,
		fmt.Sprintf("The input name '%s' is invalid as the id of a %s: %s.", id, kind, reason))
}

// idLengthText is the text that clients look for if an id is empty or too long. Cosmos DB says "less than"
// but accepts an id of exactly this length.
const idLengthText = "Ensure to provide a unique non-empty string less than '%d' characters."

// ValidateItemID checks the id of an item, the value of its property "id", and returns it. It must be a
// string of 1 to 1,023 bytes of UTF-8 without U+0000. All other characters can be stored and addressed,
// even a backslash, as at Cosmos DB's compute gateway. The error has CodeBadRequest.
func ValidateItemID(v jsondoc.Value) (string, error) {
	switch v.Kind() {
	case jsondoc.String:
	case jsondoc.Undefined:
		return "", fault.New(fault.CodeBadRequest, missingIDText)
	default:
		return "", fault.New(fault.CodeBadRequest,
			"The input content is invalid because the property 'id' is not a string but "+v.Kind().String()+
				".")
	}
	id := v.Str()
	switch {
	case id == "" || len(id) > MaxItemIDBytes:
		return "", fault.New(fault.CodeBadRequest,
			fmt.Sprintf("The input name '%.80s' is invalid. "+idLengthText+
				" The property 'id' has %d bytes.", id, MaxItemIDBytes+1, len(id)))
	case strings.IndexByte(id, 0) >= 0:
		return "", fault.New(fault.CodeBadRequest,
			"The input content is invalid: the property 'id' contains the character U+0000.")
	}
	return id, nil
}

// Validate checks a definition, completed by EnsureDefaults, by Cosmos DB's rules. Errors have
// CodeBadRequest.
func (s *ContainerSpec) Validate() error {
	if err := ValidateID("container", s.ID); err != nil {
		return err
	}
	if err := s.PartitionKey.Validate(); err != nil {
		return err
	}
	return s.ValidateRest()
}

// ValidateRest checks a definition like Validate, except for the properties that can never change. A
// container keeps those as they are, even if it was created before a rule of Validate existed.
func (s *ContainerSpec) ValidateRest() error {
	for _, check := range []func() error{s.ValidateTTL, s.validateConflicts, s.validateVectors,
		s.ValidateFullText,
		s.validateIndexing, s.validateComputed, s.validateEncryption, s.validatePreviousImages} {
		if err := check(); err != nil {
			return err
		}
	}
	if f := s.ChangeFeed; f != nil && f.RetentionMinutes < 0 {
		return fault.New(fault.CodeBadRequest,
			"The 'retentionDuration' of the change feed policy cannot be negative.")
	} else if f != nil && f.RetentionMinutes > math.MaxInt32 {
		return fault.New(fault.CodeBadRequest,
			"The 'retentionDuration' of the change feed policy is too long.")
	}
	return nil
}

// ValidateTTL checks the default and the analytical time to live and the ttlPropertyPath: their values, and
// that they are allowed together and with the indexing mode. The error has CodeBadRequest.
func (s *ContainerSpec) ValidateTTL() error {
	for _, t := range []struct {
		name  string
		value ttl.Seconds
	}{{"defaultTtl", s.DefaultTTL}, {"analyticalStorageTtl", s.AnalyticalTTL}} {
		if t.value < ttl.Never {
			return fault.New(fault.CodeBadRequest,
				fmt.Sprintf("The input %s '%d' is invalid: it must be -1 or a positive integer.", t.name,
					t.value))
		}
	}
	if s.DefaultTTL != ttl.Absent && s.Indexing.Mode == index.None {
		return fault.New(fault.CodeBadRequest,
			"Indexing mode value cannot be 'none' when 'defaultTtl' is specified in the collection.")
	}
	if s.TTLPropertyPath == "" {
		return nil
	}
	if s.DefaultTTL == ttl.Absent {
		return fault.New(fault.CodeBadRequest,
			"'ttlPropertyPath' can be specified only together with 'defaultTtl'.")
	}
	return checkPath("ttlPropertyPath", s.TTLPropertyPath)
}

func (s *ContainerSpec) validateConflicts() error {
	switch r := s.ConflictResolution; r.Mode {
	case "LastWriterWins":
		if r.Procedure != "" {
			return fault.New(fault.CodeBadRequest,
				"LastWriterWins conflict resolution mode should not have conflict resolution procedure set.")
		}
		if len(segmentsOf(r.Path)) != 1 {
			return fault.New(fault.CodeBadRequest, "Invalid path '"+strings.ReplaceAll(r.Path, "/", `\/`)+
				"' for last writer wins conflict resolution")
		}
		return nil
	case "Custom":
		if r.Path != "" {
			return fault.New(fault.CodeBadRequest,
				"Custom conflict resolution mode should not have conflict resolution path set.")
		}
		return nil
	default:
		return fault.New(fault.CodeBadRequest,
			fmt.Sprintf("The conflict resolution mode '%s' is invalid. Choose between 'LastWriterWins' and 'Custom'.", r.Mode))
	}
}

func (s *ContainerSpec) validateIndexing() error {
	around := index.PolicyValidationContext{Geometry: s.Geospatial == Geometry, Vectors: map[string]int{}}
	if !slices.Contains(geospatialTypes(), string(s.Geospatial)) {
		return fault.New(fault.CodeBadRequest,
			fmt.Sprintf("The geospatial type '%s' is invalid. Choose between 'Geography' and 'Geometry'.",
				s.Geospatial))
	}
	if s.VectorEmbedding != nil {
		for _, e := range s.VectorEmbedding.Embeddings {
			around.Vectors[PathKey(e.Path)] = e.Dimensions
		}
	}
	if s.FullText != nil {
		for _, p := range s.FullText.Paths {
			around.FullText = append(around.FullText, PathKey(p.Path))
		}
	}
	if err := s.Indexing.Validate(around); err != nil {
		return policyError(err, "indexingPolicy")
	}
	return nil
}

func (s *ContainerSpec) validateComputed() error {
	if n := len(s.ComputedProperties); n > maxComputedProperties {
		return fault.New(fault.CodeBadRequest,
			fmt.Sprintf("A container may have at most %d computed properties, not %d.", maxComputedProperties,
				n))
	}
	seen := map[string]bool{}
	for i, c := range s.ComputedProperties {
		reason := ""
		switch {
		case c.Name == "":
			reason = "Computed property 'name' is either empty or unspecified."
		case c.Query == "":
			reason = "Computed property 'query' is either empty or unspecified."
		case c.Name == "id" || isItemSystemProperty(c.Name):
			reason = fmt.Sprintf("The system property name '%s' cannot be used as a computed property name.",
				c.Name)
		case seen[c.Name]:
			reason = fmt.Sprintf("Computed property name '%s' cannot be used in multiple definitions.",
				c.Name)
		case s.isKeyProperty(c.Name):
			reason = fmt.Sprintf("Computed property '%s' cannot be the beginning of a partition key path.",
				c.Name)
		case s.isSpatial(c.Name):
			reason = fmt.Sprintf("Computed property '%s' at index (%d) has a spatial index. "+
				"Remove the spatial index on this path.", c.Name, i)
		default:
			reason = computedQueryFault(c.Query)
		}
		if reason != "" {
			return fault.New(fault.CodeBadRequest, reason)
		}
		seen[c.Name] = true
	}
	list := make([]query.ComputedProperty, len(s.ComputedProperties))
	for i, c := range s.ComputedProperties {
		list[i] = query.ComputedProperty{Name: c.Name, Query: c.Query}
	}
	if err := query.CheckComputed(list); err != nil {
		return &fault.Error{Code: fault.CodeBadRequest, Message: err.Error(), Err: err}
	}
	return nil
}

// isKeyProperty reports whether a path of the partition key begins with the top-level property of that
// name.
func (s *ContainerSpec) isKeyProperty(name string) bool {
	return slices.ContainsFunc(s.PartitionKey.ParsedPaths(),
		func(p jsondoc.Path) bool { return p.Segments()[0] == name })
}

// isSpatial reports whether a spatial index is on or below the top-level property of that name.
func (s *ContainerSpec) isSpatial(name string) bool {
	return slices.ContainsFunc(s.Indexing.Spatial, func(p index.SpatialPath) bool {
		pattern, err := index.ParsePattern(p.Path)
		return err == nil && len(pattern.Segments()) > 0 && pattern.Segments()[0].Name == name
	})
}

// computedQueryFault checks that a computed property's query begins with SELECT VALUE, and returns a
// description of the fault, or "".
func computedQueryFault(query string) string {
	word := func(w string) bool {
		query = strings.TrimLeft(query, " \t\r\n")
		if len(query) < len(w) || !strings.EqualFold(query[:len(w)], w) {
			return false
		}
		query = query[len(w):]
		return query == "" || !isWordByte(query[0])
	}
	switch {
	case !word("SELECT"):
		return "The computed property query is malformed: it must begin with SELECT VALUE."
	case !word("VALUE"):
		return "Required VALUE expression missing from computed property query."
	case strings.TrimSpace(query) == "":
		return "The computed property query is malformed: an expression must follow SELECT VALUE."
	}
	return ""
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// ErrEncryptionPath is the cause of the error for an invalid path of a client encryption policy. If the
// policy also names an encryption key that does not exist, Cosmos DB reports only the missing key. Callers
// recognize this cause and look for a missing key before they return the error.
var ErrEncryptionPath = errors.New("a path of the client encryption policy is invalid")

func (s *ContainerSpec) validateEncryption() error {
	p := s.ClientEncryption
	if p == nil {
		return nil
	}
	if p.FormatVersion != 1 && p.FormatVersion != 2 {
		return fault.New(fault.CodeBadRequest,
			fmt.Sprintf("The policyFormatVersion '%d' of the client encryption policy is invalid. Choose 1 or 2.", p.FormatVersion))
	}
	// A value is encrypted as a whole, so a partition key path is affected if its top-level property is
	// encrypted.
	keys := map[string]bool{"/id": true}
	for _, path := range s.PartitionKey.ParsedPaths() {
		if segments := path.Segments(); len(segments) > 0 {
			keys[jsondoc.PathOf(segments[0]).String()] = true
		}
	}
	seen := map[string]bool{}
	for _, e := range p.IncludedPaths {
		if err := checkNew(seen, "clientEncryptionPolicy", e.Path); err != nil {
			return &fault.Error{Code: fault.CodeBadRequest, Message: err.Error(), Err: ErrEncryptionPath}
		}
		reason := ""
		switch {
		case len(segmentsOf(e.Path)) != 1:
			reason = "only properties at the top level can be encrypted"
		case e.KeyID == "":
			reason = "it needs a clientEncryptionKeyId"
		case !slices.Contains(encryptionTypes(), e.Type):
			reason = "its encryptionType must be 'Deterministic' or 'Randomized'"
		case e.Algorithm != encryptionAlgorithm:
			reason = "its encryptionAlgorithm must be '" + encryptionAlgorithm + "'"
		case keys[PathKey(e.Path)] && (p.FormatVersion != 2 || e.Type != "Deterministic"):
			reason = "ids and partition keys can be encrypted only with the type 'Deterministic' and policyFormatVersion 2"
		default:
			continue
		}
		return &fault.Error{Code: fault.CodeBadRequest, Err: ErrEncryptionPath, Message: fmt.Sprintf(
			"The path '%s' of the client encryption policy is invalid: %s.", e.Path, reason)}
	}
	return nil
}

// segmentsOf returns the segments of a path that has passed checkPath.
func segmentsOf(path string) []string {
	p, err := jsondoc.ParsePath(path)
	if err != nil {
		return nil
	}
	return p.Segments()
}

// checkPath checks a path without wildcards. name is the property that contains the path.
func checkPath(name, path string) error {
	if _, err := jsondoc.ParsePath(path); err != nil {
		return &fault.Error{Code: fault.CodeBadRequest, Err: err, Message: fmt.Sprintf(
			"The path '%s' of '%s' is invalid. Please ensure that the path is a valid path.", path, name)}
	}
	return nil
}

// checkNew checks a path of a list in which each path must be unique, and adds it to seen, the paths
// before it. name is the property that contains the list.
func checkNew(seen map[string]bool, name, path string) error {
	if err := checkPath(name, path); err != nil {
		return err
	}
	key := PathKey(path)
	if seen[key] {
		return fault.New(fault.CodeBadRequest,
			fmt.Sprintf("The path '%s' was specified more than once in '%s'.", path, name))
	}
	seen[key] = true
	return nil
}

// PathKey returns the canonical form of a path, for comparisons; "" if it is invalid.
func PathKey(path string) string {
	p, err := jsondoc.ParsePath(path)
	if err != nil {
		return ""
	}
	return p.String()
}
