package store

import (
	"fmt"

	"github.com/mayflydb/mayfly/index"
)

// validateLanguages refuses a full text policy that names a language which is not known, in the service's words.
func (s *ContainerSpec) validateLanguages() error {
	names := []string{s.FullText.DefaultLanguage}
	for _, p := range s.FullText.Paths {
		names = append(names, p.Language)
	}
	for _, name := range names {
		if !index.KnownLanguage(name) {
			return fail(CodeBadRequest, fmt.Sprintf("The language specified in the full-text policy, '%s', is invalid.", name))
		}
	}
	return nil
}
