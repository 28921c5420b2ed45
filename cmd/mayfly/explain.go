package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/httpapi"
	"github.com/mayflydb/mayfly/ttl"
)

// explainTimeout bounds the whole question; a server ends a page after a few seconds.
const explainTimeout = time.Minute

// explainCall is the question of one explain command.
type explainCall struct {
	url, key                          string
	database, container, partitionKey string
}

func explainCommand() *cobra.Command {
	var e explainCall
	cmd := &cobra.Command{
		Use:   "explain QUERY",
		Short: "Ask a running server how it answers a query: its plan, and what one page of it took",
		Args:  cobra.ExactArgs(1),
		Long: "Ask a running server how it answers a query: its plan, and what one page of it took.\n\n" +
			"Without --partition-key the query goes over the whole container.",
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&e.url, "url", fmt.Sprintf("http://localhost:%d", defaultPort), "base URL of the server")
	flags.StringVar(&e.key, "key", httpapi.EmulatorKey, "master key in base64")
	flags.StringVar(&e.database, "db", "", "database")
	flags.StringVar(&e.container, "container", "", "container")
	flags.StringVar(&e.partitionKey, "partition-key", "", `partition key as a JSON array: ["tenant-7"]`)
	cmd.RunE = run(func(cmd *cobra.Command, args []string) error {
		if _, err := applyVariables(cmd.Flags(), os.LookupEnv); err != nil {
			return err
		}
		req, err := e.request(cmd.Context(), args[0])
		if err != nil {
			return err
		}
		answer, err := askExplain(req)
		if err != nil {
			return err
		}
		return printExplanation(cmd.OutOrStdout(), answer)
	})
	return cmd
}

// request is the signed request for the explanation of a query.
func (e *explainCall) request(ctx context.Context, text string) (*http.Request, error) {
	if e.database == "" || e.container == "" {
		return nil, &usageError{"--db and --container must name where to run the query"}
	}
	key, err := base64.StdEncoding.DecodeString(e.key)
	if err != nil {
		return nil, &usageError{"--key is not base64: " + err.Error()}
	}
	question := map[string]any{"database": e.database, "container": e.container, "query": text}
	if e.partitionKey != "" {
		if !json.Valid([]byte(e.partitionKey)) {
			return nil, &usageError{"--partition-key is not JSON: " + e.partitionKey}
		}
		question["partitionKey"] = json.RawMessage(e.partitionKey)
	}
	body, err := json.Marshal(question)
	if err != nil {
		return nil, err
	}
	const path = "_mayfly/explain"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(e.url, "/")+"/"+path, bytes.NewReader(body))
	if err != nil {
		return nil, &usageError{"invalid --url: " + err.Error()}
	}
	date := ttl.Real{}.Now().UTC().Format(http.TimeFormat)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Ms-Date", date)
	req.Header.Set("Authorization", httpapi.AuthorizationHeader(httpapi.Sign(key, req.Method, "", path, date)))
	return req, nil
}

// askExplain sends the request and reads the answer.
func askExplain(req *http.Request) (answer httpapi.Explanation, err error) {
	client := http.Client{Timeout: explainTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return answer, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return answer, err
	}
	if res.StatusCode != http.StatusOK {
		return answer, &refusal{url: req.URL, status: res.Status, reasons: reasons(body)}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return answer, fmt.Errorf("%s answers with something else than an explanation: %w", req.URL, err)
	}
	return answer, nil
}

// refusal is a server's answer that is a failure.
type refusal struct {
	url     *url.URL
	status  string
	reasons []string
}

func (r *refusal) Error() string {
	return fmt.Sprintf("%s answers %s: %s", r.url, r.status, strings.Join(r.reasons, " "))
}

// reasons reads what the body of a failure says. Its message begins with "Message: " and a JSON object with a list of errors,
// which are texts, or objects where they have a place in the query; a line break ends that.
func reasons(body []byte) (list []string) {
	var outer struct{ Message string }
	var inner struct{ Errors []json.RawMessage }
	if json.Unmarshal(body, &outer) != nil {
		return []string{strings.TrimSpace(string(body[:min(len(body), 512)]))}
	}
	text, _, _ := strings.Cut(strings.TrimPrefix(outer.Message, "Message: "), "\r\n")
	if json.Unmarshal([]byte(text), &inner) != nil {
		return []string{text}
	}
	for _, raw := range inner.Errors {
		var one string
		var placed struct {
			Message  string
			Location *struct{ Start int }
		}
		switch {
		case json.Unmarshal(raw, &one) == nil:
		case json.Unmarshal(raw, &placed) == nil && placed.Location != nil:
			one = fmt.Sprintf("%s (at character %d)", placed.Message, placed.Location.Start+1)
		default:
			one = placed.Message
		}
		list = append(list, one)
	}
	return list
}

// printExplanation writes the plan and the figures for people.
func printExplanation(out io.Writer, e httpapi.Explanation) error {
	if _, err := fmt.Fprintf(out, "%s\n\n", strings.TrimRight(e.Plan, "\n")); err != nil {
		return err
	}
	m := e.Metrics
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "rows\t%d (%d bytes)\n", e.Rows, m.BytesOutput)
	fmt.Fprintf(w, "charge\t%.2f RU\n", e.Charge)
	fmt.Fprintf(w, "documents\t%d read (%d bytes), %d matched\n", m.DocumentsLoaded, m.BytesLoaded, m.DocumentsMatched)
	fmt.Fprintf(w, "index entries\t%d\n", m.IndexEntries)
	fmt.Fprintf(w, "time\t%.3f ms: reading %.3f, filtering %.3f\n", m.ElapsedMs, m.LoadMs, m.FilterMs)
	if used := indexNames(e.Indexes.Utilized); used != "" {
		fmt.Fprintf(w, "indexes used\t%s\n", used)
	}
	if missed := indexNames(e.Indexes.Potential); missed != "" {
		fmt.Fprintf(w, "would help\t%s\n", missed)
	}
	return w.Flush()
}

func indexNames(list httpapi.IndexList) string {
	names := append([]string{}, list.Single...)
	for _, composite := range list.Composite {
		names = append(names, "("+strings.Join(composite, ", ")+")")
	}
	return strings.Join(names, ", ")
}
