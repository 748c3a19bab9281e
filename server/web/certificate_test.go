package web_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"carrel.dev/server/web"
	"carrel.dev/workspace"
)

// writePair writes a certificate with a serial number, and its key.
func writePair(t *testing.T, dir string, serial int64) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(serial), DNSNames: []string{"carrel.example"}, NotAfter: time.Now().Add(time.Hour),
	}, &x509.Certificate{SerialNumber: big.NewInt(serial)}, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(time.Duration(serial) * time.Second) // times of files may be coarse
		os.Chtimes(name, at, at)
	}
	return cert, key
}

func TestCertificate(t *testing.T) {
	dir := t.TempDir()
	cert, key := writePair(t, dir, 1)
	now := time.Now()
	var log bytes.Buffer
	c, err := web.NewCertificate(cert, key, func() time.Time { return now }, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", c.Config())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			conn.(*tls.Conn).Handshake()
			conn.Close()
		}
	}()
	serial := func() int64 {
		t.Helper()
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		client := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}) // whose certificate it is is what is asked
		if err := client.Handshake(); err != nil {
			t.Fatal(err)
		}
		return client.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	if got := serial(); got != 1 {
		t.Errorf("certificate %d", got)
	}
	writePair(t, dir, 2)
	if got := serial(); got != 1 {
		t.Errorf("at once: certificate %d", got)
	}
	now = now.Add(time.Minute)
	if got := serial(); got != 2 {
		t.Errorf("after a minute: certificate %d", got)
	}
	if err := os.WriteFile(cert, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		now = now.Add(time.Minute)
		if got := serial(); got != 2 {
			t.Errorf("while it is written: certificate %d", got)
		}
	}
	if got := strings.Count(log.String(), "that of before goes on"); got != 1 {
		t.Errorf("it was logged %d times: %s", got, &log)
	}
	if _, err := web.NewCertificate(cert, key, nil, nil); workspace.KindOf(err) != workspace.Invalid {
		t.Errorf("one that is damaged: %v", err)
	}
}
