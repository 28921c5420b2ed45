package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/internal/cli"
)

// trustInstruction says how a language or an operating system is made to trust a certificate. {} in its text
// stands for the certificate's file.
type trustInstruction struct {
	For string `json:"for"`
	How string `json:"how"`
}

// trustHints returns the instructions for trusting the server's certificate: those for languages first, then
// those for operating systems.
func trustHints() []trustInstruction {
	return []trustInstruction{
		{"go", "SSL_CERT_FILE={} on Linux; elsewhere the system's store"},
		{"javascript", "NODE_EXTRA_CA_CERTS={}"},
		{"python", "REQUESTS_CA_BUNDLE={}, for azure.cosmos.aio SSL_CERT_FILE={}; not needed for localhost"},
		{"java", "keytool -importcert -noprompt -alias mayfly -file {} -keystore mayfly.p12 " +
			"-storepass changeit, then -Djavax.net.ssl.trustStore=mayfly.p12 " +
			"-Djavax.net.ssl.trustStorePassword=changeit"},
		{"dotnet", "on Linux SSL_CERT_DIR=/etc/ssl/certs:FOLDER, where FOLDER has {} (.NET 9 or newer), or " +
			"SSL_CERT_FILE={}, which replaces the system's file of certificates, but not its folder; " +
			"anywhere DisableServerCertificateValidation=true; in the connection string"},
		{"rust", "SSL_CERT_FILE={} on Linux; elsewhere the system's store"},
		{"curl", "curl --cacert {}"},
		{"debian", "sudo cp {} /usr/local/share/ca-certificates/mayfly.crt && sudo update-ca-certificates"},
		{"fedora", "sudo cp {} /etc/pki/ca-trust/source/anchors/mayfly.pem && sudo update-ca-trust"},
		{"macos", "sudo security add-trusted-cert -d -r trustRoot -k /Library/Keychains/System.keychain {}"},
		{"windows", "certutil -user -addstore Root {}"},
	}
}

func certTrustCommand() *cobra.Command {
	var file string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "trust [LANGUAGE|SYSTEM]",
		Short: "Explain how languages and systems trust the certificate; changes nothing",
		Args:  cobra.MaximumNArgs(1),
	}
	cmd.Flags().StringVar(&file, "file", "mayfly.pem", "the file that mayfly cert export has written")
	cli.RegisterResultJSON(cmd.Flags(), &asJSON)
	cmd.RunE = cli.RunWithVariables(func(cmd *cobra.Command, args []string) error {
		list := trustHints()
		if len(args) > 0 {
			list = slices.DeleteFunc(list, func(h trustInstruction) bool { return h.For != args[0] })
		}
		if len(list) == 0 {
			return cli.Misuse(
				fmt.Sprintf("%q is not known here: there are %s", args[0], strings.Join(trustNames(), ", ")))
		}
		var text strings.Builder
		fmt.Fprintf(&text, "%-11s mayfly cert export --to %s", "first", file)
		for i := range list {
			list[i].How = strings.ReplaceAll(list[i].How, "{}", file)
			fmt.Fprintf(&text, "\n%-11s %s", list[i].For, list[i].How)
		}
		return cli.PrintResult(cmd.OutOrStdout(), asJSON, text.String(),
			map[string][]trustInstruction{"hints": list})
	})
	return cmd
}
