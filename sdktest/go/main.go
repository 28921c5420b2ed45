// Command go runs the scenarios of ../scenarios.md with the official SDK for Go.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
)

func main() {
	var f commandLineSettings
	flag.StringVar(&f.endpoint, "endpoint", "", "the server's URL")
	flag.IntVar(&f.ranges, "ranges", 1, "partition ranges of a new container")
	flag.StringVar(&f.control, "control", "", "URL that stops and kills the server, with stop and kill after it")
	flag.BoolVar(&f.running, "running-clock", false, "do not freeze the server's clock at the start")
	only := flag.String("only", "", "names of the scenarios to run, with commas between; all of them if empty")
	flag.Parse()
	if f.endpoint == "" {
		flag.Usage()
		os.Exit(2)
	}
	names := func(string) bool { return true }
	if *only != "" {
		wanted := strings.Split(*only, ",")
		names = func(name string) bool { return slices.Contains(wanted, name) }
	}
	if !run(f, names) {
		os.Exit(1)
	}
}

// run runs the scenarios for which wanted returns true, and reports whether none of them failed.
func run(f commandLineSettings, wanted func(name string) bool) bool {
	if !f.running {
		if err := changeClock(f.endpoint, `{"freeze": true}`); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return false
		}
	}
	passed, failed, absent := 0, 0, 0
	for _, s := range slices.Concat(account, items, keys, queries, writes, feed, others, ttl, moves) {
		if !wanted(s.name) {
			continue
		}
		var missing missingAPI
		switch err := one(f, s); {
		case err == nil:
			passed++
			fmt.Println("ok", s.name)
		case errors.As(err, &missing):
			absent++
			fmt.Printf("no-api %s: %s\n", s.name, missing)
		default:
			failed++
			fmt.Printf("FAIL %s: %s\n", s.name, strings.Join(strings.Fields(err.Error()), " "))
		}
	}
	fmt.Printf("azcosmos %s: %d/%d (%d no-api)\n", version(), passed, passed+failed, absent)
	return failed == 0 && passed > 0
}

// version returns the version of the SDK with which this program was built.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if ok {
		for _, d := range info.Deps {
			if strings.HasSuffix(d.Path, "/azcosmos") {
				return d.Version
			}
		}
	}
	return "unknown"
}
