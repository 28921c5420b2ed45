package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/mayflydb/mayfly/internal/laboratory"
)

// requestTableWriter prints requests as lines of at most 80 columns.
type requestTableWriter struct {
	out           io.Writer
	headerPrinted bool
}

// The widths of the columns of a requestTableWriter, in terminal columns. The last column gets the rest of
// 80.
const (
	requestColumns = "%-5s %-8s %-8s %8s %7s %-13s %s\n"
	operationWidth = 13
	subjectWidth   = 24
)

func (t *requestTableWriter) print(list []laboratory.LoggedRequest) error {
	if !t.headerPrinted {
		t.headerPrinted = true
		if _, err := fmt.Fprintf(t.out, requestColumns, "id", "time", "status", "ms", "RU", "operation",
			"of"); err != nil {
			return err
		}
	}
	for i := range list {
		r := &list[i]
		at, _ := time.Parse(time.RFC3339Nano, r.Time) // the server writes only this form
		_, err := fmt.Fprintf(t.out, requestColumns, strconv.FormatUint(r.ID, 10), at.Format(time.TimeOnly),
			requestStatus(r), strconv.FormatFloat(r.Ms, 'f', 1, 64), requestCharge(r),
			widths.FillRight(widths.Truncate(plain(requestOperation(r)), operationWidth, "…"),
				operationWidth),
			requestSubject(r))
		if err != nil {
			return err
		}
	}
	return nil
}

// requestStatus returns the status of a response with its substatus, such as "404/1002", or "dropped" if
// the request got no response.
func requestStatus(r *laboratory.LoggedRequest) string {
	switch {
	case r.Status == 0:
		return "dropped"
	case r.Substatus != 0:
		return strconv.Itoa(r.Status) + "/" + strconv.Itoa(r.Substatus)
	}
	return strconv.Itoa(r.Status)
}

func requestCharge(r *laboratory.LoggedRequest) string {
	if r.Charge == 0 {
		return ""
	}
	return strconv.FormatFloat(r.Charge, 'f', 2, 64)
}

func requestOperation(r *laboratory.LoggedRequest) string {
	if r.Operation != "" {
		return r.Operation
	}
	return r.Method
}

// requestSubject returns the name of the entity, item, container or database that a request was about,
// followed by the number of the attempt if it was repeated, and by the fault that was injected into it.
func requestSubject(r *laboratory.LoggedRequest) string {
	subject := r.Entity
	switch {
	case r.Container != "":
		subject = r.Database + "/" + r.Container
		if r.Item != "" {
			subject += "/" + r.Item
		}
	case r.Database != "":
		subject = r.Database
	case subject == "":
		subject = r.Path
	}
	more := ""
	if r.Attempt > 1 {
		more += " ×" + strconv.Itoa(r.Attempt)
	}
	if r.Fault != "" {
		more += " " + r.Fault
	}
	return widths.Truncate(plain(subject), subjectWidth-widths.StringWidth(more), "…") + more
}

// lastAttempts keeps only the last attempt of each operation.
func lastAttempts(list []laboratory.LoggedRequest) []laboratory.LoggedRequest {
	last := make(map[uint64]uint64, len(list)) // by the operation's first attempt
	for i := range list {
		last[list[i].First] = list[i].ID
	}
	out := make([]laboratory.LoggedRequest, 0, len(list))
	for _, r := range list {
		if last[r.First] == r.ID {
			out = append(out, r)
		}
	}
	return out
}

// printRequest writes a request with its headers and bodies.
func printRequest(out io.Writer, r laboratory.LoggedRequestDetails) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s (%s)\n", escaped(r.Method), escaped(r.Path), r.Protocol)
	for _, line := range [][2]string{{"time", r.Time}, {"data time", r.DataTime},
		{"status", requestStatus(&r.LoggedRequest) + " " + r.Condition}, {"charge",
			requestCharge(&r.LoggedRequest) +
				" RU"},
		{"took", strconv.FormatFloat(r.Ms, 'f', -1, 64) + " ms"}, {"operation", r.Operation},
		{"client", r.Client}, {"activity id", r.Activity}, {"query", r.Correlated}, {"fault", r.Fault},
		{"attempt", attemptText(&r.LoggedRequest)}} {
		if text := strings.TrimSpace(line[1]); text != "" && text != "RU" {
			fmt.Fprintf(&b, "%-12s %s\n", line[0], escaped(text))
		}
	}
	if r.Message != nil {
		fmt.Fprintf(&b, "\nmessage %s\n%s\n", escaped(r.Message.ID), escaped(r.Message.Text+r.Message.Base64))
	}
	printExchange(&b, "sent", r.RequestHeaders, r.RequestBody)
	printExchange(&b, "came back", r.ResponseHeaders, r.ResponseBody)
	_, err := io.WriteString(out, b.String())
	return err
}

// attemptText returns which attempt of an operation a request was. It returns "" for the first attempt.
func attemptText(r *laboratory.LoggedRequest) string {
	if r.Attempt < 2 {
		return ""
	}
	return fmt.Sprintf("%d, after %d", r.Attempt, r.First)
}

func printExchange(b *strings.Builder, what string, head []laboratory.LoggedHeader,
	body *laboratory.LoggedBody) {
	if len(head) == 0 && body == nil {
		return
	}
	fmt.Fprintf(b, "\n%s\n", what)
	for _, h := range head {
		fmt.Fprintf(b, "  %s: %s\n", escaped(h.Name), escaped(h.Value))
	}
	if body == nil {
		return
	}
	fmt.Fprintf(b, "\n%s\n", escaped(body.Text+body.Base64))
	if body.Cut {
		b.WriteString("(it was longer)\n")
	}
}
