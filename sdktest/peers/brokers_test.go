//go:build long

package peers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/Azure/go-amqp"
	rabbit "github.com/rabbitmq/amqp091-go"

	"github.com/mayflydb/mayfly/sdktest"
)

// queueName is the name of the queue at each broker; at Redis, the key of the stream.
const queueName = "peers"

// ahead is the prefetch count: how many unacknowledged messages a broker sends to a receiver.
const ahead = 100

// startTime is how long a broker may take from its start until it accepts connections.
const startTime = time.Minute

// listens waits until a broker accepts connections at address. It returns an error if that takes longer
// than startTime.
func listens(address string) error {
	var err error
	for began := time.Now(); time.Since(began) < startTime; time.Sleep(100 * time.Millisecond) {
		var c net.Conn
		if c, err = net.Dial("tcp", address); err == nil {
			return c.Close()
		}
	}
	return err
}

func startMayfly(ctx context.Context, dir string) (*broker, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	bin, err := sdktest.Build(dir)
	if err != nil {
		return nil, err
	}
	port, err := sdktest.FreePort()
	if err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "Config.json")
	if err := os.WriteFile(config, []byte(`{"UserConfig": {"Namespaces": [{"Name": "peers", "Queues": [
		{"Name": "`+queueName+`", "Properties": {"LockDuration": "PT5M"}}]}]}}`), 0o600); err != nil {
		return nil, err
	}
	s := &sdktest.Server{Bin: bin, Args: []string{"--log-level", "warn", "--data", filepath.Join(dir, "data"),
		"--servicebus", "--servicebus-port", strconv.Itoa(port), "--servicebus-admin-port", "off",
		"--servicebus-tls-port", "off", "--servicebus-admin-tls-port", "off", "--servicebus-config", config}}
	if err := s.Start(ctx); err != nil {
		return nil, err
	}
	address := "amqp://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	return &broker{name: "Mayfly", pid: s.PID(), stop: s.Stop,
		connect: func(ctx context.Context) (messageClient, error) { return dialMayfly(ctx, address) }}, nil
}

// mayflyQueueClient is a client of Mayfly's queues over AMQP 1.0, like the Service Bus SDKs.
type mayflyQueueClient struct {
	conn     *amqp.Conn
	session  *amqp.Session
	sender   *amqp.Sender
	receiver *amqp.Receiver // nil until the first receive
}

func dialMayfly(ctx context.Context, address string) (c *mayflyQueueClient, err error) {
	c = &mayflyQueueClient{}
	if c.conn, err = amqp.Dial(ctx, address, &amqp.ConnOptions{
		SASLType: amqp.SASLTypePlain("RootManageSharedAccessKey", "SAS_KEY_VALUE")}); err != nil {
		return nil, err
	}
	if c.session, err = c.conn.NewSession(ctx, nil); err == nil {
		c.sender, err = c.session.NewSender(ctx, queueName, nil)
	}
	return c, err
}

func (c *mayflyQueueClient) send(ctx context.Context, body []byte) error {
	return c.sender.Send(ctx, amqp.NewMessage(body), nil)
}

func (c *mayflyQueueClient) receive(ctx context.Context) (err error) {
	if c.receiver == nil {
		if c.receiver, err = c.session.NewReceiver(ctx, queueName, &amqp.ReceiverOptions{Credit: ahead}); err != nil {
			return err
		}
	}
	m, err := c.receiver.Receive(ctx, nil)
	if err == nil {
		err = c.receiver.AcceptMessage(context.WithoutCancel(ctx), m)
	}
	return err
}

func (c *mayflyQueueClient) close() error { return c.conn.Close() }

// rabbitPrograms are the names of RabbitMQ's server. That of Debian is preferred to its wrapper, which runs
// the server as another user.
var rabbitPrograms = []string{"/usr/lib/rabbitmq/bin/rabbitmq-server", "rabbitmq-server"}

