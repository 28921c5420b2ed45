package access

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"
)

// fixedClock is a clock that stands still.
type fixedClock time.Time

func (c fixedClock) Now() time.Time { return time.Time(c) }

func (c fixedClock) After(time.Duration) (<-chan time.Time, func()) { return nil, func() {} }

var noon = time.Date(2025, 1, 1, 12, 0, 0, 0, time.UTC)

func strict() *TokenVerifier {
	return New(TokenVerifierOptions{Mode: Strict, Wall: fixedClock(noon), Keys: []Key{EmulatorKey(),
		{"listener", Listen, "a+b/c="}, {"sender", Send, "s"}}})
}

func reasonOf(err error) RefusalReason {
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return 0
}

// signed returns a shared access signature by key. escaped is the resource, already escaped, and end the
// expiry time in seconds since 1970. The signature comes first, as some clients write it.
func signed(key Key, escaped, end string) string {
	mac := hmac.New(sha256.New, []byte(key.Text))
	mac.Write([]byte(escaped + "\n" + end))
	sum := url.QueryEscape(base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return "SharedAccessSignature sig=" + sum + "&se=" + end + "&skn=" + key.Name + "&sr=" + escaped
}

func TestSignatures(t *testing.T) {
	root, end := EmulatorKey(), "1735732801" // a second after noon
	for name, c := range map[string]struct {
		token string
		want  RefusalReason
		path  string
	}{
		"lower case": {signed(root, "https%3a%2f%2flocalhost%3a5301%2fq1%3fapi-version%3d2021-05", end), 0,
			"q1"},
		"upper case":    {signed(root, "sb%3A%2F%2Flocalhost%2FQ1%2F", end), 0, "q1"},
		"namespace":     {signed(root, "amqp%3A%2F%2Flocalhost", end), 0, ""},
		"bare name":     {signed(root, "q2", end), 0, "q2"},
		"bare host":     {signed(root, "localhost%3A5301", end), 0, ""},
		"management":    {signed(root, "amqp%3A%2F%2Fh%2Fq%2F%24management", end), 0, "q"},
		"expires now":   {signed(root, "q", "1735732800"), Expired, ""},
		"wrong key":     {signed(Key{EmulatorName, All, "other"}, "q", end), Forged, ""},
		"no such key":   {signed(Key{"nobody", All, "other"}, "q", end), Unknown, ""},
		"no end":        {signed(root, "q", "soon"), Malformed, ""},
		"nothing":       {"", Missing, ""},
		"another word":  {"Basic abc", Malformed, ""},
		"parts missing": {"SharedAccessSignature sr=q", Malformed, ""},
		"bad signature": {"SharedAccessSignature sr=q&sig=%zz&se=" + end + "&skn=" + EmulatorName, Forged,
			""},
		"too long": {strings.Repeat("x", maxToken+1), Malformed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			grant, err := strict().Token(c.token)
			if reasonOf(err) != c.want || (err == nil) != (c.want == 0) {
				t.Fatalf("Token: %v", err)
			}
			if got := strings.Join(grant.Path, "/"); got != c.path {
				t.Errorf("it is for %q, want %q", got, c.path)
			}
		})
	}
}

func TestSignedTokenIsAccepted(t *testing.T) {
	g := strict()
	for _, k := range []Key{EmulatorKey(), {"listener", Listen, "a+b/c="}} {
		grant, err := g.Token(Sign(k, "https://localhost/a b/c+d", noon.Add(time.Hour)))
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Allow(grant, "A b/C+d/$DeadLetterQueue", Listen); err != nil {
			t.Error(err)
		}
	}
}

