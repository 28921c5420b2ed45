package rest

import (
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/queue/access"
)

// TestRuleValues checks that the values in filters and actions are returned with the types and texts that
// the client sent, because clients compare them.
func TestRuleValues(t *testing.T) {
	t.Parallel()
	w := newServerUnderTest(t, access.TokenVerifierOptions{})
	w.put(201, "/t", "TopicDescription", "")
	w.put(201, "/t/Subscriptions/s", "SubscriptionDescription", "")
	parameter := func(key, kind, text string) string {
		return "<KeyValueOfstringanyType><Key>" + key + `</Key><Value i:type="x:` + kind + `">` + text +
			"</Value></KeyValueOfstringanyType>"
	}
	told := func(key, kind, text string) string {
		return "<Key>" + key + `</Key><Value xmlns:d6p1="` + nsSchema + `" i:type="d6p1:` + kind + `">` +
			text + "</Value>"
	}
	const path = "/t/Subscriptions/s/Rules/r"
	for _, c := range [][2]string{{"dateTime", "2026-11-26T20:20:54.2369066Z"}, {"dateTime",
		"2020-07-05T11:12:13"},
		{"dateTime", "2020-07-05T11:12:13+02:00"}, {"long", "5"}, {"int", "5"}, {"long", "5000000000"},
		{"short", "-3"},
		{"byte", "-1"}, {"unsignedByte", "255"}, {"unsignedShort", "1"}, {"unsignedInt", "4294967295"},
		{"unsignedLong", "18446744073709551615"}, {"float", "1.5"}, {"double", "3"}, {"double", "1.50"},
		{"decimal", "79228162514264337593543950335"}, {"boolean", "true"}, {"string", " a b "}, {"duration",
			"PT60S"}} {
		for _, elements := range []string{
			`<Filter i:type="SqlFilter"><SqlExpression>a = @p</SqlExpression><Parameters>` + parameter("@p",
				c[0], c[1]) +
				`</Parameters></Filter><Action i:type="SqlRuleAction"><SqlExpression>SET b = ` +
				`@p</SqlExpression><Parameters>` +
				parameter("@p", c[0], c[1]) + `</Parameters></Action>`,
			`<Filter i:type="CorrelationFilter"><Properties>` + parameter("p", c[0], c[1]) +
				`</Properties></Filter>`} {
			w.put(201, path, "RuleDescription", elements)
			body := w.must(200, "GET", path, "").body
			key, times := "p", 1
			if strings.Contains(elements, "@p") {
				key, times = "@p", 2
			}
			if strings.Count(body, told(key, c[0], c[1])) != times {
				t.Errorf("%s %q is told as %s", c[0], c[1], body)
			}
			w.must(200, "DELETE", path, "")
		}
	}
	for _, c := range [][2]string{{"byte", "128"}, {"unsignedInt", "-1"}, {"int", "2147483648"}, {"long",
		"1.5"},
		{"unsignedLong", "18446744073709551616"}, {"dateTime", "yesterday"}} {
		w.put(400, path, "RuleDescription", `<Filter i:type="CorrelationFilter"><Properties>`+
			parameter("p", c[0], c[1])+`</Properties></Filter>`)
	}
	w.put(201, path, "RuleDescription", `<Filter i:type="SqlFilter"><SqlExpression> a = 1 `+
		`</SqlExpression></Filter>`+
		`<Action i:type="SqlRuleAction"><SqlExpression>SET b = 2 </SqlExpression></Action>`)
	for _, want := range []string{"<SqlExpression> a = 1 </SqlExpression>",
		"<SqlExpression>SET b = 2 </SqlExpression>"} {
		if body := w.must(200, "GET", path, "").body; !strings.Contains(body, want) {
			t.Errorf("%s is told as %s", want, body)
		}
	}
	w.must(200, "DELETE", path, "")
	w.put(201, path, "RuleDescription", `<Filter i:type="CorrelationFilter"><Label> red </Label></Filter>`)
	if body := w.must(200, "GET", path, "").body; !strings.Contains(body, "<Label> red </Label>") {
		t.Errorf("a label is told as %s", body)
	}
}
