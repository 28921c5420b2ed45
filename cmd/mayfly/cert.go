package main

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/internal/cli"
)

// certInfo is what `mayfly cert show` prints about a certificate: its subject, names, validity and
// fingerprint.
type certInfo struct {
	Subject   string    `json:"subject"`
	SignsFor  []string  `json:"signsFor"` // names and addresses; empty: any name
	NotBefore time.Time `json:"notBefore"`
	NotAfter  time.Time `json:"notAfter"`
	SHA256    string    `json:"sha256"` // in hexadecimal
}

func certCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cert",
		Short: "Show or export the certificate of a server, and explain how to trust it",
		Long: "Show or export the certificate of a running server, and explain how to trust it.\n\n" +
			"The connection to the server is not verified: over a network, compare the fingerprint with " +
			"that\n" +
			"of the file that `mayfly serve` names at its start.",
	}
	return cli.ParentCommand(cmd, certShowCommand(), certExportCommand(), certTrustCommand())
}

func certShowCommand() *cobra.Command {
	var c cli.ClientCommandFlags
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show the subject, names, validity and fingerprint of the certificate",
		Args:  cobra.NoArgs,
	}
	c.RegisterURL(cmd.Flags())
	c.RegisterJSON(cmd.Flags())
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, _ []string) error {
		_, cert, err := fetchCertificate(cmd.Context(), &c)
		if err != nil {
			return err
		}
		f := infoOf(cert)
		signsFor := strings.Join(f.SignsFor, ", ")
		if signsFor == "" {
			signsFor = "any name"
		}
		text := fmt.Sprintf("subject    %s\nsigns for  %s\nvalid      %s to %s\nsha256     %s",
			f.Subject, signsFor, f.NotBefore.Format(time.RFC3339), f.NotAfter.Format(time.RFC3339), f.SHA256)
		return cli.PrintResult(cmd.OutOrStdout(), c.JSON, text, f)
	})
	return cmd
}

func certExportCommand() *cobra.Command {
	var c cli.ClientCommandFlags
	var to string
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write the certificate as PEM text, to stdout or a file",
		Args:  cobra.NoArgs,
	}
	c.RegisterURL(cmd.Flags())
	cmd.Flags().StringVar(&to, "to", "", "file to write instead of the standard output; an existing file "+
		"is replaced")
	c.RegisterJSON(cmd.Flags())
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, _ []string) error {
		text, _, err := fetchCertificate(cmd.Context(), &c)
		switch {
		case err != nil:
			return err
		case to != "":
			return os.WriteFile(to, text, 0o644) //nolint:gosec // a certificate is not secret
		}
		return cli.PrintResult(cmd.OutOrStdout(), c.JSON, strings.TrimSuffix(string(text), "\n"),
			map[string]string{"pem": string(text)})
	})
	return cmd
}

var errNoPEM = errors.New("the server's answer is not a certificate as PEM text")

// fetchCertificate fetches the certificate that clients have to trust.
func fetchCertificate(ctx context.Context, c *cli.ClientCommandFlags) ([]byte, *x509.Certificate, error) {
	at, err := cli.ServerAddress(c.URL)
	if err != nil {
		return nil, nil, err
	}
	req, err := c.Call(ctx, http.MethodGet, "_mayfly/cert.pem", nil)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, doctorTime)
	defer cancel()
	res, err := newDoctor(c, at).get(ctx, req)
	if err != nil {
		return nil, nil, cli.Unreachable(req.URL, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return nil, nil, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, nil, cli.Refused(req.URL, res, text)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, nil, &cli.UnexpectedResponseError{URL: req.URL, Err: errNoPEM}
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, nil, &cli.UnexpectedResponseError{URL: req.URL, Err: err}
	}
	return text, cert, nil
}

func infoOf(c *x509.Certificate) certInfo {
	f := certInfo{Subject: c.Subject.String(), SignsFor: []string{}, NotBefore: c.NotBefore.UTC(),
		NotAfter: c.NotAfter.UTC(), SHA256: fmt.Sprintf("%x", sha256.Sum256(c.Raw))}
	f.SignsFor = append(f.SignsFor, c.PermittedDNSDomains...)
	for _, r := range c.PermittedIPRanges {
		f.SignsFor = append(f.SignsFor, r.String())
	}
	return f
}
