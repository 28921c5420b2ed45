// Command go runs the scenarios of ../../servicebus.md with the official SDK for Go.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

func main() {
	var f commandLineSettings
	flag.StringVar(&f.amqp, "amqp", "", "host and port without TLS")
	flag.StringVar(&f.admin, "admin", "", "host and port of the administration, with TLS")
	flag.StringVar(&f.tls, "tls", "", "host and port of AMQP and WebSocket with TLS")
	flag.StringVar(&f.mayfly, "mayfly", "", "URL of the server's own routes")
	flag.StringVar(&f.control, "control", "", "URL before stop and kill, which end the server")
	only := flag.String("only", "", "names of the scenarios to run, with commas between")
	flag.BoolVar(&f.running, "running-clock", false, "do not reset the server's clock before a scenario")
	times := flag.Bool("times", false, "tell how long each one took")
	flag.Parse()
	if f.amqp == "" || f.admin == "" || f.tls == "" || f.mayfly == "" {
		flag.Usage()
		os.Exit(2)
	}
	names := func(string) bool { return true }
	if *only != "" {
		wanted := strings.Split(*only, ",")
		names = func(name string) bool { return slices.Contains(wanted, name) }
	}
	if !run(f, names, *times) {
		os.Exit(1)
	}
}

// run runs the scenarios for whose names wanted returns true, and prints a line for each. It returns true if
// none of them failed. If times is set, it also prints how long each scenario has taken.
func run(f commandLineSettings, wanted func(name string) bool, times bool) bool {
	passed, failed, absent := 0, 0, 0
	all := slices.Concat(sending, peeking, settling, locks, scheduling, ttl, sessions, topics, forwarding,
		transactions, processors, restarts, administration, failing)
	for _, s := range all {
		if !wanted(s.name) {
			continue
		}
		began, line := time.Now(), ""
		var missing unsupportedScenario
		switch err := one(f, s); {
		case err == nil:
			passed++
			line = "ok " + s.name
		case errors.As(err, &missing):
			absent++
			line = "no-api " + s.name + ": " + string(missing)
		default:
			failed++
			line = "FAIL " + s.name + ": " + strings.Join(strings.Fields(err.Error()), " ")
		}
		if times {
			line += fmt.Sprintf(" (%d ms)", time.Since(began).Milliseconds())
		}
		fmt.Println(line)
	}
	fmt.Printf("azservicebus %s: %d/%d (%d no-api)\n", version(), passed, passed+failed, absent)
	return failed == 0 && passed > 0
}

// version returns the version of the SDK with which this program was built.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if ok {
		for _, d := range info.Deps {
			if strings.HasSuffix(d.Path, "/azservicebus") {
				return d.Version
			}
		}
	}
	return "unknown"
}
