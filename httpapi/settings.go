package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/mayflydb/mayfly/cosmos"
	"github.com/mayflydb/mayfly/doc"
	"github.com/mayflydb/mayfly/store"
)

// settingsBody shows Mayfly's own settings of a container, those that are not set as well.
type settingsBody struct {
	OnExpire         *store.OnExpire       `json:"onExpire"`
	TTLCeiling       bool                  `json:"ttlCeiling"`
	AutoDeleteOnIdle int                   `json:"autoDeleteOnIdle"`
	ExpiryEvents     *store.ExpiryEvents   `json:"expiryEvents"`
	Reaper           *store.ReaperSettings `json:"reaper"`
}

// getSettings is GET /_mayfly/dbs/{db}/colls/{coll}/settings: Mayfly's own settings of a container.
func (s *Server) getSettings(c *call) error {
	coll, err := s.container(c)
	if err != nil {
		return err
	}
	return c.sendSettings(coll.Settings())
}

// patchSettings is PATCH on the same path. Members that the body does not have stay as they are, null puts
// one back to what it is in a new container. It answers with all of them.
func (s *Server) patchSettings(c *call) error {
	coll, err := s.container(c)
	if err != nil {
		return err
	}
	v, err := decodeObject(c.req.Body)
	if err != nil {
		return err
	}
	if err := s.checkWebhooks(c, v); err != nil {
		return err
	}
	now, err := coll.ChangeSettings(c.ctx(), func(settings *store.ContainerSettings) error {
		return patchSettings(settings, v)
	})
	if err != nil {
		return err
	}
	return c.sendSettings(now)
}

// checkWebhooks refuses a patch that names a webhook which must not be: 403.
func (s *Server) checkWebhooks(c *call, patch doc.Value) error {
	var asked store.ContainerSettings
	if err := patchSettings(&asked, patch); err != nil || asked.ExpiryEvents == nil || s.opt.CheckWebhook == nil {
		return err
	}
	if len(asked.ExpiryEvents.Webhooks) > store.MaxWebhooks {
		return nil // which the store refuses
	}
	for _, w := range asked.ExpiryEvents.Webhooks {
		if err := s.opt.CheckWebhook(c.ctx(), w.URL); err != nil {
			return wireErr(http.StatusForbidden, 0, "The webhook '"+cosmos.Excerpt(w.URL, cosmos.MaxExcerpt)+"' cannot be set: "+err.Error()+".")
		}
	}
	return nil
}

func (c *call) sendSettings(s store.ContainerSettings) error {
	body, err := json.Marshal(settingsBody{s.OnExpire, s.TTLCeiling, s.AutoDeleteOnIdle, s.ExpiryEvents, s.Reaper})
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, body)
}

// patchSettings applies a patch to settings.
func patchSettings(s *store.ContainerSettings, patch doc.Value) (err error) {
	patch.Each(func(name string, v doc.Value) bool {
		switch name {
		case "onExpire":
			s.OnExpire, err = decodeSetting[*store.OnExpire](name, v, doc.Object)
		case "ttlCeiling":
			s.TTLCeiling, err = decodeSetting[bool](name, v, doc.Bool)
		case "autoDeleteOnIdle":
			s.AutoDeleteOnIdle, err = decodeSetting[int](name, v, doc.Number)
		case "expiryEvents":
			s.ExpiryEvents, err = decodeSetting[*store.ExpiryEvents](name, v, doc.Object)
		case "reaper":
			s.Reaper, err = decodeSetting[*store.ReaperSettings](name, v, doc.Object)
		default:
			err = badRequest("'" + name + "' is not known: the settings are 'onExpire', 'ttlCeiling', 'autoDeleteOnIdle', 'expiryEvents' and 'reaper'.")
		}
		return err == nil
	})
	return err
}

// decodeSetting reads one setting, which is null or of a kind. Members of an object that are not known are
// refused.
func decodeSetting[T any](name string, v doc.Value, kind doc.Kind) (setting T, err error) {
	if v.Kind() == doc.Null {
		return setting, nil
	}
	if v.Kind() != kind {
		return setting, badRequest("'" + name + "' must be " + kind.String() + " or null.")
	}
	d := json.NewDecoder(bytes.NewReader(v.Raw()))
	d.DisallowUnknownFields()
	if err := d.Decode(&setting); err != nil {
		return setting, badRequest("'" + name + "' is not what it must be: " + err.Error())
	}
	return setting, nil
}
