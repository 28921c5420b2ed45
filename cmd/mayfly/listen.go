package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"time"
)

// listen opens the ports of the server. If the first port, which is the requested one, cannot be opened,
// listen fails. The other ports are optional: if one is in use, listen only logs a warning.
func listen(ctx context.Context, f *serveFlags, log *slog.Logger) ([]net.Listener, error) {
	first, err := listenOn(ctx, f.host, f.port)
	if err != nil {
		return nil, err
	}
	all := []net.Listener{first}
	extra := func(host string, port int, level slog.Level) {
		ln, err := listenOn(ctx, host, port)
		if err != nil {
			log.Log(ctx, level, "an additional port is not available", "error", err)
			return
		}
		all = append(all, ln)
	}
	twin := f.usesIPv6Loopback() // the machine may have no IPv6
	if twin {
		extra("::1", portOf(first), slog.LevelDebug)
	}
	compute, err := f.compute()
	if err != nil || compute == 0 {
		return all, err
	}
	extra(f.host, compute, slog.LevelWarn)
	if twin {
		extra("::1", compute, slog.LevelDebug)
	}
	return all, nil
}

func listenOn(ctx context.Context, host string, port int) (net.Listener, error) {
	address := net.JoinHostPort(host, strconv.Itoa(port))
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		failed := &listenError{address: address, err: err}
		if failed.inUse() {
			failed.mayfly = isMayfly(ctx, address)
		}
		return nil, failed
	}
	return ln, nil
}

// neighborTimeout limits a request to the program that uses a port which Mayfly was to listen on.
const neighborTimeout = time.Second

// isMayfly reports whether a Mayfly server answers at an address.
func isMayfly(ctx context.Context, address string) bool {
	client := http.Client{Timeout: neighborTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/_mayfly/livez", nil)
	if err != nil {
		return false
	}
	res, err := client.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	var alive struct{ Status string }
	err = json.NewDecoder(io.LimitReader(res.Body, 1<<10)).Decode(&alive)
	return err == nil && alive.Status == "ok"
}

func portOf(ln net.Listener) int {
	if a, ok := ln.Addr().(*net.TCPAddr); ok {
		return a.Port
	}
	return 0
}
