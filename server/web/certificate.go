package web

import (
	"crypto/tls"
	"log/slog"
	"os"
	"sync"
	"time"

	"carrel.dev/workspace"
)

// Certificate is a TLS certificate in two files. It is read again once they have
// changed, so that one that is renewed needs no restart.
type Certificate struct {
	cert, key string
	now       func() time.Time
	log       *slog.Logger

	mu     sync.Mutex // guards what follows
	loaded *tls.Certificate
	of     [2]time.Time // when the files were written that were loaded
	looked time.Time
	bad    string // why the files cannot be used now, as it was logged
}

// NewCertificate reads a certificate with its chain, and its key, both in PEM. What
// cannot be used is Invalid; what cannot be used later is logged, once. A nil now is
// time.Now, without a log nothing is said.
func NewCertificate(cert, key string, now func() time.Time, log *slog.Logger) (*Certificate, error) {
	if now == nil {
		now = time.Now
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	c := &Certificate{cert: cert, key: key, now: now, log: log}
	if _, err := c.get(); err != nil {
		return nil, workspace.Errorf(workspace.Invalid, "the certificate cannot be used: %w", err).
			Hinted("Give the files of one certificate, with its chain, and of its key, both in PEM.")
	}
	return c, nil
}

// Config returns a configuration with the certificate.
func (c *Certificate) Config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		// HTTP/1.1: each stream is a connection of its own, which nobody else's slow
		// reading stops.
		NextProtos:     []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.get() },
	}
}

// every is how long it takes until a renewed certificate is noticed.
const every = 10 * time.Second

// get returns the certificate, that of before if the files cannot be used now.
func (c *Certificate) get() (*tls.Certificate, error) {
	now := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.loaded != nil && now.Sub(c.looked) < every {
		return c.loaded, nil
	}
	c.looked = now
	var of [2]time.Time
	for i, name := range [...]string{c.cert, c.key} {
		info, err := os.Stat(name)
		if err != nil {
			return c.loaded, c.unless(err)
		}
		of[i] = info.ModTime()
	}
	if c.loaded != nil && of == c.of {
		return c.loaded, nil
	}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return c.loaded, c.unless(err)
	}
	c.loaded, c.of, c.bad = &pair, of, ""
	return c.loaded, nil
}

// unless returns an error if there is no certificate to go on with.
func (c *Certificate) unless(err error) error {
	if c.loaded == nil {
		return err
	}
	if c.bad != err.Error() {
		c.bad = err.Error()
		c.log.Warn("the certificate's files cannot be used: that of before goes on, until it expires",
			"err", err, "expires", c.loaded.Leaf.NotAfter)
	}
	return nil
}
