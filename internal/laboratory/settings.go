package laboratory

import (
	"context"
	"net/http"

	"github.com/mayflydb/mayfly/internal/laboratory/route"
	"github.com/mayflydb/mayfly/store"
)

// ContainerSettings holds Mayfly's own settings of a container, including those that are not set.
type ContainerSettings struct {
	OnExpire   *store.OnExpireSettings `json:"onExpire"`
	TTLCeiling bool                    `json:"ttlCeiling"`

	AutoDeleteOnIdle int `json:"autoDeleteOnIdle" description:"Seconds of disuse until deletion; 0: never."`

	ExpiryEvents *store.ExpiryEventSettings `json:"expiryEvents"`
	Reaper       *store.ReaperSettings      `json:"reaper"`

	ChangesTo string `json:"changesTo" description:"Path of a queue or topic for the change feed."`
}

func settingsOf(s store.ContainerSettings) ContainerSettings {
	return ContainerSettings{s.OnExpire, s.TTLCeiling, s.AutoDeleteOnIdle, s.ExpiryEvents, s.Reaper,
		s.ChangesTo}
}

func (l *Laboratory) getSettings(_ context.Context, in *ContainerPath) (ContainerSettings, error) {
	return settingsOf(in.container.Settings()), nil
}

// patchSettingsRequest is a request that changes a container's settings. Only the settings that it contains
// are changed; null resets a setting to its default.
type patchSettingsRequest struct {
	ContainerPath
	OnExpire         settingEdit[*store.OnExpireSettings]    `json:"onExpire,omitempty" nullable:"true"`
	TTLCeiling       settingEdit[bool]                       `json:"ttlCeiling,omitempty" nullable:"true"`
	AutoDeleteOnIdle settingEdit[int]                        `json:"autoDeleteOnIdle,omitempty" nullable:"true"`
	ExpiryEvents     settingEdit[*store.ExpiryEventSettings] `json:"expiryEvents,omitempty" nullable:"true"`
	Reaper           settingEdit[*store.ReaperSettings]      `json:"reaper,omitempty" nullable:"true"`
	ChangesTo        settingEdit[string]                     `json:"changesTo,omitempty" nullable:"true"`

	_ struct{} `takes:"the settings are %"`
	_ struct{} `additionalProperties:"false"`
}

func (l *Laboratory) patchSettings(ctx context.Context, in *patchSettingsRequest) (ContainerSettings, error) {
	if err := l.checkWebhooks(ctx, in.ExpiryEvents.value); err != nil {
		return ContainerSettings{}, err
	}
	now, err := in.container.ChangeSettings(ctx, func(s *store.ContainerSettings) error {
		in.OnExpire.apply(&s.OnExpire)
		in.TTLCeiling.apply(&s.TTLCeiling)
		in.AutoDeleteOnIdle.apply(&s.AutoDeleteOnIdle)
		in.ExpiryEvents.apply(&s.ExpiryEvents)
		in.Reaper.apply(&s.Reaper)
		in.ChangesTo.apply(&s.ChangesTo)
		return nil
	})
	if err != nil {
		return ContainerSettings{}, err
	}
	return settingsOf(now), nil
}

// maxURL is the maximum number of bytes of a URL in an error text.
const maxURL = 1024

// checkWebhooks refuses webhooks whose URLs are not allowed. The store checks their number.
func (l *Laboratory) checkWebhooks(ctx context.Context, asked *store.ExpiryEventSettings) error {
	if asked == nil || l.opt.CheckWebhook == nil || len(asked.Webhooks) > store.MaxWebhooks {
		return nil
	}
	for _, w := range asked.Webhooks {
		if err := l.opt.CheckWebhook(ctx, w.URL); err != nil {
			return &route.Error{Status: http.StatusForbidden,
				Message: "The webhook '" + shortened(w.URL, maxURL) + "' cannot be set: " + err.Error() + "."}
		}
	}
	return nil
}
