package main

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"carrel.dev/workspace"
)

// healthTime is how long a server may take to say how it is.
const healthTime = 5 * time.Second

func (c *cli) health() *cobra.Command {
	return &cobra.Command{
		Use:   "health [URL]",
		Short: "Ask a server whether it is ready",
		Long: "Ask a server whether it is ready, for whatever watches over a container: the exit status is 0 if it is.\n" +
			"Without a URL it is the server on this machine whose address the variable CARREL_ADDR has, over TLS if\n" +
			"CARREL_TLS_CERT is set. A URL without a path is that of /readyz. Nothing is sent that anybody could\n" +
			"misuse, so that the certificate is not looked at.",
		Example: "  carrel health http://127.0.0.1:7717",
		Args:    usageArgs(cobra.MaximumNArgs(1), "health takes one URL, or none"),
		RunE: c.does(func(ctx context.Context, args []string) error {
			at, err := c.healthURL(args)
			if err != nil {
				return err
			}
			return c.askHealth(ctx, at)
		}),
	}
}

// healthURL is where to ask.
func (c *cli) healthURL(args []string) (string, error) {
	if len(args) == 0 {
		return c.ownHealthURL()
	}
	u, err := url.Parse(args[0])
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", c.usage("%q is no URL of a server, for example http://127.0.0.1:7717", args[0])
	}
	if strings.Trim(u.Path, "/") == "" {
		u.Path = "/readyz"
	}
	return u.String(), nil
}

// ownHealthURL is where the server of this machine is asked.
func (c *cli) ownHealthURL() (string, error) {
	addr := c.getenv(variableOf("addr"))
	if addr == "" {
		addr = defaultAddr
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", workspace.Errorf(workspace.Invalid, "%s: %w", variableOf("addr"), err).Hinted("Pass the URL of the server.")
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	u := url.URL{Scheme: "http", Host: net.JoinHostPort(host, port), Path: "/readyz"}
	if c.getenv(variableOf("tls-cert")) != "" {
		u.Scheme = "https"
	}
	return u.String(), nil
}

// askHealth prints what a server says of itself.
func (c *cli) askHealth(ctx context.Context, at string) error {
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	client := &http.Client{
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	res, err := client.Do(r)
	if err != nil {
		return workspace.Errorf(workspace.Unavailable, "no server answers: %w", err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 1000))
	if err != nil {
		return workspace.Errorf(workspace.Unavailable, "the server broke off: %w", err)
	}
	said := strings.TrimSpace(string(text))
	if res.StatusCode != http.StatusOK {
		return workspace.Errorf(workspace.Unavailable, "the server is not ready: %s: %s", res.Status, printable(said))
	}
	return c.print(printable(said))
}
