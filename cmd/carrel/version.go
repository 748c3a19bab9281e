package main

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// versionInfo says what this program was built from.
type versionInfo struct {
	Version  string `json:"version"` // of the module, or "devel"
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"` // the sources differed from the revision
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func (c *cli) version() *cobra.Command {
	var a asking
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Show which carrel this is",
		Example: "  carrel version --json",
		Args:    usageArgs(cobra.NoArgs, "version takes no arguments"),
		RunE: c.does(func(context.Context, []string) error {
			v := buildVersion()
			if a.json {
				return c.printJSON(v)
			}
			return c.print(v.String())
		}),
	}
	a.jsonFlag(cmd)
	return cmd
}

// buildVersion reads what the Go toolchain noted in the binary.
func buildVersion() versionInfo {
	v := versionInfo{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "(devel)" {
		v.Version = cmp.Or(info.Main.Version, v.Version)
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

func (v versionInfo) String() string {
	text := "carrel " + v.Version
	if v.Revision != "" {
		text += " " + v.Revision
		if v.Modified {
			text += " with changes"
		}
	}
	return fmt.Sprintf("%s (%s, %s)", text, v.Go, v.Platform)
}
