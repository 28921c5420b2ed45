package failover

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patroniCluster is a PostgreSQL cluster of three nodes under Patroni: a primary, a synchronous standby
// and another replica.
type patroniCluster struct {
	dir   string
	etcd  int // port
	nodes []*patroniNode
}

// patroniNode is one node of a cluster: a Patroni process and the PostgreSQL that it manages.
type patroniNode struct {
	name       string
	dir        string
	port, rest int
	patroni    *launchedProcess
}

// recoveryTime is the maximum time without acknowledged operations after a new primary has been promoted.
const recoveryTime = 8 * time.Second

// newPatroniCluster starts a cluster and waits until it has a synchronous standby.
func newPatroniCluster(t *testing.T) *patroniCluster {
	t.Helper()
	c := &patroniCluster{dir: newFolder(t), etcd: freePort(t)}
	peers := fmt.Sprintf("http://127.0.0.1:%d", freePort(t))
	clients := fmt.Sprintf("http://127.0.0.1:%d", c.etcd)
	etcd := launch(t, c.dir, "etcd.log", program(t, "etcd"), "--name", "e", "--data-dir",
		filepath.Join(c.dir, "etcd"), "--listen-client-urls", clients, "--advertise-client-urls", clients,
		"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", "e="+peers)
	t.Cleanup(etcd.kill)
	t.Cleanup(func() { c.stop(t) }) // behind the servers, which end first
	for i := range 3 {
		n := &patroniNode{name: fmt.Sprintf("n%d", i), port: freePort(t), rest: freePort(t)}
		n.dir = filepath.Join(c.dir, n.name)
		c.nodes = append(c.nodes, n)
		must(t, os.WriteFile(n.dir+".yml", c.settings(n, filepath.Dir(program(t, "postgres"))), 0o644))
		c.start(t, n)
	}
	c.standby(t)
	return c
}

// settings returns the Patroni configuration of a node. bin is the folder of PostgreSQL's programs.
func (c *patroniCluster) settings(n *patroniNode, bin string) []byte {
	user := func(name string) map[string]string {
		return map[string]string{"username": name, "password": "secret"}
	}
	rest, listen := fmt.Sprintf("127.0.0.1:%d", n.rest), fmt.Sprintf("127.0.0.1:%d", n.port)
	type object = map[string]any
	text, _ := json.Marshal(object{ // JSON is YAML
		"scope": "mayfly", "name": n.name,
		"etcd3":   object{"host": fmt.Sprintf("127.0.0.1:%d", c.etcd)},
		"restapi": object{"listen": rest, "connect_address": rest},
		"bootstrap": object{
			"dcs": object{"ttl": 20, "loop_wait": 2, "retry_timeout": 5, "maximum_lag_on_failover": 1 << 20,
				"synchronous_mode": true, "synchronous_mode_strict": true,
				"postgresql": object{"use_pg_rewind": true, "use_slots": true, "parameters": object{
					"wal_level": "replica", "synchronous_commit": "on", "wal_log_hints": "on",
					"max_connections": 200, "shared_buffers": "128MB"}}},
			"initdb": []any{object{"encoding": "UTF8"}, object{"locale": "C"}, "data-checksums"},
			"pg_hba": []string{"host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"}},
		"postgresql": object{"listen": listen, "connect_address": listen, "data_dir": n.dir, "bin_dir": bin,
			"pgpass": n.dir + ".pgpass",
			"authentication": object{"superuser": user("mayfly"), "replication": user("replicator"),
				"rewind": user("rewinder")},
			"parameters": object{"unix_socket_directories": c.dir}},
	})
	return text
}

func (c *patroniCluster) start(t *testing.T, n *patroniNode) {
	t.Helper()
	n.patroni = launch(t, c.dir, n.name+".log", program(t, "patroni"), n.dir+".yml")
}

// postmaster returns the process id of a node's PostgreSQL, 0 if there is none.
func (n *patroniNode) postmaster() int {
	text, err := os.ReadFile(filepath.Join(n.dir, "postmaster.pid"))
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	pid, _ := strconv.Atoi(line)
	return pid
}

// stop ends the Patroni and PostgreSQL processes of all nodes.
func (c *patroniCluster) stop(t *testing.T) {
	for _, n := range c.nodes {
		pid := n.postmaster()
		n.patroni.kill()
		if pid > 1 {
			end(pid, func() bool { return n.postmaster() == 0 })
		}
		show(t, filepath.Join(c.dir, n.name+".log"))
	}
}

// members returns the role of each running node, by name, as the first node that responds reports it.
func (c *patroniCluster) members() map[string]string {
	client := http.Client{Timeout: time.Second}
	for _, n := range c.nodes {
		res, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d/cluster", n.rest))
		if err != nil {
			continue
		}
		var answer struct {
			Members []struct{ Name, Role, State string }
		}
		err = json.NewDecoder(res.Body).Decode(&answer)
		_ = res.Body.Close()
		if err != nil {
			continue
		}
		roles := map[string]string{}
		for _, m := range answer.Members {
			if m.State == "running" || m.State == "streaming" {
				roles[m.Name] = m.Role
			}
		}
		return roles
	}
	return nil
}

