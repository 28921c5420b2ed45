package requestlog

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// memberPattern and pairPattern match the secrets in a body that maskBody must mask.
var (
	memberPattern = regexp.MustCompile(`(?i)("(?:_token|token|key|masterkey|primarykey|secondarykey|` +
		`secret|password|authorization|signature|connectionstring)"\s*:\s*")(?:[^"\\]|\\.)*("|$)` +
		`|(<(?:PrimaryKey|SecondaryKey|Token|SharedAccessKey)>)[^<]*(</)`)
	pairPattern = regexp.MustCompile(`(?i)((?:SharedAccessKey|AccountKey|SharedAccessSignature|sig)` +
		`(?:=|%3d))[^;&"\s<\\]+`)
)

// TestMaskBody checks that maskBody masks the same secrets in random JSON and XML as a replacement by regular
// expressions does.
func TestMaskBody(t *testing.T) {
	common := []string{`:`, ` `, `,`, `=`, `%3D`, `%3d`, `%`, `;`, `&`, `\\`, "\n", "a", "é", "key", "sig",
		"Sig=", "SharedAccessKey", "accountkey=", "sharedaccesssignature", "MasterKey"}
	json := append([]string{`"`, `"`, `{`, `\"`, `"key":"`, `"Key" : "`, `"keys":"`, `"_token":"x"`,
		`"connectionString":"`, `"id":"`}, common...)
	xml := append([]string{`<`, `</`, `>`, `<Token>`, `<primarykey>`, `</Token>`}, common...)
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 200_000 {
		parts := [][]string{json, xml}[n%2]
		b := []byte(" ") // a body that begins with é would be taken as binary JSON
		for range r.IntN(12) {
			b = append(b, parts[r.IntN(len(parts))]...)
		}
		want := memberPattern.ReplaceAll(b, []byte("${1}${3}"+masked+"${2}${4}"))
		want = pairPattern.ReplaceAll(want, []byte("${1}"+masked))
		if got := maskBody(b); !bytes.Equal(got, want) {
			t.Fatalf("%q becomes %q, not %q", b, got, want)
		}
	}
}

// BenchmarkMaskBody measures maskBody for the body of an import of 100 documents without secrets.
func BenchmarkMaskBody(b *testing.B) {
	document := `{"id":"0000000001","pk":"user-000001","type":"order","status":"paid","age":33,` +
		`"address":{"city":"abcdefgh"},"note":"` + strings.Repeat("lorem ip ", 100) + `"},`
	body := bytes.Repeat([]byte(document), 100)
	b.SetBytes(int64(min(len(body), MaxBody+cutMargin)))
	b.ReportAllocs()
	for b.Loop() {
		maskBody(body)
	}
}
