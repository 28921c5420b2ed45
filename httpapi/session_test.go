package httpapi

import (
	"fmt"
	"testing"
)

// TestSessionRule: a read that brings a position which its range has not reached is refused, at once, since every
// position that was ever told is durable; positions of ranges that the container does not have do not count.
func TestSessionRule(t *testing.T) {
	w := smallWorld(t)
	at := w.do("GET", docs+"/i", "", pk(`["a"]`)...).want(200).header.Get("lsn")
	var now int
	if _, err := fmt.Sscan(at, &now); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		token           string
		code, substatus int
	}{
		{fmt.Sprintf("0:-1#%d", now), 200, 0},
		{fmt.Sprintf("0:%d", now), 200, 0},
		{fmt.Sprintf("0:5#%d#1=9999#2=-1", now), 200, 0},
		{fmt.Sprintf("7:-1#%d", now+1000), 200, 0},
		{fmt.Sprintf("7:-1#%d,0:-1#%d", now+1000, now), 200, 0},
		{fmt.Sprintf("0:-1#%d", now+1), 404, 1002},
		{fmt.Sprintf("7:-1#1,0:-1#%d", now+1000), 404, 1002},
		{"0:-1", 200, 0},
		{"0:x", 400, 0},
		{"nonsense", 400, 0},
		{"0:-1#", 400, 0},
	} {
		session := []string{"x-ms-session-token", tc.token}
		for what, a := range map[string]*answer{
			"read":  w.do("GET", docs+"/i", "", append(session, pk(`["a"]`)...)...),
			"list":  w.do("GET", docs, "", session...),
			"query": w.do("POST", docs, `{"query":"SELECT * FROM c"}`, queryHeaders(session...)...),
		} {
			if got := a.header.Get("x-ms-substatus"); a.code != tc.code || tc.substatus != 0 && got != fmt.Sprint(tc.substatus) {
				t.Errorf("%s with %s: %d/%s, want %d/%d", what, tc.token, a.code, got, tc.code, tc.substatus)
			}
		}
	}
}
