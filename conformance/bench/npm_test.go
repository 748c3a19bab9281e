package bench

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// packages is the directory in which the packages for node are installed, once
// for each lock file. The short size takes what is there, and installs only where
// everything has to run.
var packages = sync.OnceValues(func() (string, error) {
	lock, err := os.ReadFile("node/package-lock.json")
	if err != nil {
		return "", err
	}
	dir := filepath.Join(shared.cache, fmt.Sprintf("node-%.12x", sha256.Sum256(lock)))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if !*full && os.Getenv("CARREL_CI") == "" {
		return "", fmt.Errorf("not installed, which -full does")
	}
	return dir, wholeAt(dir, install)
})

// install puts the packages into a directory. They come from whatever registry
// npm is configured with; the lock file has the sum of each.
func install(dir string) error {
	if _, err := exec.LookPath("npm"); err != nil {
		return err
	}
	for _, name := range []string{"package.json", "package-lock.json"} {
		b, err := os.ReadFile(filepath.Join("node", name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	npm := exec.CommandContext(ctx, "npm", "install", "--prefix", dir, "--no-save", "--omit=optional", "--no-audit", "--no-fund")
	npm.Dir = dir
	_, err := output(npm)
	return err
}

// node is the program, of the version that the lock file has.
func node(dir string) string { return filepath.Join(dir, "node_modules", ".bin", "node") }

// serverPackage is the reference server for files.
const serverPackage = "node_modules/@modelcontextprotocol/server-filesystem"

func serverVersion(dir string) string {
	var about struct{ Version string }
	b, err := os.ReadFile(filepath.Join(dir, serverPackage, "package.json"))
	if err != nil || json.Unmarshal(b, &about) != nil {
		return "unknown"
	}
	return about.Version
}

// fileServer is server-filesystem on a directory.
func fileServer(ctx context.Context, dir string) (*exec.Cmd, error) {
	at, err := packages()
	if err != nil {
		return nil, err
	}
	return exec.CommandContext(ctx, node(at), filepath.Join(at, serverPackage, "dist", "index.js"), dir), nil
}
