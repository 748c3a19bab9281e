package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"carrel.dev/server"
)

// cli is one run of the command line.
type cli struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	dir            string // the working directory
	now            func() time.Time

	// The global flags.
	data, project       string
	blobs               string
	logLevel, logFormat string
	config              string

	// origin is where each setting that was given has its value from.
	origin map[string]string

	// running is the command whose own code runs; nil while the command line is
	// still being read, so that an error is one of usage.
	running *cobra.Command
}

// run runs the command line. An error is to be shown and valued by report.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	stderr = &oneAtATime{w: stderr}
	c := &cli{stdin: stdin, stdout: stdout, stderr: stderr, getenv: os.Getenv, dir: dir, now: time.Now}
	root := c.root()
	root.SetArgs(append([]string{}, args...)) // nil would mean those of the process
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && c.running == nil {
		return asUsage(cmd, err)
	}
	return err
}

// oneAtATime is a writer for the log and for notes, which are written at the same
// time.
type oneAtATime struct {
	mu sync.Mutex // guards w
	w  io.Writer
}

func (o *oneAtATime) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.w.Write(b)
}

// root is the command carrel with all of its subcommands.
func (c *cli) root() *cobra.Command {
	root := c.group(&cobra.Command{
		Use:   "carrel",
		Short: "Private, durable working copies of git repositories for AI agents",
		Long: "Carrel gives every agent a private, durable working copy of many git repositories at once,\n" +
			"without a clone and without a checkout.",
		Example: "  carrel mcp --repo app            # serve a checkout to an agent, over MCP on stdio\n" +
			"  carrel workspace list            # what the agents are working on\n" +
			"  carrel status --workspace /agents/demo",
	}, c.mcp(), c.serve(), c.health(), c.call(), c.status(), c.diff(), c.commit(), c.revert(), c.log(),
		c.repo(), c.workspace(), c.token(), c.events(), c.export(), c.fsck(), c.gc(), c.blobsCommand(), c.version())
	flags := root.PersistentFlags()
	flags.StringVar(&c.data, "data", "", "data directory; default $CARREL_DATA, else $XDG_DATA_HOME/carrel or ~/.local/share/carrel")
	flags.StringVar(&c.blobs, "blobs", "", "blob store for contents of 1.5 MB and more, s3://BUCKET/PREFIX?endpoint=URL&region=REGION; default $CARREL_BLOBS, else the data directory")
	flags.StringVar(&c.project, "project", "", "project; default the one that has the repository around the working directory, else \"default\"")
	flags.StringVar(&c.logLevel, "log-level", "warn", "what is logged on stderr: debug, info, warn or error")
	flags.StringVar(&c.logFormat, "log-format", "text", "how: text or json")
	flags.StringVar(&c.config, "config", "", "configuration file, in YAML; default $"+configVariable)
	c.completeWith(root, "log-level", "debug", "info", "warn", "error")
	c.completeWith(root, "log-format", "text", "json")
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(asUsage)
	return root
}

// group is a command that is only there for its subcommands.
func (c *cli) group(cmd *cobra.Command, sub ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(sub...)
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		return unknownCommand(cmd, args[0])
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}

// does makes a function what a command does.
func (c *cli) does(f func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := c.begin(cmd); err != nil {
			return err
		}
		return f(cmd.Context(), args)
	}
}

// begin is what comes before a command's own code.
func (c *cli) begin(cmd *cobra.Command) error {
	c.running = cmd
	return c.settle(cmd)
}

// completeWith offers fixed values for a flag.
func (c *cli) completeWith(cmd *cobra.Command, flag string, values ...string) {
	c.complete(cmd, flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// complete offers what f returns for a flag.
func (c *cli) complete(cmd *cobra.Command, flag string, f cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic("carrel: completion of --" + flag + ": " + err.Error()) // the flag is not defined
	}
}

// logger writes to stderr what the flags ask for.
func (c *cli) logger() (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.logLevel)); err != nil {
		return nil, c.usage("--log-level is %q, not debug, info, warn or error", c.logLevel)
	}
	opts := &slog.HandlerOptions{Level: level}
	switch c.logFormat {
	case "text":
		return slog.New(server.LogHandler(slog.NewTextHandler(c.stderr, opts))), nil
	case "json":
		return slog.New(server.LogHandler(slog.NewJSONHandler(c.stderr, opts))), nil
	}
	return nil, c.usage("--log-format is %q, not text or json", c.logFormat)
}
