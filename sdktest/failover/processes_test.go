package failover

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mayflydb/mayfly/sdktest"
)

var binary string // of the server, built once

func TestMain(m *testing.M) {
	if os.Getenv(roundsVariable) == "" {
		os.Exit(m.Run())
	}
	os.Exit(sdktest.RunTests(&binary, m.Run))
}

const roundsVariable = "MAYFLY_FAILOVER"

// rounds returns how often a test repeats its failure: the number in the environment variable
// MAYFLY_FAILOVER. If that is not set, it skips the test.
func rounds(t *testing.T) int {
	t.Helper()
	text := os.Getenv(roundsVariable)
	if text == "" {
		t.Skip(roundsVariable + " is not set")
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q is not a number of rounds", roundsVariable, text)
	}
	return n
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually waits until holds returns true. If that takes longer than within, the test fails; what names
// the condition.
func eventually(t *testing.T, within time.Duration, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(within); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", within, what)
		}
	}
}

var nextPort atomic.Int32

// freePort returns a port that nobody listens on and that no other call returns. A port is also free while
// its server restarts, so each process begins at another port: otherwise the clients of a test could reach
// the server of a process that runs at the same time.
func freePort(t *testing.T) int {
	t.Helper()
	const first, count = 22_100, 10_000 // below the ports that Linux gives to outgoing connections
	for {
		n := int(nextPort.Add(1))
		if n > count {
			t.Fatal("no port is free")
		}
		port := first + (os.Getpid()*997+n)%count
		ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			must(t, ln.Close())
			return port
		}
	}
}

// newFolder creates a folder for the data of PostgreSQL: in shared memory if there are more than 2 GB
// free, since a commit does not wait for a disk there, otherwise on disk.
func newFolder(t *testing.T) string {
	t.Helper()
	base := os.TempDir()
	var fs syscall.Statfs_t
	if err := syscall.Statfs("/dev/shm", &fs); err == nil && fs.Bavail*uint64(fs.Bsize) > 2<<30 {
		base = "/dev/shm"
	}
	dir, err := os.MkdirTemp(base, "mayfly-failover-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, errors.Join(os.Chmod(dir, 0o755), os.Chown(dir, nobody, nobody)))
	return dir
}

// nobody is the id of the user and the group that PostgreSQL runs as.
const nobody = 65534

// program returns the path of a program. It looks in the folders of Debian's PostgreSQL first, and then in
// PATH. If the program is not installed, it skips the test.
func program(t *testing.T, name string) string {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if slices.Sort(found); len(found) > 0 {
		return found[len(found)-1]
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	return path
}

// launchedProcess is a running program, started by launch as the user nobody.
type launchedProcess struct {
	cmd    *exec.Cmd
	exited chan struct{}
}

// launch starts the program at path, as the user nobody, in the folder dir. Its output is appended to the
// file log in that folder. Environment variables are inherited.
func launch(t *testing.T, dir, log, path string, args ...string) *launchedProcess {
	t.Helper()
	out, err := os.OpenFile(filepath.Join(dir, log), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	must(t, err)
	defer out.Close()
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), "HOME="+dir, "LC_ALL=C")
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	must(t, cmd.Start())
	p := &launchedProcess{cmd: cmd, exited: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // it is ended by a signal
		close(p.exited)
	}()
	return p
}

// show logs the last 2,000 bytes of a file if the test has failed.
func show(t *testing.T, file string) {
	if t.Failed() {
		text, _ := os.ReadFile(file)
		t.Logf("%s:\n%s", filepath.Base(file), text[max(0, len(text)-2000):])
	}
}

// kill ends a process by SIGKILL and waits until it has ended.
func (p *launchedProcess) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.exited
}

// signalAll sends a signal to a process and its children, the parent first.
func signalAll(parent int, sig syscall.Signal) error {
	for _, pid := range append([]int{parent}, children(parent)...) {
		if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return nil
}

// killAll ends a process and its children by SIGKILL and waits until all have ended, because PostgreSQL
// does not start again while a child still uses its shared memory.
func killAll(parent int) error {
	if parent <= 1 { // this would be a signal to many processes
		return fmt.Errorf("%d is no PostgreSQL", parent)
	}
	if err := signalAll(parent, syscall.SIGSTOP); err != nil { // it starts no more children
		return err
	}
	all := append([]int{parent}, children(parent)...)
	for _, pid := range all {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	for end := time.Now().Add(time.Minute); len(all) > 0; time.Sleep(time.Millisecond) {
		all = slices.DeleteFunc(all, func(pid int) bool {
			state, _ := stateOf(pid)
			return state == "" || state == "Z"
		})
		if time.Now().After(end) {
			return fmt.Errorf("processes %v do not end", all)
		}
	}
	return nil
}

// children returns the children of a process.
func children(parent int) (list []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range stats {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if _, of := stateOf(pid); of == parent {
			list = append(list, pid)
		}
	}
	return list
}

// stateOf returns the letter of a process's state, as ps shows it, and the id of its parent. The state is
// "" if the process does not exist, and Z if it has ended but its parent has not waited for it.
func stateOf(pid int) (state string, parent int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if err != nil || len(fields) < 2 {
		return "", 0
	}
	parent, _ = strconv.Atoi(fields[1])
	return fields[0], parent
}
