//go:build long

package endurance

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/sdktest"
)

var shapeScale = flag.Float64("scale", 0.02, "share of the full sizes of TestGrowthOfShapes")

// growthTestDataKind is a kind of data whose size n TestGrowthOfShapes varies.
type growthTestDataKind struct {
	name         string // of n, for the table
	small, large int    // values of n at the scale 1
	fixed        bool   // the sizes do not depend on the scale
	measure      func(*dataShapeServer, int)
}

// dataShapeServer is a server with data of one shape and size, and the measurements made of it.
type dataShapeServer struct {
	t      *testing.T
	s      *sdktest.Server
	c, q   *client // of documents, of Service Bus's management and messages
	dir    string
	values []dataShapeMeasurement
}

// dataShapeMeasurement is one value of a column of the table.
type dataShapeMeasurement struct {
	name  string
	value float64
	unit  string
	// slack is how much larger the value of the larger size may be than three times the value of the
	// smaller one; negative if the value may depend on the size.
	slack float64
}

// TestGrowthOfShapes measures servers with many logical partitions, with one large partition, many
// containers, large documents, many indexed paths, many messages in a queue, and many queues, each with a
// small and a large number of them. It fails if a time or the memory grows although it should not depend on
// the number.
func TestGrowthOfShapes(t *testing.T) {
	for _, shape := range []growthTestDataKind{
		{"logical partitions", 1000, 100_000, false, measureKeys},
		{"documents in one logical partition", 10_000, 1_000_000, false, measureOneKey},
		{"containers", 100, 10_000, false, measureContainers},
		{"bytes in a document", 20_000, 2_000_000, true, measureLargeDocuments},
		{"indexed paths in a document", 10, 100, true, measurePaths},
		{"messages in one queue", 10_000, 1_000_000, false, measureMessages},
		{"queues", 100, 9_900, false, measureQueues},
	} {
		t.Run(strings.ReplaceAll(shape.name, " ", "_"), func(t *testing.T) { shape.compare(t) })
	}
}