// with returns the node that has a role; nil if there is none.
func (c *patroniCluster) with(role string) *patroniNode {
	for name, has := range c.members() {
		for _, n := range c.nodes {
			if has == role && n.name == name {
				return n
			}
		}
	}
	return nil
}

func count(members map[string]string, role string) (n int) {
	for _, has := range members {
		if has == role {
			n++
		}
	}
	return n
}

// standby waits until all nodes run and one of them is a synchronous standby.
func (c *patroniCluster) standby(t *testing.T) {
	t.Helper()
	eventually(t, 2*time.Minute, "the cluster has a leader, a synchronous standby and a replica", func() bool {
		members := c.members()
		return len(members) == len(c.nodes) && count(members, "leader") == 1 && count(members, "sync_standby") > 0
	})
}

// url returns a PostgreSQL connection string that lists all nodes.
func (c *patroniCluster) url() string {
	var hosts []string
	for _, n := range c.nodes {
		hosts = append(hosts, fmt.Sprintf("127.0.0.1:%d", n.port))
	}
	return "postgres://mayfly:secret@" + strings.Join(hosts, ",") + "/postgres?sslmode=disable"
}

// leader waits until the cluster has a synchronous standby and a primary that is not the node lost, and
// returns the primary. Without a synchronous standby the primary commits nothing.
func (c *patroniCluster) leader(t *testing.T, lost *patroniNode) (n *patroniNode) {
	t.Helper()
	eventually(t, time.Minute, "the cluster has a leader with a standby", func() bool {
		n = c.with("leader")
		return n != nil && n != lost && n.postmaster() > 1 && c.with("sync_standby") != nil
	})
	return n
}

// signal sends a signal to a node's Patroni and PostgreSQL.
func (n *patroniNode) signal(t *testing.T, sig syscall.Signal) {
	t.Helper()
	pid := n.postmaster()
	must(t, n.patroni.cmd.Process.Signal(sig))
	must(t, signalAll(pid, sig))
}

// resume lets a node's PostgreSQL, which was stopped by SIGSTOP and still believes to be the primary,
// continue under a new Patroni process. The old Patroni process is killed, as a watchdog would do: Patroni
// 3.0 might overwrite the entry of the new leader in etcd, which would then step down and lose its writes.
func (c *patroniCluster) resume(t *testing.T, n *patroniNode) {
	t.Helper()
	n.patroni.kill()
	must(t, signalAll(n.postmaster(), syscall.SIGCONT))
	c.start(t, n)
}

// failover waits until a node other than lost is the primary. From then on it waits until further operations
// of the clients have succeeded, and fails the test if none was acknowledged for longer than recoveryTime.
// round counts from 0.
func (l *combinedWorkload) failover(round int, c *patroniCluster, lost *patroniNode) {
	l.t.Helper()
	began := time.Now()
	c.leader(l.t, lost)
	l.t.Logf("round %d: there was another primary after %v", round+1, time.Since(began).Round(time.Millisecond))
	l.restart()
	l.progress(settled)
	l.gapLimit(round, recoveryTime)
}

// TestFailover kills PostgreSQL and Patroni of the primary, as if its machine was lost. A standby must be
// promoted. Then the node is started again and becomes a standby.
func TestFailover(t *testing.T) {
	n := rounds(t)
	c := newPatroniCluster(t)
	l := newWorkload(t, 2, c.url(), c.url())
	for round := range n {
		l.progress(settled)
		old := c.leader(t, nil)
		pid := old.postmaster()
		old.patroni.kill()
		must(t, killAll(pid))
		l.failover(round, c, old)
		c.start(t, old)
		c.standby(t)
	}
	l.finish()
}

// TestRestartByPatroni kills the primary PostgreSQL, which Patroni starts again. Clients must continue
// within 30 seconds.
func TestRestartByPatroni(t *testing.T) {
	n := rounds(t)
	c := newPatroniCluster(t)
	l := newWorkload(t, 2, c.url(), c.url())
	for round := range n {
		l.progress(settled)
		l.gaps()
		must(t, killAll(c.leader(t, nil).postmaster()))
		l.progress(settled)
		l.gapLimit(round, 30*time.Second)
		c.standby(t)
	}
	l.finish()
}

// TestFrozenPrimary suspends the processes of the primary, so that its connections stay open and do not
// respond. A standby must be promoted. Then the node continues under a new Patroni and becomes a standby.
func TestFrozenPrimary(t *testing.T) {
	n := rounds(t)
	c := newPatroniCluster(t)
	l := newWorkload(t, 2, c.url(), c.url())
	for round := range n {
		l.progress(settled)
		old := c.leader(t, nil)
		old.signal(t, syscall.SIGSTOP)
		l.failover(round, c, old)
		c.resume(t, old)
		c.standby(t)
	}
	l.finish()
}
