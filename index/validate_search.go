package index

import (
	"fmt"
	"slices"
	"strings"
)

// The rules for vector indexes and full-text indexes. The messages are the service's, because clients
// check for them.

func (v VectorPath) validate(embeddings map[string]int) error {
	path, err := plainPath(v.Path)
	if err != nil {
		return err
	}
	dimensions, ok := embeddings[path]
	limit := maxIndexDimensions
	if v.Type == "flat" {
		limit = maxFlatDimensions
	}
	reason := ""
	switch {
	case !ok:
		reason = fmt.Sprintf("The Vector Indexing Policy's path::%s not matching in Embedding's path.",
			v.Path)
	case !slices.Contains(vectorTypes(), v.Type):
		reason = fmt.Sprintf("The Vector Indexing Policy's Index Type::%s is invalid. Choose among %s.",
			v.Type, strings.Join(vectorTypes(), ", "))
	case dimensions > limit:
		reason = fmt.Sprintf("A vector index of type %s takes at most %d dimensions; the embedding of %s has %d.", v.Type, limit, v.Path, dimensions)
	default:
		reason = v.fault(dimensions)
	}
	if reason != "" {
		return &PolicyError{Reason: reason}
	}
	return nil
}

// fault returns the text of the error in v's parameters, for vectors of the given length, or "" if they are
// valid. The index type itself has been checked before.
func (v VectorPath) fault(dimensions int) string {
	const outOfRange = "The Vector Indexing Policy parameter %s value :: %d is out of range. The allowed range is between %d and %d."
	most := min(maxQuantizedBytes, dimensions)
	switch q, l := v.QuantizationByteSize, v.IndexingSearchListSize; {
	case v.QuantizerType != "" && !slices.Contains(quantizerTypes(), v.QuantizerType):
		return fmt.Sprintf("The Vector Indexing Policy's Quantizer Type::%s is invalid. Choose among %s.",
			v.QuantizerType, strings.Join(quantizerTypes(), ", "))
	case v.Type == "flat" && (q != nil || v.QuantizerType != ""):
		return "A vector index of type flat is not quantized: it has no quantizationByteSize and no quantizerType."
	case q != nil && (*q < 1 || *q > most):
		return fmt.Sprintf(outOfRange, "QuantizationByteSize", *q, 1, most)
	case v.Type != "diskANN" && l != nil:
		return "Only vector indexes of type diskANN have an indexingSearchListSize."
	case l != nil && (*l < minSearchList || *l > maxSearchList):
		return fmt.Sprintf(outOfRange, "IndexingSearchListSize", *l, minSearchList, maxSearchList)
	case len(v.ShardKey) > maxShardKeys:
		return fmt.Sprintf("The number of shard paths defined in the Vector Indexing Policy: %d exceeds the maximum: %d.", len(v.ShardKey), maxShardKeys)
	case len(v.ShardKey) > 0 && v.Type == "flat":
		return "The vectorIndexShardKey cannot be used with flat indexes."
	}
	for _, k := range v.ShardKey {
		if _, err := plainPath(k); err != nil {
			return fmt.Sprintf("The Vector Indexing Policy has an invalid Shard Path: %s.", k)
		}
	}
	return ""
}

// validate checks the i-th full-text index. known are the paths of the full text policy.
func (f FullTextPath) validate(i int, known []string) error {
	path, err := plainPath(f.Path)
	switch {
	case f.Path == "":
		return &PolicyError{Reason: fmt.Sprintf(
			"Missing path in full-text index specification at index (%d).", i)}
	case err != nil:
		return &PolicyError{Reason: fmt.Sprintf(
			"Full-text index specification at index (%d) contains invalid path: %s.", i, f.Path)}
	case !slices.Contains(known, path):
		return &PolicyError{Reason: fmt.Sprintf(
			"The path of the Full Text Index %s does not match the path specified in the Full Text Policy.", f.Path)}
	}
	return nil
}
