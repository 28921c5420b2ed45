package httpapi

import (
	"strings"
	"testing"
)

// TestAnswerMemory: where the answers of others take all the memory, a page is refused with 429 and a time to come back, and an item is
// answered all the same. What a request has taken is given back.
func TestAnswerMemory(t *testing.T) {
	w := newWorld(t)
	w.container("")
	w.do("POST", docs, `{"id":"1","pk":"a","text":"`+strings.Repeat("x", 200_000)+`"}`, pk(`["a"]`)...).want(201)
	a := w.srv.answers
	if !a.room.TryAcquire(a.most) {
		t.Fatal("memory is missing")
	}
	r := w.do("POST", docs, `{"query":"SELECT * FROM c"}`, queryHeaders(pk(`["a"]`)...)...)
	r.fails(429, substatusThrottled, "take all the memory").head("x-ms-retry-after-ms", "1000")
	w.do("GET", "/_mayfly/livez", "").want(200)
	a.room.Release(a.most)
	w.do("POST", docs, `{"query":"SELECT * FROM c"}`, queryHeaders(pk(`["a"]`)...)...).want(200)
	w.do("GET", docs+"/1", "", pk(`["a"]`)...).want(200)
	if !a.room.TryAcquire(a.most) {
		t.Error("a request has kept memory")
	}
}

// TestAnswerMemoryLimits: the share of one request, and the least that there is.
func TestAnswerMemoryLimits(t *testing.T) {
	if got := newAnswers(answerMemory(0)); got.most > defaultAnswerMemory || got.share() != got.most/10 {
		t.Errorf("%d, %d", got.most, got.share())
	}
	if got := answerMemory(1); got != 10*smallAnswer {
		t.Errorf("%d", got)
	}
}
