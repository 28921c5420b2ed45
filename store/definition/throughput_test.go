package definition

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mayflydb/mayfly/store/fault"
)

func TestThroughput(t *testing.T) {
	for _, c := range []struct {
		manual, autoscale int
		ranges            int    // of a new container; 0 where it is refused
		json              string // in the catalog
	}{
		{0, 0, 1, `{}`},
		{400, 0, 1, `{"manual":400}`},
		{10_000, 0, 1, `{"manual":10000}`},
		{10_100, 0, 2, `{"manual":10100}`},
		{12_000, 0, 2, `{"manual":12000}`},
		{12_100, 0, 3, `{"manual":12100}`},
		{21_000, 0, 4, `{"manual":21000}`},
		{25_100, 0, 5, `{"manual":25100}`},
		{1_000_000, 0, 167, `{"manual":1000000}`},
		{0, 1000, 1, `{"autoscale":1000}`},
		{0, 5000, 1, `{"autoscale":5000}`},
		{0, 21_000, 4, `{"autoscale":21000}`},
		{300, 0, 0, ""}, {450, 0, 0, ""}, {-400, 0, 0, ""}, {1_000_100, 0, 0, ""}, {1, 0, 0, ""},
		{0, 900, 0, ""}, {0, 1500, 0, ""}, {0, -1000, 0, ""}, {0, 1_001_000, 0, ""},
		{400, 1000, 0, ""},
	} {
		asked := Throughput{Manual: c.manual, Autoscale: c.autoscale}
		err := asked.Validate()
		if c.ranges == 0 {
			if fault.ErrorCode(err) != fault.CodeBadRequest {
				t.Errorf("%+v: %v", asked, err)
			}
			continue
		}
		text, _ := json.Marshal(asked)
		if err != nil || asked.Ranges() != c.ranges || string(text) != c.json || asked.IsZero() != (c.json == "{}") {
			t.Errorf("%+v: %v, %d ranges, %s", asked, err, asked.Ranges(), text)
		}
	}
	if err := (Throughput{Manual: 50}).Validate(); !strings.Contains(err.Error(), "between 400 and 1000000 inclusive in increments of 100") {
		t.Error(err)
	}
}
