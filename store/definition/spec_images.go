package definition

import (
	"fmt"

	"github.com/mayflydb/mayfly/store/fault"
)

// PreviousImagePolicy says of which changes a feature of the service keeps the version before. Here the feed
// of all versions and deletes has a use for it; the other features are kept for clients.
type PreviousImagePolicy struct {
	// Mode is that of the feed of all versions where Features has none. Clients do not send it any more.
	Mode     *PreviousImageMode     `json:"mode,omitempty"`
	Features *PreviousImageFeatures `json:"supportedFeatures,omitempty"`
}

// PreviousImageFeatures are the features that can keep previous versions.
type PreviousImageFeatures struct {
	AllVersions    *PreviousImageFeature `json:"allVersionsAndDeletes,omitempty"`
	SecondaryIndex *PreviousImageFeature `json:"globalSecondaryIndex,omitempty"`
	Copy           *PreviousImageFeature `json:"containerCopy,omitempty"`
	Embeddings     *PreviousImageFeature `json:"embeddingGeneratorService,omitempty"`
}

// PreviousImageFeature is what one feature keeps. Paths are kept for clients: a version is kept whole.
type PreviousImageFeature struct {
	Mode  *PreviousImageMode `json:"mode,omitempty"`
	Paths []string           `json:"includedPaths,omitzero"`
}

// PreviousImageMode is a set of PreviousOfReplace and PreviousOfDelete.
type PreviousImageMode int

// The changes of which the version before is kept.
const (
	PreviousOfReplace PreviousImageMode = 1
	PreviousOfDelete  PreviousImageMode = 2

	allPreviousImages = PreviousOfReplace | PreviousOfDelete
)

// PreviousImages is the mode that the definition gives the feed of all versions and deletes; given is false
// where it gives none.
func (s *ContainerSpec) PreviousImages() (mode PreviousImageMode, given bool) {
	p := s.PreviousImagePolicy
	if p == nil {
		return 0, false
	}
	if f := p.Features; f != nil && f.AllVersions != nil && f.AllVersions.Mode != nil {
		return *f.AllVersions.Mode, true
	}
	if p.Mode != nil {
		return *p.Mode, true
	}
	return 0, false
}

func (s *ContainerSpec) validatePreviousImages() error {
	p := s.PreviousImagePolicy
	if p == nil {
		return nil
	}
	features := []*PreviousImageFeature{{Mode: p.Mode}}
	if f := p.Features; f != nil {
		features = append(features, f.AllVersions, f.SecondaryIndex, f.Copy, f.Embeddings)
	}
	for _, f := range features {
		if f != nil && f.Mode != nil && *f.Mode&^allPreviousImages != 0 {
			return fault.New(fault.CodeBadRequest, fmt.Sprintf(
				"The mode '%d' of the previous image retention policy is invalid. "+
					"Choose 0 (none), 1 (replaces), 2 (deletes) or 3 (both).", *f.Mode))
		}
	}
	return nil
}
