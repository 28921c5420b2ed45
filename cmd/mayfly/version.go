package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mayflydb/mayfly/internal/cli"
)

func versionCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this binary",
		Args:  cobra.NoArgs,
	}
	cli.RegisterResultJSON(cmd.Flags(), &asJSON)
	cmd.RunE = cli.Run(func(cmd *cobra.Command, _ []string) error {
		return cli.PrintResult(cmd.OutOrStdout(), asJSON, strings.TrimSuffix(versionLine(), "\n"),
			map[string]string{"version": version(), "go": runtime.Version(), "platform": runtime.GOOS + "/" +
				runtime.GOARCH})
	})
	return cmd
}

func versionLine() string {
	return fmt.Sprintf("mayfly %s %s %s/%s\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// released is the version set by the build of a release, with -ldflags "-X main.released=1.2.3".
var released string

// version returns the release's version, or else the module's version if the binary was installed as a
// module, or else the commit of the build.
func version() string {
	if released != "" {
		return released
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "devel-" + s.Value[:min(12, len(s.Value))]
		}
	}
	return "devel"
}