func (d growthTestDataKind) compare(t *testing.T) {
	var columns [2][]dataShapeMeasurement
	sizes := [2]int{d.small, d.large}
	for i, n := range sizes {
		if !d.fixed {
			n = max(int(float64(n)**shapeScale), 10)
		}
		sizes[i] = n
		s := startDataShapeServer(t)
		d.measure(s, n)
		must(t, s.s.Stop())
		columns[i] = s.values
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| %s | %d | %d |\n|---|---|---|\n", d.name, sizes[0], sizes[1])
	for i, large := range columns[1] {
		small := columns[0][i]
		fmt.Fprintf(&b, "| %s | %.4g %s | %.4g %s |\n", large.name, small.value, small.unit, large.value, large.unit)
		if large.slack >= 0 && large.value > 3*small.value+large.slack {
			t.Errorf("%s: %.4g %s with %d %s, %.4g with %d", large.name, small.value, small.unit, sizes[0], d.name,
				large.value, sizes[1])
		}
	}
	t.Log("\n" + b.String())
}

func startDataShapeServer(t *testing.T) *dataShapeServer {
	s := &dataShapeServer{t: t, dir: filepath.Join(t.TempDir(), "data")}
	s.s, s.c, s.q = startServer(t, s.dir, 24*time.Hour)
	return s
}

// add adds a measurement that may depend on the size.
func (s *dataShapeServer) add(name string, value float64, unit string) {
	s.values = append(s.values, dataShapeMeasurement{name, value, unit, -1})
}

// steady adds a measurement that must not depend on the size, but for the given slack.
func (s *dataShapeServer) steady(name string, value float64, unit string, slack float64) {
	s.values = append(s.values, dataShapeMeasurement{name, value, unit, slack})
}

// times calls f several times and adds its median time.
func (s *dataShapeServer) times(name string, times int, f func(i int)) {
	var list []time.Duration
	for i := range times {
		from := time.Now()
		f(i)
		list = append(list, time.Since(from))
	}
	slices.Sort(list)
	s.steady(name+", median", milliseconds(list[len(list)/2]), "ms", 5)
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// restarts stops and starts the server, kills and starts it, and adds the times and the idle memory.
func (s *dataShapeServer) restarts() {
	peaked := peak(s.s.PID())
	s.add("memory, at most", float64(peaked>>10), "MB")
	start := func() float64 {
		from := time.Now()
		must(s.t, s.s.Start(s.t.Context()))
		return milliseconds(time.Since(from))
	}
	must(s.t, s.s.Stop())
	s.steady("start after a normal stop", start(), "ms", 1000)
	must(s.t, s.s.Kill())
	s.steady("start after kill -9", start(), "ms", 1000)
	time.Sleep(2 * time.Second)
	s.steady("memory, idle after a start", float64(memory(s.s.PID())>>10), "MB", 100)
	s.add("disk space", float64(folder(s.dir)>>10), "KB")
}

// query queries the container c, in one logical partition unless key is empty.
func (s *dataShapeServer) query(key, text string) {
	headers := []string{"x-ms-documentdb-isquery", "true", "Content-Type", "application/query+json"}
	if key == "" {
		headers = append(headers, "x-ms-documentdb-query-enablecrosspartition", "true", "x-ms-documentdb-partitionkeyrangeid", "0")
	} else {
		headers = append(headers, "x-ms-documentdb-partitionkey", `["`+key+`"]`)
	}
	s.c.want(s.t, 200, "POST", items, fmt.Sprintf(`{"query":%q}`, text), headers...)
}

func (s *dataShapeServer) read(id int, key string) {
	s.c.want(s.t, 200, "GET", fmt.Sprint(items, "/", id), "", "x-ms-documentdb-partitionkey", `["`+key+`"]`)
}

func (s *dataShapeServer) createContainer(id string) {
	s.c.want(s.t, 201, "POST", "dbs/d/colls", `{"id":"`+id+`","partitionKey":{"paths":["/pk"],"version":2},"defaultTtl":-1}`)
}

// load imports n documents into the container c.
func (s *dataShapeServer) load(n int, document func(i int) string) {
	s.createContainer("c")
	from := time.Now()
	fill(s.t, s.s, n, document)
	s.add("import", float64(n)/time.Since(from).Seconds(), "/s")
}

// smallDocument returns a document of about 300 bytes.
func smallDocument(i int, key string) string {
	return fmt.Sprintf(`{"id":"%d","pk":%q,"number":%d,"team":%d,"name":"name %d","filler":"%0200d"}`, i, key, i, i%1000, i*7919%1_000_003, i)
}

func measureKeys(s *dataShapeServer, n int) {
	documents := 3 * max(int(100_000**shapeScale), 1000)
	key := func(i int) string { return fmt.Sprint("key", i%n) }
	s.load(documents, func(i int) string { return smallDocument(i, key(i)) })
	s.times("point read", 1000, func(i int) { s.read(i*7919%documents, key(i*7919%documents)) })
	s.times("20 documents of a partition", 200, func(i int) {
		s.query(key(i*7919), "SELECT TOP 20 * FROM c ORDER BY c._ts DESC")
	})
	s.times("equality in all partitions, 20 rows", 100, func(i int) {
		s.query("", fmt.Sprintf("SELECT TOP 20 * FROM c WHERE c.team = %d", i))
	})
	from := time.Now()
	s.query("", "SELECT TOP 100 c.pk, COUNT(1) AS n FROM c GROUP BY c.pk")
	s.add("GROUP BY the partition key, TOP 100", milliseconds(time.Since(from)), "ms")
	s.times("delete of a partition", 50, func(i int) {
		s.c.want(s.t, 200, "POST", "dbs/d/colls/c/operations/partitionkeydelete", "", "x-ms-documentdb-partitionkey", `["`+key(i)+`"]`)
	})
	s.restarts()
}

func measureOneKey(s *dataShapeServer, n int) {
	s.load(n, func(i int) string { return smallDocument(i, "one") })
	s.times("point read", 1000, func(i int) { s.read(i*7919%n, "one") })
	s.times("the 10 latest", 200, func(int) { s.query("one", "SELECT TOP 10 * FROM c ORDER BY c._ts DESC") })
	s.times("equality and ORDER BY, 10 rows", 200, func(i int) {
		s.query("one", fmt.Sprintf("SELECT TOP 10 * FROM c WHERE c.number >= %d ORDER BY c.number", i*7919%n))
	})
	s.times("write", 200, func(i int) { s.upsert(n+i, "one") })
	from := time.Now()
	s.query("one", "SELECT VALUE COUNT(1) FROM c WHERE c.number >= 5")
	s.add("COUNT of all, first", milliseconds(time.Since(from)), "ms")
	s.restarts()
	from = time.Now()
	s.c.want(s.t, 200, "POST", "dbs/d/colls/c/operations/partitionkeydelete", "", "x-ms-documentdb-partitionkey", `["one"]`)
	s.steady("delete of the partition", milliseconds(time.Since(from)), "ms", 20)
	s.times("write after it", 200, func(i int) { s.upsert(i, "one") })
}

func (s *dataShapeServer) upsert(id int, key string) {
	a, err := s.c.do(s.t.Context(), "POST", items, smallDocument(id, key), "x-ms-documentdb-partitionkey", `["`+key+`"]`,
		"x-ms-documentdb-is-upsert", "True")
	if must(s.t, err); a.status != http.StatusCreated && a.status != http.StatusOK {
		s.t.Fatalf("upsert: %d %.300s", a.status, a.body)
	}
}

// inParallel calls f(0) to f(n-1), eight at a time, and returns the number of calls a second.
func inParallel(n int, f func(i int)) float64 {
	from := time.Now()
	var all sync.WaitGroup
	for k := range 8 {
		all.Go(func() {
			for i := k; i < n; i += 8 {
				f(i)
			}
		})
	}
	all.Wait()
	return float64(n) / time.Since(from).Seconds()
}

func measureContainers(s *dataShapeServer, n int) {
	s.createContainer("c")
	s.add("creates, 8 at a time", inParallel(n, func(i int) { s.createContainer(fmt.Sprint("c", i)) }), "/s")
	s.times("create", 50, func(i int) { s.createContainer(fmt.Sprint("more", i)) })
	s.times("read of a container", 200, func(i int) { s.c.want(s.t, 200, "GET", fmt.Sprint("dbs/d/colls/c", i%n), "") })
	s.times("list, 100 containers", 20, func(int) {
		s.c.want(s.t, 200, "GET", "dbs/d/colls", "", "x-ms-max-item-count", "100")
	})
	s.times("first write of a container", min(n, 200), func(i int) {
		s.c.want(s.t, 201, "POST", fmt.Sprint("dbs/d/colls/c", i, "/docs"), smallDocument(1, "a"), "x-ms-documentdb-partitionkey", `["a"]`)
	})
	for i := 200; i < n; i++ {
		s.c.want(s.t, 201, "POST", fmt.Sprint("dbs/d/colls/c", i, "/docs"), smallDocument(1, "a"), "x-ms-documentdb-partitionkey", `["a"]`)
	}
	s.restarts()
	s.times("first point read of a container", min(n, 200), func(i int) {
		s.c.want(s.t, 200, "GET", fmt.Sprint("dbs/d/colls/c", i, "/docs/1"), "", "x-ms-documentdb-partitionkey", `["a"]`)
	})
	s.times("change of the default TTL", 20, func(i int) {
		s.c.want(s.t, 200, "PUT", fmt.Sprint("dbs/d/colls/c", i%n), fmt.Sprintf(`{"id":"c%d","partitionKey":{"paths":["/pk"],"version":2},"defaultTtl":1}`, i%n))
	})
	from := time.Now()
	for purgedItems(s.t, s.c) < min(n, 20) {
		time.Sleep(20 * time.Millisecond)
		if time.Since(from) > time.Minute {
			s.t.Fatal("expired documents are not purged")
		}
	}
	s.steady("until 20 containers are purged", milliseconds(time.Since(from)), "ms", 3000)
	s.times("delete of a container", 50, func(i int) { s.c.want(s.t, 204, "DELETE", fmt.Sprint("dbs/d/colls/more", i), "") })
	s.add("delete of the database", func() float64 {
		from := time.Now()
		s.c.want(s.t, 204, "DELETE", "dbs/d", "")
		return milliseconds(time.Since(from))
	}(), "ms")
}

func measureLargeDocuments(s *dataShapeServer, bytes int) {
	s.createContainer("c")
	filler := strings.Repeat("0123456789abcdef", (bytes-400)/16)
	doc := func(i int) string {
		return fmt.Sprintf(`{"id":"%d","pk":"a","number":%d,"filler":%q}`, i, i, filler)
	}
	n := max(int(400_000_000**shapeScale)/bytes, 20)
	rate := inParallel(n, func(i int) {
		s.c.want(s.t, 201, "POST", items, doc(i), "x-ms-documentdb-partitionkey", `["a"]`)
	})
	s.add("creates, 8 at a time", rate*float64(bytes)/1e6, "MB/s")
	s.add("reads, 8 at a time", inParallel(n, func(i int) { s.read(i, "a") })*float64(bytes)/1e6, "MB/s")
	s.add("patches of one number", inParallel(n, func(i int) {
		s.c.want(s.t, 200, "PATCH", fmt.Sprint(items, "/", i), `{"operations":[{"op":"incr","path":"/number","value":1}]}`,
			"x-ms-documentdb-partitionkey", `["a"]`)
	}), "/s")
	s.times("query of a number", 100, func(i int) {
		s.query("a", fmt.Sprintf("SELECT c.number FROM c WHERE c.number = %d", i%n))
	})
	s.restarts()
}

func measurePaths(s *dataShapeServer, n int) {
	documents := max(int(20_000**shapeScale), 500)
	rng := rand.New(rand.NewPCG(1, 6))
	s.load(documents, func(i int) string {
		var b strings.Builder
		fmt.Fprintf(&b, `{"id":"%d","pk":"k%d"`, i, i%100)
		for k := range n {
			fmt.Fprintf(&b, `,"p%d":%d`, k, rng.IntN(1000))
		}
		return b.String() + "}"
	})
	s.times("point read", 500, func(i int) { s.read(i%documents, fmt.Sprint("k", i%documents%100)) })
	s.times("equality, 20 rows", 100, func(i int) {
		s.query("", fmt.Sprintf("SELECT TOP 20 * FROM c WHERE c.p%d = %d", i%n, i))
	})
	s.restarts()
}

func (s *dataShapeServer) createQueue(name string) {
	s.q.want(s.t, 201, "PUT", name+"?api-version=2021-05", `<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml">`+
		`<QueueDescription xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"></QueueDescription></content></entry>`,
		"Content-Type", "application/atom+xml")
}

func (s *dataShapeServer) send(queue string, i int) {
	s.q.want(s.t, 201, "POST", queue+"/messages", fmt.Sprintf("%0300d", i), "BrokerProperties", fmt.Sprintf(`{"MessageId":"m%d"}`, i))
}

// receive receives and deletes a message of the queue q.
func (s *dataShapeServer) receive(queue string) {
	s.q.want(s.t, 200, "DELETE", queue+"/messages/head?timeout=5", "")
}

func measureMessages(s *dataShapeServer, n int) {
	s.createQueue("q")
	n = max(n, 2000) / 100 * 100
	filler := strings.Repeat("0123456789", 30)
	s.add("sends, batches of 100, 8 at a time", 100*inParallel(n/100, func(i int) {
		var list []string
		for k := range 100 {
			list = append(list, fmt.Sprintf(`{"Body":%q,"BrokerProperties":{"MessageId":"b%d-%d"}}`, filler, i, k))
		}
		s.q.want(s.t, 201, "POST", "q/messages", "["+strings.Join(list, ",")+"]", "Content-Type", "application/vnd.microsoft.servicebus.json")
	}), "/s")
	s.times("send", 300, func(i int) { s.send("q", i) })
	s.times("receive and delete", 300, func(int) { s.receive("q") })
	s.times("lock and complete", 300, func(int) {
		a := s.q.want(s.t, 201, "POST", "q/messages/head?timeout=5", "")
		at, err := a.location()
		must(s.t, err)
		s.q.want(s.t, 200, "DELETE", at, "")
	})
	s.times("number of messages in the description", 50, func(int) {
		a := s.q.want(s.t, 200, "GET", "q?api-version=2021-05&enrich=true", "")
		if want := fmt.Sprintf("<ActiveMessageCount>%d<", n-300); !strings.Contains(strings.ReplaceAll(string(a.body), "d2p1:", ""), want) {
			s.t.Fatalf("the description has not %s: %.3000s", want, a.body)
		}
	})
	s.restarts()
	s.times("receive and delete after a start", 300, func(int) { s.receive("q") })
	s.add("receives, 8 at a time", inParallel(min(n/2, 20_000), func(int) { s.receive("q") }), "/s")
	from := time.Now()
	s.q.want(s.t, 200, "DELETE", "q?api-version=2021-05", "")
	s.steady("delete of the queue", milliseconds(time.Since(from)), "ms", 100)
}

func measureQueues(s *dataShapeServer, n int) {
	s.add("creates, 8 at a time", inParallel(n, func(i int) { s.createQueue(fmt.Sprint("q", i)) }), "/s")
	s.times("create", 50, func(i int) { s.createQueue(fmt.Sprint("more", i)) })
	s.times("list, 100 queues", 20, func(int) {
		s.q.want(s.t, 200, "GET", "$Resources/queues?api-version=2021-05&$skip=0&$top=100", "")
	})
	s.times("read of a queue", 200, func(i int) { s.q.want(s.t, 200, "GET", fmt.Sprint("q", i%n, "?api-version=2021-05"), "") })
	s.times("first send to a queue", min(n, 200), func(i int) { s.send(fmt.Sprint("q", i), i) })
	for i := 200; i < n; i++ {
		s.send(fmt.Sprint("q", i), i)
	}
	s.restarts()
	s.times("receive after a start", min(n, 200), func(i int) { s.receive(fmt.Sprint("q", i)) })
	s.times("delete of a queue", 50, func(i int) { s.q.want(s.t, 200, "DELETE", fmt.Sprint("more", i, "?api-version=2021-05"), "") })
}
