package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// own sends a request to Mayfly's own HTTP API (/_mayfly), and fails unless the status is 200.
func own(method, endpoint, path, body string) error {
	req, err := http.NewRequest(method, endpoint+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+masterKey)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if text, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK {
		return errors.Join(err, fmt.Errorf("%s %s: %s: %s", method, path, res.Status, text))
	}
	return nil
}

func changeClock(endpoint, change string) error {
	return own(http.MethodPut, endpoint, "_mayfly/clock", change)
}

// advance moves the server's clock forward.
func (t *ScenarioRun) advance(seconds int) {
	t.must(changeClock(t.endpoint, fmt.Sprintf(`{"advance": "%ds"}`, seconds)))
}

// split splits the container's range 0, which must not have been split before.
func (c ScenarioContainer) split() {
	c.t.must(own(http.MethodPost, c.t.endpoint, "_mayfly/dbs/"+c.t.name+"/colls/"+c.ID()+"/split", `{"range": "0"}`))
}

// restart ends the server, by "stop" or "kill", starts it again and returns when it is ready.
func (t *ScenarioRun) restart(how string) {
	t.check(t.control != "", "needs -control")
	t.must(own(http.MethodPost, t.control, how, ""))
}
