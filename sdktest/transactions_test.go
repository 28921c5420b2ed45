package sdktest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	sb "github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
)

// transactionTime is the time limit for one run of a program with transactions.
const transactionTime = 2 * time.Minute

// TestServiceBusTransactionsProton runs pipelined transactions with Qpid Proton, an AMQP client that is
// not an SDK of Service Bus. They send and settle messages, and some are rolled back.
func TestServiceBusTransactionsProton(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name               string
		rollback, messages int
	}{{"sends", 0, 0}, {"settlements", 0, 100}, {"rollbacks", 30, 100}} {
		t.Run(c.name, func(t *testing.T) {
			b := startBus(t, "--memory")
			b.create(t, "q")
			b.preload(t, "q", c.messages)
			l := &transactionModel{}
			l.play(t, b, protonProgram(t), "--count", "200", "--rollback", strconv.Itoa(c.rollback),
				"--messages",
				strconv.Itoa(c.messages))
			if len(l.done) != 200 || l.rolledBack() == 0 && c.rollback > 0 {
				t.Errorf("%d transactions are done, %d rolled back", len(l.done), l.rolledBack())
			}
			l.check(t, b.peekAll(t, "q"), c.messages)
		})
	}
}

// TestServiceBusTransactionsRhea runs transactions that settle messages with rhea, an AMQP client for
// JavaScript whose session windows are 2^32-1.
func TestServiceBusTransactionsRhea(t *testing.T) {
	t.Parallel()
	runnable(t, scenarioProgram{tools: nodeTools})
	b := startBus(t, "--memory")
	b.create(t, "q")
	argv := nodeProgram(filepath.Join("servicebus", "rhea"))(t)
	ctx, cancel := context.WithTimeout(t.Context(), transactionTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, argv[0], append(argv[1:], "--amqp", at(b.amqp), "--queue", "q",
		"--count",
		"50")...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if left := b.peekAll(t, "q"); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

func protonProgram(t *testing.T) []string {
	t.Helper()
	runnable(t, scenarioProgram{tools: pythonTools})
	return pythonProgram(filepath.Join("servicebus", "proton"))(t)
}

// transactionModel is what a client knows about its transactions, from the responses of the server.
type transactionModel struct {
	asked     map[int]bool // whether a commit was asked for
	completes map[int]string
	done      map[int]string // outcomes
}

// play runs a program with transactions, and records the outcomes that it prints. It returns false if the
// program has ended early because it lost its connection.
func (l *transactionModel) play(t *testing.T, b serviceBusServer, argv []string, args ...string) bool {
	t.Helper()
	if l.asked == nil {
		l.asked, l.completes, l.done = map[int]bool{}, map[int]string{}, map[int]string{}
	}
	ctx, cancel := context.WithTimeout(t.Context(), transactionTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], slices.Concat(argv[1:], []string{"--amqp", at(b.amqp), "--queue",
		"q"},
		args)...)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		l.note(t, strings.Fields(lines.Text()))
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == protonLost {
		return false
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, complaint.Bytes())
	}
	return true
}

// protonLost is the exit code by which a program reports that it has lost its connection.
const protonLost = 3

// note records one line that the program has printed: a transaction that it has begun to end, or an
// outcome.
func (l *transactionModel) note(t *testing.T, words []string) {
	t.Helper()
	if len(words) < 3 {
		t.Fatalf("the program says %q", words)
	}
	n, err := strconv.Atoi(words[1])
	must(t, err)
	switch words[0] {
	case "asked":
		l.asked[n] = words[2] == "commit"
		if len(words) > 3 {
			l.completes[n] = words[3]
		}
	case "done":
		l.done[n] = words[2]
		if words[2] == "failed" {
			t.Errorf("the transaction %d failed", n)
		}
	}
}

func (l *transactionModel) rolledBack() (n int) {
	for _, outcome := range l.done {
		if outcome == "rollback" {
			n++
		}
	}
	return n
}

// check compares the messages in the queue with the transactions. Each must have taken effect completely
// or not at all, according to its outcome. there counts the messages by their bodies; messages is the
// number of messages that were sent before the transactions.
func (l *transactionModel) check(t *testing.T, there map[string]int, messages int) {
	t.Helper()
	for text, n := range there {
		if n != 1 {
			t.Errorf("%s is there %d times", text, n)
		}
	}
	whole := map[int]bool{}
	for n, commit := range l.asked {
		parts := there[fmt.Sprintf("%d.0", n)] + there[fmt.Sprintf("%d.1", n)]
		whole[n] = parts == 2
		switch {
		case parts == 1:
			t.Errorf("%d is there in part", n)
		case parts == 2 && !commit:
			t.Errorf("%d is there, and was rolled back", n)
		case parts == 0 && l.done[n] == "commit":
			t.Errorf("%d was committed, and is not there", n)
		}
	}
	completed := map[string]bool{}
	for n, text := range l.completes {
		if whole[n] {
			completed[text] = true
		}
	}
	for i := range messages {
		text := fmt.Sprint("p", i)
		if gone := there[text] == 0; gone != completed[text] {
			t.Errorf("%s: gone %v, completed %v", text, gone, completed[text])
		}
	}
	for text := range there {
		if !strings.HasPrefix(text, "p") {
			n, _, _ := strings.Cut(text, ".")
			if i, err := strconv.Atoi(n); err != nil || !whole[i] {
				t.Errorf("nobody sent %s", text)
			}
		}
	}
}

// preload sends n messages with the bodies p0, p1 and so on to a queue.
func (b serviceBusServer) preload(t *testing.T, queue string, n int) {
	t.Helper()
	c := b.client(t)
	defer c.Close(t.Context())
	s, err := c.NewSender(queue, nil)
	must(t, err)
	for i := range n {
		must(t, s.SendMessage(t.Context(), &sb.Message{Body: fmt.Append(nil, "p", i)}, nil))
	}
}

// peekAll peeks all messages of a queue, including locked ones, and returns their number by body.
func (b serviceBusServer) peekAll(t *testing.T, queue string) map[string]int {
	t.Helper()
	c := b.client(t)
	defer c.Close(t.Context())
	r, err := c.NewReceiverForQueue(queue, nil)
	must(t, err)
	there := map[string]int{}
	for from := int64(0); ; {
		list, err := r.PeekMessages(t.Context(), 250, &sb.PeekMessagesOptions{FromSequenceNumber: &from})
		must(t, err)
		if len(list) == 0 {
			return there
		}
		for _, m := range list {
			body := string(m.Body)
			if text, ok := m.RawAMQPMessage.Body.Value.(string); ok {
				body = text
			}
			there[body]++
			from = *m.SequenceNumber + 1
		}
	}
}
