package protocol

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// packages is the directory in which the suites are installed, once for each lock
// file. The short size takes what is there, and installs only where everything has
// to run.
var packages = sync.OnceValues(func() (string, error) {
	lock, err := os.ReadFile("node/package-lock.json")
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "carrel", fmt.Sprintf("protocol-%.12x", sha256.Sum256(lock)))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if !*full && !everything() {
		return "", errors.New("not installed, which -full does")
	}
	return dir, install(dir)
})

// install puts the packages into a directory, whole or not at all. They come from
// whatever registry npm is configured with; the lock file has the sum of each.
func install(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(dir), "installing-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	for _, name := range []string{"package.json", "package-lock.json"} {
		b, err := os.ReadFile(filepath.Join("node", name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(fresh, name), b, 0o644); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	// Not npm ci: that wants optional packages, which the lock file does not have.
	npm := exec.CommandContext(ctx, "npm", "install", "--no-save", "--omit=optional", "--no-audit", "--no-fund")
	npm.Dir = fresh
	if out, err := npm.CombinedOutput(); err != nil {
		return fmt.Errorf("npm install: %w\n%s", err, out)
	}
	if err := os.Rename(fresh, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// everything reports whether nothing may be skipped.
func everything() bool { return os.Getenv("CARREL_CI") != "" }

// installed is packages. Without them the test is skipped, or fails where everything
// has to run.
func installed(t *testing.T) string {
	t.Helper()
	dir, err := packages()
	switch {
	case err != nil && (*full || everything()):
		t.Fatalf("the suites: %v", err)
	case err != nil:
		t.Skipf("the suites: %v", err)
	}
	return dir
}
