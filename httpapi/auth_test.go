package httpapi

import (
	"encoding/base64"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/cosmos"
	"github.com/mayflydb/mayfly/ttl"
)

const signedDate = "Thu, 27 Apr 2017 00:51:12 GMT"

var signedAt = time.Date(2017, 4, 27, 0, 51, 12, 0, time.UTC)

func decodeKey(t testing.TB, key string) []byte {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(key)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func TestSign(t *testing.T) {
	t.Parallel()
	const documented = "dsZQi3KtZmCv1ljt3VNWNm7sQUF1y5rJfC6kv5JiwvW0EndXdDku/dkKBp8/ufDToSxLzR4y+O/0H/t4bQtVNw=="
	for _, v := range []struct{ key, verb, kind, link, want string }{
		{documented, "GET", "dbs", "dbs/ToDoList", "c09PEVJrgp2uQRkr934kFbTqhByc7TVr3OHyqlu+c+c="},
		{EmulatorKey, "GET", "", "", "gFB1bRB/PLJTG3bCgMuoVgNzOyFvZAamzEtLuSITjRc="},
		{EmulatorKey, "GET", "dbs", "dbs/ToDoList", "mM0rMK/7o1MZhQwDitGRoGisPRPx09os/86Jk0YwquY="},
		{EmulatorKey, "POST", "dbs", "", "CHjhNtQltyEuPdWLf2/f+hSkSlYg+7UuFlwMyv8L7mI="},
		{EmulatorKey, "POST", "docs", "dbs/ToDoList/colls/Items",
			"xsGOVdJuhdfCMSf88b/z4eUsnekTR9zZqIIh8juDTYo="},
		{EmulatorKey, "GET", "docs", "dbs/ToDoList/colls/Items/docs/Päth one",
			"3X96e36viWfho+WU3PcpDYKzk5I0ue6qN9panh9TGgg="},
		{EmulatorKey, "GET", "pkranges", "hpxdal+dzlq=", "6i2z72tl6MiBs2jaF0Jrjni0usIRS040sTGkV4O1Psg="},
		{EmulatorKey, "PUT", "offers", "abcd", "vGiPiWNCulLEKSYX3Ykew/tp7K7KiQ980nmZRAJFQs0="},
	} {
		if got := Sign(decodeKey(t, v.key), v.verb, v.kind, v.link, signedDate); got != v.want {
			t.Errorf("%s %s %q: %s, want %s", v.verb, v.kind, v.link, got, v.want)
		}
	}
	const encoded = "type%3Dmaster%26ver%3D1.0%26sig%3DgFB1bRB%2FPLJTG3bCgMuoVgNzOyFvZAamzEtLuSITjRc%3D"
	if got := AuthorizationHeader("gFB1bRB/PLJTG3bCgMuoVgNzOyFvZAamzEtLuSITjRc="); got != encoded {
		t.Errorf("header %s", got)
	}
}

// signedRequest holds the parts of a request that are needed to check its signature.
type signedRequest struct {
	verb, path, query string
	authorization     string
	date              string // x-ms-date
	plainDate         string // date
}

func (a signedRequest) verify(t *testing.T, auth *authorizer) (credentialKind, targetResource, error) {
	t.Helper()
	to, err := parseTarget(a.path, a.query)
	if err != nil {
		t.Fatal(err)
	}
	p := authHeaders{authorization: a.authorization, xDate: a.date, date: a.plainDate}
	with, _, err := auth.verify(a.verb, &p, &to)
	return with, to, err
}

func newTestAuthority(t testing.TB, key string, at time.Time) *authorizer {
	t.Helper()
	a, err := newAuthority(key, true, ttl.NewManual(at))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestSignatureLinks(t *testing.T) {
	t.Parallel()
	auth, key := newTestAuthority(t, EmulatorKey, signedAt), decodeKey(t, EmulatorKey)
	for name, tc := range map[string]struct{ verb, path, query, kind, link, leaf string }{
		"unescaped": {"GET", "/dbs/a%20b/colls/c/docs/x%2Fy", "", "docs", "dbs/a b/colls/c/docs/x/y",
			"x/y"},
		"trailing slash": {"GET", "/dbs/a/colls/c/docs/x", "", "docs", "dbs/a/colls/c/docs/x/", "x"},
		"question mark": {"GET", "/dbs/a/colls/c/docs/x", "y%20z", "docs", "dbs/a/colls/c/docs/x?y z",
			"x?y z"},
		"plain with query": {"GET", "/dbs/a/colls/c/docs/x", "pretty", "docs", "dbs/a/colls/c/docs/x", "x"},
		"rid lower": {"GET", "/dbs/HpxDAA==/colls/HpxDAIt3MtQ=/pkranges/", "", "pkranges",
			"hpxdait3mtq=", "HpxDAIt3MtQ="},
		"rid as it is": {"GET", "/dbs/HpxDAA==/colls/HpxDAIt3MtQ=/pkranges", "", "pkranges",
			"HpxDAIt3MtQ=", "HpxDAIt3MtQ="},
		"name like a rid": {"GET", "/dbs/HpxDAA==/colls/things", "", "colls", "dbs/HpxDAA==/colls/things",
			"things"},
		"feed": {"POST", "//dbs/", "", "dbs", "", ""},
		"partition delete": {"POST", "/dbs/a/colls/c/operations/partitionkeydelete", "", "colls",
			"dbs/a/colls/c", "c"},
		"offer": {"PUT", "/offers/AbCd", "", "offers", "abcd", "AbCd"},
		"own":   {"PUT", "/_mayfly/clock", "", "", "_mayfly/clock", ""},
	} {
		signature := Sign(key, tc.verb, tc.kind, tc.link, signedDate)
		for form, header := range map[string]string{
			"encoded": AuthorizationHeader(signature), "plain": "type=master&ver=1.0&sig=" + signature,
			"version 1": "type=master&ver=1&sig=" + signature, "with a tail": "type=master&ver=1.0&sig=" +
				signature + ",x",
		} {
			with, to, err := signedRequest{verb: tc.verb, path: tc.path, query: tc.query,
				authorization: header,
				date:          signedDate}.verify(t, auth)
			if err != nil || with != masterSignature || to.Leaf() != tc.leaf {
				t.Errorf("%s, %s: leaf %q, error %v", name, form, to.Leaf(), err)
			}
		}
	}
}

// TestSignatureOfEscapedLink checks that a signature over a link with percent-escapes is refused for the
// item whose id results from unescaping. Clients sign unescaped links.
func TestSignatureOfEscapedLink(t *testing.T) {
	t.Parallel()
	auth, key := newTestAuthority(t, EmulatorKey, signedAt), decodeKey(t, EmulatorKey)
	for _, tc := range []struct{ path, query, link string }{
		{"/dbs/a/colls/c/docs/a%20b", "", "dbs/a/colls/c/docs/a%20b"},
		{"/dbs/a%20b/colls/c/docs/x%2Fy", "", "dbs/a%20b/colls/c/docs/x%2Fy"},
		{"/dbs/a/colls/c/docs/x%20", "y%20z", "dbs/a/colls/c/docs/x%20?y%20z"},
		{"/dbs/a/colls/c/docs/x", "y%20z", "dbs/a/colls/c/docs/x?y%20z"},
	} {
		header := AuthorizationHeader(Sign(key, "GET", "docs", tc.link, signedDate))
		_, to, err := signedRequest{verb: "GET", path: tc.path, query: tc.query, authorization: header,
			date: signedDate}.verify(t, auth)
		if w, _ := cosmos.Classify(err); err == nil || w.Status != 401 {
			t.Errorf("%s?%s reaches %q, error %v", tc.path, tc.query, to.Leaf(), err)
		}
	}
}

func TestAuthorizationRefused(t *testing.T) {
	t.Parallel()
	key := decodeKey(t, EmulatorKey)
	good := AuthorizationHeader(Sign(key, "GET", "dbs", "dbs/a", signedDate))
	for name, tc := range map[string]struct {
		now               time.Time
		header            string
		date, plain       string
		status, substatus int
		text              string
	}{
		"nothing": {signedAt, "", signedDate, "", 401, 5000,
			"Required Header authorization is missing"},
		"not a token":  {signedAt, "hello", signedDate, "", 401, 5001, "malformed"},
		"bad escape":   {signedAt, "type%3", signedDate, "", 401, 5001, "malformed"},
		"no signature": {signedAt, "type=master&ver=1.0", signedDate, "", 401, 5001, "malformed"},
		"no version":   {signedAt, "type=master&sig=abc", signedDate, "", 401, 5001, "version"},
		"other version": {signedAt, "type=master&ver=2.0&sig=abc", signedDate, "", 401, 5001,
			"version"},
		"unknown type": {signedAt, "type=guest&ver=1.0&sig=abc", signedDate, "", 401, 5001, "type"},
		"long": {signedAt, "type=master&ver=1.0&sig=" + strings.Repeat("A", 1024), signedDate,
			"", 401, 5001, "long"},
		"very long": {signedAt, "Bearer " + strings.Repeat("A", 1<<15), signedDate, "", 401, 5001,
			"long"},
		"wrong signature": {signedAt, AuthorizationHeader(Sign(key, "GET", "dbs", "dbs/b", signedDate)),
			signedDate, "", 401, 0, "The input authorization token can't serve the request"},
		"payload shown": {signedAt, AuthorizationHeader(Sign(key, "GET", "dbs", "dbs/b", signedDate)),
			signedDate, "", 401, 0, "'get\ndbs\ndbs/a\nthu, 27 apr 2017 00:51:12 gmt\n\n'"},
		"short signature": {signedAt, "type=master&ver=1.0&sig=AAAA", signedDate, "", 401, 0,
			"can't serve"},
		"wrong key": {signedAt,
			AuthorizationHeader(Sign([]byte("other"), "GET", "dbs", "dbs/a",
				signedDate)), signedDate, "", 401, 0, "can't serve"},
		"no date":         {signedAt, good, "", "", 401, 0, "x-ms-date"},
		"bad date":        {signedAt, good, "2017-04-27T00:51:12Z", "", 401, 0, "RFC 1123"},
		"date not signed": {signedAt, good, "", signedDate, 401, 0, "can't serve"},
		"16 minutes late": {signedAt.Add(16 * time.Minute), good, signedDate, "", 403, 0,
			"not valid at the current time"},
		"16 minutes early": {signedAt.Add(-16 * time.Minute), good, signedDate, "", 403, 0,
			"not valid at the current time"},
		"resource token": {signedAt, "type=resource&ver=1&sig=abc%3D;def;", signedDate, "", 401, 0,
			"was changed"},
		"bearer of other key": {signedAt, "Bearer c2VjcmV0", signedDate, "", 401, 0, "master key"},
	} {
		_, _, err := signedRequest{verb: "GET", path: "/dbs/a", authorization: tc.header, date: tc.date,
			plainDate: tc.plain}.verify(t, newTestAuthority(t, EmulatorKey, tc.now))
		w, defect := cosmos.Classify(err)
		if err == nil || defect || w.Status != tc.status || w.Substatus != tc.substatus ||
			!strings.Contains(w.Message, tc.text) {
			t.Errorf("%s: %d/%d %v", name, w.Status, w.Substatus, err)
		}
	}
}

func TestAuthorizationAccepted(t *testing.T) {
	t.Parallel()
	key := decodeKey(t, EmulatorKey)
	s := newSigner(key)
	s.payload("GET", "dbs", "dbs/a", "", signedDate)
	s.sign()
	byDate := AuthorizationHeader(string(s.encoded[:]))
	utc := strings.Replace(signedDate, "GMT", "UTC", 1)
	for name, tc := range map[string]struct {
		now    time.Time
		a      signedRequest
		expect credentialKind
	}{
		"15 minutes late": {signedAt.Add(15 * time.Minute),
			signedRequest{authorization: AuthorizationHeader(Sign(key, "get", "dbs", "dbs/a", signedDate)),
				date: signedDate}, masterSignature},
		"15 minutes early": {signedAt.Add(-15 * time.Minute),
			signedRequest{authorization: AuthorizationHeader(Sign(key, "GET", "dbs", "dbs/a", signedDate)),
				date: signedDate}, masterSignature},
		"UTC": {signedAt,
			signedRequest{authorization: AuthorizationHeader(Sign(key, "GET", "dbs", "dbs/a", utc)),
				date: utc}, masterSignature},
		"lower case": {signedAt,
			signedRequest{authorization: AuthorizationHeader(Sign(key, "GET", "dbs", "dbs/a", signedDate)),
				date: strings.ToLower(signedDate)}, masterSignature},
		"date header": {signedAt, signedRequest{authorization: byDate, plainDate: signedDate},
			masterSignature},
		"bearer": {signedAt, signedRequest{authorization: "bearer " + EmulatorKey}, masterKey},
	} {
		tc.a.verb, tc.a.path = "GET", "/dbs/a"
		if with, _, err := tc.a.verify(t, newTestAuthority(t, EmulatorKey, tc.now)); err != nil ||
			with != tc.expect {
			t.Errorf("%s: %d, %v", name, with, err)
		}
	}
	lax, err := newAuthority(EmulatorKey, false, ttl.NewManual(signedAt.AddDate(9, 0, 0)))
	if err != nil {
		t.Fatal(err)
	}
	a := signedRequest{verb: "GET", path: "/dbs/a",
		authorization: AuthorizationHeader(Sign(key, "GET", "dbs", "dbs/a", signedDate)), date: signedDate}
	if _, _, err := a.verify(t, lax); err != nil {
		t.Errorf("without the clock check: %v", err)
	}
}

func TestDirectoryToken(t *testing.T) {
	t.Parallel()
	enc := base64.RawURLEncoding.EncodeToString
	token := func(payload, proof string) string {
		return "type=aad&ver=1.0&sig=" +
			enc([]byte(`{"typ":"JWT","alg":"RS256","kid":"CosmosEmulatorPrimaryMaster"}`)) + "." +
			enc([]byte(payload)) + "." + enc([]byte(proof))
	}
	alive := `{"aud":"https://localhost.localhost","exp":` + strconv.FormatInt(signedAt.Unix()+1, 10) + `}`
	dead := `{"exp":` + strconv.FormatInt(signedAt.Unix(), 10) + `}`
	const ownKey = "c2VjcmV0c2VjcmV0"
	for name, tc := range map[string]struct {
		key, header string
		substatus   int // 0: accepted
	}{
		"emulator":      {EmulatorKey, token(alive, EmulatorKey), 0},
		"any signature": {EmulatorKey, token(alive, "something"), 0},
		"encoded": {EmulatorKey,
			strings.NewReplacer("=", "%3D", "&", "%26").Replace(token(alive, "x")), 0},
		"expired":                {EmulatorKey, token(dead, EmulatorKey), 5006},
		"no expiry":              {EmulatorKey, token(`{}`, EmulatorKey), 5006},
		"not JSON":               {EmulatorKey, token(`{`, EmulatorKey), 5007},
		"two parts":              {EmulatorKey, "type=aad&ver=1.0&sig=e30.e30", 5007},
		"own key, its proof":     {ownKey, token(alive, ownKey), 0},
		"own key, other proof":   {ownKey, token(alive, EmulatorKey), 5007},
		"own key, expired proof": {ownKey, token(dead, ownKey), 5006},
	} {
		with, _, err := signedRequest{verb: "GET", path: "/dbs/a", authorization: tc.header}.verify(t,
			newTestAuthority(t, tc.key, signedAt))
		w, _ := cosmos.Classify(err)
		if tc.substatus == 0 && (err != nil || with != directoryToken) || tc.substatus != 0 &&
			(err == nil || w.Status != 401 || w.Substatus != tc.substatus) {
			t.Errorf("%s: %d/%d %v", name, w.Status, w.Substatus, err)
		}
	}
}

func TestBadKey(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"not base64!", ""} {
		if _, err := newAuthority(key, true, ttl.SystemClock{}); err == nil {
			t.Errorf("the key %q was accepted", key)
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	auth := newTestAuthority(b, EmulatorKey, signedAt)
	p := authHeaders{xDate: signedDate,
		authorization: AuthorizationHeader(Sign(decodeKey(b, EmulatorKey), "GET",
			"docs", "dbs/a/colls/b/docs/c", signedDate))}
	b.ReportAllocs()
	for b.Loop() {
		to, err := parseTarget("/dbs/a/colls/b/docs/c", "")
		if err == nil {
			_, _, err = auth.verify("GET", &p, &to)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