func TestAllow(t *testing.T) {
	g := strict()
	token := func(key Key, resource string) GrantedRights {
		grant, err := g.Token(Sign(key, resource, noon.Add(time.Minute)))
		if err != nil {
			t.Fatal(err)
		}
		return grant
	}
	root := token(EmulatorKey(), "sb://x")
	listener := token(Key{"listener", Listen, "a+b/c="}, "sb://x/news/Subscriptions/all")
	sender := token(Key{"sender", Send, "s"}, "sb://x/orders")
	late := root
	late.Expires = noon.Unix()
	for name, c := range map[string]struct {
		grant GrantedRights
		path  string
		need  Rights
		want  RefusalReason
	}{
		"managing sends":   {root, "orders", Send, 0},
		"managing manages": {root, "", Manage, 0},
		"listening":        {listener, "NEWS/subscriptions/ALL/$deadletterqueue", Listen, 0},
		"sibling":          {listener, "news/subscriptions/all2", Listen, Elsewhere},
		"above":            {listener, "news", Listen, Elsewhere},
		"not sending":      {listener, "news/subscriptions/all", Send, Lacking},
		"sending":          {sender, "orders", Send, 0},
		"not listening":    {sender, "orders", Listen, Lacking},
		"not managing":     {sender, "orders", Manage, Lacking},
		"nobody":           {GrantedRights{}, "orders", Send, Missing},
		"late":             {late, "orders", Send, Expired},
	} {
		if err := g.Allow(c.grant, c.path, c.need); reasonOf(err) != c.want || (err == nil) != (c.want == 0) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := g.Renews(root); !got.Equal(noon.Add(time.Minute)) {
		t.Errorf("Renews is %v", got)
	}
}

func TestModes(t *testing.T) {
	wrong := signed(Key{EmulatorName, All, "other"}, "q", "1")
	emulator, off := New(TokenVerifierOptions{Wall: fixedClock(noon)}), New(TokenVerifierOptions{Mode: Off})
	if grant, err := emulator.Token(wrong); err != nil || emulator.Allow(grant, "any", Manage) != nil {
		t.Errorf("the emulators' key is public, yet: %v", err)
	}
	if _, err := emulator.Token(signed(Key{"nobody", All, "x"}, "q", "1")); reasonOf(err) != Unknown {
		t.Errorf("a key that is not there: %v", err)
	}
	if _, err := emulator.Password(EmulatorName, "whatever"); err != nil {
		t.Error(err)
	}
	if err := emulator.Allow(emulator.Anonymous(), "q", Send); reasonOf(err) != Missing {
		t.Errorf("nobody: %v", err)
	}
	if grant, err := off.Token(""); err != nil || off.Allow(grant, "q", All) != nil ||
		off.Allow(off.Anonymous(), "q", All) != nil {
		t.Error("Off keeps somebody out")
	}
	g := strict()
	for password, want := range map[string]RefusalReason{EmulatorText: 0, "other": Forged} {
		if _, err := g.Password(EmulatorName, password); reasonOf(err) != want {
			t.Errorf("password %q: %v", password, err)
		}
	}
}

func TestWebTokens(t *testing.T) {
	enc := base64.RawURLEncoding.EncodeToString
	token := func(payload, proof string) string {
		return strings.Join([]string{enc([]byte(`{}`)), enc([]byte(payload)), enc([]byte(proof))}, ".")
	}
	future := `{"exp":1735732801}`
	for name, c := range map[string]struct {
		token        string
		lax, careful RefusalReason
	}{
		"with the key": {"Bearer " + token(future, EmulatorText), 0, 0},
		"bare":         {token(future, EmulatorText), 0, 0},
		"any":          {token(future, "x"), 0, Unknown},
		"of a sender":  {token(future, "s"), 0, Unknown},
		"expired":      {token(`{"exp":1}`, EmulatorText), 0, Expired},
		"no JSON":      {"Bearer a.b.c", Malformed, Malformed},
	} {
		if _, err := New(TokenVerifierOptions{}).Token(c.token); reasonOf(err) != c.lax {
			t.Errorf("%s, Emulator: %v", name, err)
		}
		if _, err := strict().Token(c.token); reasonOf(err) != c.careful {
			t.Errorf("%s, Strict: %v", name, err)
		}
	}
}

func TestParseKey(t *testing.T) {
	k, err := ParseKey("worker:send+LISTEN:a:b=")
	if want := (Key{"worker", Listen | Send, "a:b="}); err != nil || k != want {
		t.Errorf("got %v, %v", k, err)
	}
	for _, bad := range []string{"", "a", "a:Listen", ":Listen:x", "a:Listen:", "a::x", "a:Read:x",
		"a;b:Listen:x"} {
		var e *KeyError
		if _, err := ParseKey(bad); !errors.As(err, &e) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if got := (Listen | Manage).String(); got != "Listen+Manage" {
		t.Error(got)
	}
}

func FuzzToken(f *testing.F) {
	f.Add(Sign(EmulatorKey(), "sb://x/q", noon))
	f.Add("Bearer e30.e30.e30")
	g := strict()
	f.Fuzz(func(t *testing.T, text string) {
		grant, err := g.Token(text)
		if err == nil {
			err = g.Allow(grant, "q", Listen)
		}
		if err != nil && reasonOf(err) == 0 {
			t.Errorf("an untyped error: %v", err)
		}
	})
}
