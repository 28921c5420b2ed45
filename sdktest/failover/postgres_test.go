package failover

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// postgresServer is one PostgreSQL that runs for the test.
type postgresServer struct {
	dir  string
	port int
	run  *launchedProcess
}

// newPostgresServer starts a PostgreSQL whose data are in dir.
func newPostgresServer(t *testing.T, dir string) *postgresServer {
	t.Helper()
	d := &postgresServer{dir: dir, port: freePort(t)}
	launch(t, dir, "initdb.log", program(t, "initdb"), "-D", d.data(), "-U", "mayfly", "-A", "trust",
		"-E", "UTF8", "--locale=C").finish()
	t.Cleanup(func() { // behind the servers, which end first
		if d.run != nil {
			end(d.run.cmd.Process.Pid, func() bool { return d.run.ended() })
			d.run.finish()
		}
		show(t, filepath.Join(d.dir, "postgres.log"))
	})
	d.start(t)
	return d
}

// end stops the PostgreSQL server with the process id postmaster, so that it frees its shared memory. If
// ended still returns false after ten seconds, it kills the server.
func end(postmaster int, ended func() bool) {
	_ = signalAll(postmaster, syscall.SIGCONT) // it may stand still, or have ended
	_ = syscall.Kill(postmaster, syscall.SIGINT)
	for limit := time.Now().Add(10 * time.Second); !ended(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(limit) {
			_ = killAll(postmaster)
			return
		}
	}
}

// ended reports whether a process has ended.
func (p *launchedProcess) ended() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// finish waits until a process ends by itself.
func (p *launchedProcess) finish() { <-p.exited }

func (d *postgresServer) data() string { return filepath.Join(d.dir, "data") }

// start starts PostgreSQL and waits until it answers.
func (d *postgresServer) start(t *testing.T) {
	t.Helper()
	d.run = launch(t, d.dir, "postgres.log", program(t, "postgres"), "-D", d.data(), "-p", fmt.Sprint(d.port),
		"-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "max_connections=200")
	eventually(t, time.Minute, "PostgreSQL answers", func() bool {
		_, err := d.query("SELECT 1")
		return err == nil
	})
}

// crash kills PostgreSQL with all its processes, so that it cannot shut down properly.
func (d *postgresServer) crash(t *testing.T) {
	t.Helper()
	must(t, killAll(d.run.cmd.Process.Pid))
	d.run.finish()
}

func (d *postgresServer) query(sql string) (string, error) {
	out, err := exec.Command("psql", "-Atc", sql, d.url()).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (d *postgresServer) exec(t *testing.T, sql string) {
	t.Helper()
	if out, err := d.query(sql); err != nil {
		t.Fatalf("%s: %v: %s", sql, err, out)
	}
}

func (d *postgresServer) url() string { return d.urlAt(fmt.Sprintf("127.0.0.1:%d", d.port)) }

// urlAt returns the connection string of the database with another host and port, such as those of a
// proxy.
func (d *postgresServer) urlAt(address string) string {
	return "postgres://mayfly@" + address + "/postgres?sslmode=disable"
}
