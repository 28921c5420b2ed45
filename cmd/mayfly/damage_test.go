package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// folder returns the contents of all files below dir by path, so that a test can check that nothing has
// changed. A folder has the content "folder".
func folder(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			all[path] = "folder"
			return err
		}
		data, err := os.ReadFile(path)
		all[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// killed returns a data folder left by a server that was ended with kill -9 after it had acknowledged the
// given number of documents. Most of them are only in the write-ahead log.
func killed(t *testing.T, documents int) string {
	t.Helper()
	dir := t.TempDir()
	b := spawn(t, "--data", dir)
	b.makeContainer(t)
	for i := range documents {
		b.must(t, 201, "POST", "/dbs/db/colls/c/docs", fmt.Sprintf(`{"id":"%d","pk":"a","pad":"%s"}`, i, strings.Repeat("x", 2000)))
	}
	if err := b.proc.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = b.proc.Wait() // killed
	return dir
}

// newestLog returns the path of the newest write-ahead log file in the data folder dir.
func newestLog(t *testing.T, dir string) string {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	if err != nil || len(logs) == 0 {
		t.Fatalf("no logs: %v", err)
	}
	return logs[len(logs)-1]
}

// TestCheckOnlyReads checks that `mayfly check` changes nothing in a data folder, and creates nothing
// where there is no data folder.
func TestCheckOnlyReads(t *testing.T) {
	t.Parallel()
	const documents = 60
	dir := killed(t, documents)
	before := folder(t, dir)
	for range 2 {
		if code, out, errs := mayfly(t, "check", dir); code != 0 || !strings.Contains(out, fmt.Sprintf("%d documents: 0 violations", documents)) {
			t.Errorf("%d %s%s", code, out, errs)
		}
		if !maps.Equal(before, folder(t, dir)) {
			t.Fatal("the folder has changed")
		}
	}
	for _, nothing := range []string{t.TempDir(), filepath.Join(t.TempDir(), "none")} {
		if code, _, errs := mayfly(t, "check", nothing); code == 0 || !strings.Contains(errs, nothing) {
			t.Errorf("%d %s", code, errs)
		}
		if left, err := os.ReadDir(nothing); err == nil && len(left) > 0 {
			t.Errorf("check has made %v", left)
		}
	}
}

// TestDamagedLog checks that check and serve refuse a folder whose write-ahead log is damaged or missing,
// with an error that locates the damage and names --accept-damaged-log, and that they open it with this
// flag.
func TestDamagedLog(t *testing.T) {
	const documents = 60
	for _, how := range []string{"damaged", "missing"} {
		t.Run(how, func(t *testing.T) {
			dir := killed(t, documents)
			log := newestLog(t, dir)
			data, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			if how == "missing" {
				err = os.Remove(log)
			} else {
				data[80_000] ^= 1
				err = os.WriteFile(log, data, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			before := folder(t, dir)
			for _, args := range [][]string{{"check", dir}, {"serve", "--port", "0", "--data", dir}} {
				code, out, errs := mayfly(t, args...)
				for _, want := range []string{filepath.Base(log) + " is " + how, "--accept-damaged-log", "acknowledged writes", dir} {
					if code != exitData || out != "" || !strings.Contains(errs, want) {
						t.Errorf("%v: %q is missing: %d %s%s", args, want, code, out, errs)
					}
				}
				if how == "damaged" && !strings.Contains(errs, fmt.Sprintf("of %d", len(data))) {
					t.Errorf("the bytes are missing: %s", errs)
				}
			}
			code, out, errs := mayfly(t, "check", "--accept-damaged-log", dir)
			if code != 0 || !strings.Contains(out, "0 violations") || strings.Contains(out, fmt.Sprintf("%d documents", documents)) {
				t.Errorf("what is left: %d %s%s", code, out, errs)
			}
			if !maps.Equal(before, folder(t, dir)) {
				t.Error("the folder has changed")
			}
			t.Setenv("MAYFLY_ACCEPT_DAMAGED_LOG", "true")
			boot(t, "--data", dir).stop(t)
			if kept, err := filepath.Glob(filepath.Join(dir, "*.damaged")); err != nil || how == "damaged" && len(kept) != 1 {
				t.Errorf("kept: %v, %v", kept, err)
			}
			if code, now, errs := mayfly(t, "check", dir); code != 0 || now != out {
				t.Errorf("now there is %d %s%s, check had said %s", code, now, errs, out)
			}
		})
	}
}