// startRabbit starts a RabbitMQ node with one quorum queue. It returns errAbsent if RabbitMQ is not
// installed.
func startRabbit(ctx context.Context, dir string) (b *broker, err error) {
	program := ""
	for _, name := range rabbitPrograms {
		if path, err := exec.LookPath(name); err == nil && program == "" {
			program = path
		}
	}
	if program == "" {
		return nil, errAbsent
	}
	var ports [3]int
	for i := range ports {
		if ports[i], err = sdktest.FreePort(); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	pidFile := filepath.Join(dir, "pid")
	cmd := exec.Command(program)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the program is a script that starts others
	cmd.Env = append(os.Environ(), "HOME="+dir, "RABBITMQ_MNESIA_BASE="+filepath.Join(dir, "db"),
		"RABBITMQ_LOG_BASE="+filepath.Join(dir, "log"), "RABBITMQ_PID_FILE="+pidFile,
		"RABBITMQ_CONFIG_FILE="+filepath.Join(dir, "none"), "RABBITMQ_CONF_ENV_FILE="+filepath.Join(dir, "none"),
		"RABBITMQ_ENABLED_PLUGINS_FILE="+filepath.Join(dir, "plugins"), "RABBITMQ_NODENAME=peers@localhost",
		fmt.Sprint("RABBITMQ_NODE_PORT=", ports[0]), fmt.Sprint("RABBITMQ_DIST_PORT=", ports[1]),
		fmt.Sprint("ERL_EPMD_PORT=", ports[2]), "ERL_EPMD_ADDRESS=127.0.0.1")
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	b = &broker{name: "RabbitMQ", stop: func() error {
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		var err error
		select {
		case <-ended:
		case <-time.After(startTime):
			err = errors.Join(errors.New("the node did not end"), syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL))
			<-ended
		}
		// the node's daemon of names is in no group
		if out, failed := exec.Command("epmd", "-port", strconv.Itoa(ports[2]), "-kill").CombinedOutput(); failed != nil {
			err = errors.Join(err, fmt.Errorf("epmd: %w: %s", failed, out))
		}
		return err
	}}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(ports[0]))
	err = listens(address)
	var text []byte
	if err == nil {
		text, err = os.ReadFile(pidFile)
	}
	if err == nil {
		b.pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
	}
	if err != nil {
		return nil, errors.Join(err, b.stop())
	}
	b.connect = func(context.Context) (messageClient, error) {
		return dialRabbit("amqp://guest:guest@" + address)
	}
	return b, nil
}

type rabbitClient struct {
	conn      *rabbit.Connection
	channel   *rabbit.Channel
	delivered <-chan rabbit.Delivery // nil until the first receive
}

func dialRabbit(address string) (c *rabbitClient, err error) {
	c = &rabbitClient{}
	if c.conn, err = rabbit.Dial(address); err != nil {
		return nil, err
	}
	if c.channel, err = c.conn.Channel(); err != nil {
		return nil, err
	}
	_, err = c.channel.QueueDeclare(queueName, true, false, false, false, rabbit.Table{"x-queue-type": "quorum"})
	return c, errors.Join(err, c.channel.Confirm(false), c.channel.Qos(ahead, 0, false))
}

func (c *rabbitClient) send(ctx context.Context, body []byte) error {
	confirm, err := c.channel.PublishWithDeferredConfirmWithContext(ctx, "", queueName, false, false,
		rabbit.Publishing{DeliveryMode: rabbit.Persistent, Body: body})
	if err != nil {
		return err
	}
	if ok, err := confirm.WaitContext(ctx); !ok || err != nil {
		return errors.Join(errors.New("the message was not confirmed"), err)
	}
	return nil
}

