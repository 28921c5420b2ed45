package definition

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mayflydb/mayfly/index"
	"github.com/mayflydb/mayfly/internal/jsondoc"
	"github.com/mayflydb/mayfly/store/fault"
)

// The rules for the vector and full-text policies. The error texts are Cosmos DB's, since clients look for
// them.

func (s *ContainerSpec) validateVectors() error {
	if s.VectorEmbedding == nil {
		return nil
	}
	seen := map[string]bool{}
	for _, e := range s.VectorEmbedding.Embeddings {
		if PathKey(e.Path) == "" {
			return fault.New(fault.CodeBadRequest, "The Vector Embedding Policy has an invalid Path: "+e.Path+
				".")
		}
		if seen[PathKey(e.Path)] {
			return fault.New(fault.CodeBadRequest,
				"Duplicate Path :"+e.Path+" found in Vector Embedding Policy.")
		}
		seen[PathKey(e.Path)] = true
		reason := ""
		switch {
		case e.Dimensions < 1:
			reason = fmt.Sprintf("Dimensions:%d which is less than the minimum supported value::1",
				e.Dimensions)
		case e.Dimensions > maxVectorDimensions:
			reason = fmt.Sprintf("Dimensions:%d which is more than the maximum supported value::%d",
				e.Dimensions, maxVectorDimensions)
		case !slices.Contains(vectorDataTypes(), e.DataType):
			reason = fmt.Sprintf("an invalid DataType:%s. Choose among %s", e.DataType,
				strings.Join(vectorDataTypes(), ", "))
		case !slices.Contains(distanceFunctions(), e.DistanceFunction):
			reason = fmt.Sprintf("an invalid DistanceFunction:%s. Choose among %s", e.DistanceFunction,
				strings.Join(distanceFunctions(), ", "))
		default:
			continue
		}
		return fault.New(fault.CodeBadRequest, "The Vector Embedding Policy has "+reason+".")
	}
	return nil
}

// ValidateFullText checks the full-text policy.
func (s *ContainerSpec) ValidateFullText() error {
	if s.FullText == nil {
		return nil
	}
	if err := checkLanguage(s.FullText.DefaultLanguage); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, p := range s.FullText.Paths {
		if PathKey(p.Path) == "" {
			return fault.New(fault.CodeBadRequest, "The full text policy contains an invalid path: "+p.Path+
				".")
		}
		if err := checkNew(seen, "fullTextPolicy", p.Path); err != nil {
			return err
		}
		if err := checkLanguage(p.Language); err != nil {
			return err
		}
	}
	return nil
}

// checkLanguage checks a language of the full-text policy. An empty one is valid: it means the policy's
// language or English.
func checkLanguage(tag string) error {
	if _, known := index.LanguageOf(tag); known {
		return nil
	}
	return unsupportedLanguage(tag)
}

func unsupportedLanguage(tag string) error {
	return fault.New(fault.CodeBadRequest,
		fmt.Sprintf("The language specified in the full-text policy, '%s', is invalid. Supported languages are: %s.",
			tag, strings.Join(index.LanguageTags(), ", ")))
}

// VectorPathDimensions is the path of a vector in documents, and its required length.
type VectorPathDimensions struct {
	path       jsondoc.Path
	dimensions int
}

// Vectors returns the paths and lengths in the vector policy.
func (s *ContainerSpec) Vectors() (list []VectorPathDimensions) {
	if s.VectorEmbedding == nil {
		return nil
	}
	for _, e := range s.VectorEmbedding.Embeddings {
		if p, err := jsondoc.ParsePath(e.Path); err == nil {
			list = append(list, VectorPathDimensions{p, e.Dimensions})
		}
	}
	return list
}

// Misfit reports whether a document has an array at the path whose length is not the required one. It
// returns false for a value that is not an array.
func (v VectorPathDimensions) Misfit(body []byte) bool {
	found := jsondoc.Get(body, v.path)
	return found.Kind() == jsondoc.Array && found.Len() != v.dimensions
}
