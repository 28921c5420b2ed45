package httpapi

import (
	"fmt"
	"testing"
)

// TestSessionRule: a read that brings a position which its range has not reached is refused, at once, since
// every position that was ever told is durable; positions of ranges that the container does not have do not
// count.
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
			if got := a.header.Get("x-ms-substatus"); a.code != tc.code || tc.substatus != 0 &&
				got != fmt.Sprint(tc.substatus) {
				t.Errorf("%s with %s: %d/%s, want %d/%d", what, tc.token, a.code, got, tc.code, tc.substatus)
			}
		}
	}
}

// TestSessionVersions: a store that begins anew at each start has small LSNs, and a token of an earlier
// start, which has seen more, does not keep a client from reading. Of the present start it is still taken
// seriously.
func TestSessionVersions(t *testing.T) {
	start := func(version int64) *world {
		w := newWorld(t, func(s *setup) { s.server.SessionVersion = version })
		w.container("")
		return w
	}
	read := func(w *world, token string) *answer {
		return w.do("GET", docs+"/1", "", append(pk(`["a"]`), "x-ms-session-token", token)...)
	}
	write := func(w *world) string {
		return w.do("POST", docs, `{"id":"1","pk":"a"}`, append(pk(`["a"]`), "x-ms-documentdb-is-upsert",
			"true")...).header.Get("X-Ms-Session-Token")
	}
	first := start(1700000000000)
	var old string
	for range 20 {
		old = write(first)
	}
	if old != "0:1700000000000#20" {
		t.Errorf("token %q", old)
	}
	read(first, old).want(200)
	second := start(1700000000001)
	read(second, old).fails(404, 0, "Resource Not Found")
	if token := write(second); token != "0:1700000000001#1" {
		t.Errorf("token %q", token)
	}
	read(second, old).want(200)
	read(second, "0:1700000000001#1").want(200)
	read(second, "0:1700000000001#2").fails(404, 1002, "")
	read(second, old+",0:1700000000001#2").fails(404, 1002, "")
	read(second, "0:-1#2").fails(404, 1002, "")
	disk := start(0)
	if token := write(disk); token != "0:-1#1" {
		t.Errorf("token %q", token)
	}
	read(disk, "0:5#2").fails(404, 1002, "")
}
