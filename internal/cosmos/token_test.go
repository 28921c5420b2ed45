package cosmos

import (
	"encoding/base64"
	"strings"
	"testing"
)

// FuzzToken: a token that this server did not make is refused, and with a typed error.
func FuzzToken(f *testing.F) {
	a := NewResourceTokens([]byte("key"))
	payload := base64.StdEncoding.EncodeToString([]byte(`{"p":"x","c":"AQAAAJ0fgTc=","k":["a"],"n":1,"x":2}`))
	f.Add(a.seal(payload)[:43] + "x;" + payload + ";")
	f.Add(";;")
	f.Add(payload)
	f.Fuzz(func(t *testing.T, signature string) {
		g, err := a.Open(signature)
		w, internal := Classify(err)
		if mac, rest, _ := strings.Cut(signature, ";"); err == nil && mac == a.seal(strings.SplitN(rest, ";", 2)[0]) {
			return
		}
		if g != nil || err == nil || internal || w.Status != 401 {
			t.Errorf("%q: %v %v", signature, g, err)
		}
	})
}
