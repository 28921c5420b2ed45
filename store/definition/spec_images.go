package definition

import (
	"fmt"

	"github.com/mayflydb/mayfly/store/fault"
)

// PreviousImagePolicy defines for which changes a feature of Cosmos DB keeps the previous version. Mayfly
// uses it for the feed of all versions and deletes; the other features are stored for clients only.
type PreviousImagePolicy struct {
	// Mode applies to the feed of all versions if Features has no mode for it. Clients do not send it any
	// more.
	Mode     *PreviousImageMode     `json:"mode,omitempty"`
	Features *PreviousImageFeatures `json:"supportedFeatures,omitempty"`
}

// PreviousImageFeatures lists the features of Cosmos DB for which a container can be asked to keep the
// versions of documents before a change, each with its setting.
type PreviousImageFeatures struct {
	AllVersions    *PreviousImageFeatureSetting `json:"allVersionsAndDeletes,omitempty"`
	SecondaryIndex *PreviousImageFeatureSetting `json:"globalSecondaryIndex,omitempty"`
	Copy           *PreviousImageFeatureSetting `json:"containerCopy,omitempty"`
	Embeddings     *PreviousImageFeatureSetting `json:"embeddingGeneratorService,omitempty"`
}

// PreviousImageFeatureSetting says for which changes (replaces, deletes) one feature, such as the feed of all
// versions, shows the previous version of a document. Paths is only stored and returned to clients: a
// previous version always contains the whole document.
type PreviousImageFeatureSetting struct {
	Mode  *PreviousImageMode `json:"mode,omitempty"`
	Paths []string           `json:"includedPaths,omitzero"`
}

// PreviousImageMode says for which changes the feed of all versions also shows a document's version before
// the change: a set of the bits PreviousOfReplace and PreviousOfDelete.
type PreviousImageMode int

// The changes for which the previous version is kept.
const (
	PreviousOfReplace PreviousImageMode = 1
	PreviousOfDelete  PreviousImageMode = 2

	allPreviousImages = PreviousOfReplace | PreviousOfDelete
)

// PreviousImages returns the mode of the feed of all versions and deletes. given is false if the definition
// has no policy for it.
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
	features := []*PreviousImageFeatureSetting{{Mode: p.Mode}}
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
