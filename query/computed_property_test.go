package query

import (
	"errors"
	"github.com/mayflydb/mayfly/query/internal/bind"
	"github.com/mayflydb/mayfly/query/internal/plan"
	"github.com/mayflydb/mayfly/query/internal/queryerror"
	"strings"
	"testing"
)

func TestCheckComputed(t *testing.T) {
	t.Parallel()
	for text, why := range map[string]string{
		"SELECT VALUE LOWER(c.name) FROM c":                        "",
		"SELECT VALUE {a: c.n, b: [c.n * 2]} FROM root c":          "",
		"SELECT VALUE TimestampToDateTime(c._ts * 1000) FROM c":    "",
		"SELECT VALUE c.p FROM c":                                  "", // the stored property that it hides
		"SELECT VALUE c.other FROM c":                              "computed property 'other'",
		"SELECT VALUE c['other'].x FROM c":                         "computed property 'other'",
		"SELECT VALUE c.x.other FROM c":                            "",
		"SELECT VALUE RAND() FROM c":                               "RAND",
		"SELECT VALUE c.a + GetCurrentTimestamp() FROM c":          "GETCURRENTTIMESTAMP",
		"SELECT VALUE GetCurrentDateTimeStatic() FROM c":           "GETCURRENTDATETIMESTATIC",
		"SELECT VALUE ST_AREA(c.g) FROM c":                         "ST_AREA",
		"SELECT VALUE udf.f(c.a) FROM c":                           "user defined",
		"SELECT VALUE (SELECT VALUE c.a) FROM c":                   "'p'",
		"SELECT VALUE EXISTS(SELECT VALUE x FROM x IN c.l) FROM c": "'p'",
		"SELECT VALUE COUNT(1) FROM c":                             "'p'",
		"SELECT VALUE @x FROM c":                                   "parameter",
		"SELECT DISTINCT VALUE c.a FROM c":                         "alone",
		"SELECT TOP 1 VALUE c.a FROM c":                            "alone",
		"SELECT VALUE c.a FROM c ORDER BY c.a":                     "alone",
		"SELECT VALUE c.a FROM c OFFSET 1 LIMIT 1":                 "alone",
		"SELECT VALUE c.a FROM c WHERE c.b":                        "'p'",
		"SELECT VALUE c.a FROM c GROUP BY c.a":                     "'p'",
		"SELECT VALUE c.a FROM c JOIN d IN c.l":                    "'p'",
		"SELECT VALUE 1":                                           "'p'",
		"SELECT VALUE nobody.a FROM c":                             "nobody",
		"SELECT VALUE c. FROM c":                                   "Syntax error",
	} {
		err := plan.CheckComputed([]bind.ComputedProperty{{Name: "p", Query: text},
			{Name: "other", Query: "SELECT VALUE c.a FROM c"}})
		var wrong *queryerror.Error
		if (why == "") != (err == nil) || err != nil &&
			(!errors.As(err, &wrong) || !strings.Contains(err.Error(), why)) {
			t.Errorf("%s: %v, want %q", text, err, why)
		}
	}
}
