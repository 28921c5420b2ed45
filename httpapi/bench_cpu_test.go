//go:build unix

package httpapi

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/internal/requestlog"
	"github.com/mayflydb/mayfly/ttl"
)

// BenchmarkRecordedPointRead measures the processor time that the log of requests adds to a point read over
// HTTP. Rounds with and without the log alternate in one process, so that both meet the same load of the
// machine; the longer half of the rounds is left out.
func BenchmarkRecordedPointRead(b *testing.B) {
	w := newServerUnderTest(b, realClocks)
	w.wall.Advance(ttl.SystemClock{}.Now().Sub(w.wall.Now()))
	w.container("")
	w.do("POST", docs, `{"id":"1","pk":"a","text":"`+strings.Repeat("x", 1000)+`"}`, pk(`["a"]`)...).want(201)
	date := w.wall.Now().UTC().Format(http.TimeFormat)
	request := fmt.Appendf(nil, "GET %s/1 HTTP/1.1\r\nHost: localhost:8081\r\nAccept: application/json\r\n"+
		"User-Agent: azsdk-net-cosmos/3.1\r\nAuthorization: %s\r\nX-Ms-Date: %s\r\nX-Ms-Version: "+
		"2020-11-05\r\n"+
		"X-Ms-Documentdb-Partitionkey: [\"a\"]\r\nX-Ms-Session-Token: 0:-1#1\r\nCache-Control: "+
		"no-cache\r\n\r\n",
		docs, AuthorizationHeader(Sign(w.key, "GET", "docs", strings.TrimPrefix(docs, "/")+"/1", date)), date)
	same := w.do("GET", docs+"/1", "", pk(`["a"]`)...).want(200)
	conn := newBenchConn(b, w.serving(b))
	log := fullLog()
	round := func(n int, log *requestlog.Log) time.Duration {
		w.srv.opt.Requests = log
		before := processorTime(b)
		for range n {
			conn.roundTrip(b, request, same.body)
		}
		return processorTime(b) - before
	}
	const perRound = 200
	round(perRound, log)
	var with, without []time.Duration
	b.ResetTimer()
	for i := range max(4, b.N/(2*perRound)) {
		if i%2 == 0 {
			with = append(with, round(perRound, log))
			without = append(without, round(perRound, nil))
		} else {
			without = append(without, round(perRound, nil))
			with = append(with, round(perRound, log))
		}
	}
	on, off := undisturbed(with)/perRound, undisturbed(without)/perRound
	b.ReportMetric(100*(on/off-1), "%added")
	b.ReportMetric(on-off, "added-ns")
	b.ReportMetric(off, "cpu-ns")
}

// undisturbed returns the mean duration, in nanoseconds, of the shorter half of the rounds, since other
// programs can only make a round longer.
func undisturbed(rounds []time.Duration) float64 {
	slices.Sort(rounds)
	rounds = rounds[:len(rounds)/2]
	var sum time.Duration
	for _, d := range rounds {
		sum += d
	}
	return float64(sum) / float64(len(rounds))
}

// processorTime returns the time that the process has used, in user and system mode.
func processorTime(tb testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