func (c *rabbitClient) receive(ctx context.Context) (err error) {
	if c.delivered == nil {
		if c.delivered, err = c.channel.Consume(queueName, "", false, false, false, false, nil); err != nil {
			return err
		}
	}
	select {
	case d, ok := <-c.delivered:
		if !ok {
			return errors.New("the channel was closed")
		}
		return d.Ack(false)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *rabbitClient) close() error { return c.conn.Close() }

// startRedis starts Redis with one stream, configured to sync each write to disk. It returns errAbsent if
// Redis is not installed.
func startRedis(_ context.Context, dir string) (*broker, error) {
	program, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, errAbsent
	}
	port, err := sdktest.FreePort()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	cmd := exec.Command(program, "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir, "--save", "",
		"--appendonly", "yes", "--appendfsync", "always")
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	b := &broker{name: "Redis", pid: cmd.Process.Pid, stop: func() error {
		err := cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		return err
	}}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	var c *redisClient
	if err = listens(address); err == nil {
		c, err = dialRedis(address)
	}
	if err == nil {
		_, err = c.command("XGROUP", "CREATE", queueName, "group", "0", "MKSTREAM")
		err = errors.Join(err, c.close())
	}
	if err != nil {
		return nil, errors.Join(err, b.stop())
	}
	b.connect = func(context.Context) (messageClient, error) { return dialRedis(address) }
	return b, nil
}

// redisClient is a client that speaks Redis' protocol (RESP 2).
type redisClient struct {
	conn    net.Conn
	in      *bufio.Reader
	name    string
	waiting []string // ids of entries that were read and are not acknowledged
}

func dialRedis(address string) (*redisClient, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &redisClient{conn: conn, in: bufio.NewReaderSize(conn, 64<<10), name: conn.LocalAddr().String()}, nil
}

func (c *redisClient) send(_ context.Context, body []byte) error {
	_, err := c.command("XADD", queueName, "*", "body", string(body))
	return err
}

func (c *redisClient) receive(ctx context.Context) error {
	for len(c.waiting) == 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		answer, err := c.command("XREADGROUP", "GROUP", "group", c.name, "COUNT", strconv.Itoa(ahead), "BLOCK", "50",
			"STREAMS", queueName, ">")
		if err != nil {
			return err
		}
		streams, ok := answer.([]any)
		if !ok {
			continue // there was none in time
		}
		for _, entry := range streams[0].([]any)[1].([]any) {
			c.waiting = append(c.waiting, entry.([]any)[0].(string))
		}
	}
	id := c.waiting[0]
	c.waiting = c.waiting[1:]
	c.write("XACK", queueName, "group", id)
	if _, err := c.command("XDEL", queueName, id); err != nil {
		return err
	}
	_, err := c.read()
	return err
}

func (c *redisClient) close() error { return c.conn.Close() }

// write sends a command. It ignores errors: the next read returns the error of the connection.
func (c *redisClient) write(words ...string) {
	b := fmt.Appendf(nil, "*%d\r\n", len(words))
	for _, w := range words {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(w), w)
	}
	_, _ = c.conn.Write(b)
}

func (c *redisClient) command(words ...string) (any, error) {
	c.write(words...)
	return c.read()
}

// read returns one reply: a string, an int64, a list of replies, or nil.
func (c *redisClient) read() (any, error) {
	line, err := c.in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	line = strings.TrimSuffix(line, "\r\n")
	if line == "" {
		return nil, errors.New("redis: an empty answer")
	}
	kind, rest := line[0], line[1:]
	if kind == '+' {
		return rest, nil
	}
	if kind == '-' {
		return nil, errors.New(rest)
	}
	n, err := strconv.ParseInt(rest, 10, 64)
	switch {
	case err != nil || kind == ':':
		return n, err
	case n < 0:
		return nil, nil
	case kind == '$':
		b := make([]byte, n+2)
		_, err := io.ReadFull(c.in, b)
		return string(b[:n]), err
	}
	list := make([]any, n)
	for i := range list {
		if list[i], err = c.read(); err != nil {
			return nil, err
		}
	}
	return list, nil
}
