package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// machine is what the figures were taken on, name and value.
type machine [][2]string

func thisMachine(ctx context.Context) machine {
	first := func(name string, args ...string) string {
		out, err := exec.CommandContext(ctx, name, args...).Output()
		if err != nil {
			return "not there"
		}
		line, _, _ := strings.Cut(string(out), "\n")
		return line
	}
	m := machine{
		{"date", time.Now().UTC().Format("2006-01-02 15:04 MST")},
		{"carrel", first("git", "describe", "--always", "--dirty", "--tags")},
		{"processor", fmt.Sprintf("%s, %d cores", processor(), runtime.NumCPU())},
		{"memory", memoryOf("/proc/meminfo", "MemTotal")},
		{"system", first("uname", "-srm")},
		{"file system", fileSystem(shared.cache)},
		{"go", runtime.Version()},
		{"git", first("git", "--version")},
		{"ripgrep", first("rg", "--version")},
	}
	if dir, err := packages(); err == nil {
		m = append(m, [2]string{"node", first(node(dir), "--version")}, [2]string{"server-filesystem", serverVersion(dir)})
	}
	return m
}

// processor is the model of the processor.
func processor() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		for line := range bytes.Lines(b) {
			if name, value, ok := bytes.Cut(line, []byte(":")); ok && string(bytes.TrimSpace(name)) == "model name" {
				return string(bytes.TrimSpace(value))
			}
		}
	}
	return runtime.GOARCH
}

// memoryOf is a field of a file of the kernel with one a line, as it stands there.
func memoryOf(file, field string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(b)) {
		if name, value, _ := strings.Cut(line, ":"); name == field {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// anonymous is the resident memory of this process without mapped files, in
// bytes.
func anonymous() (int64, error) {
	var kB int64
	_, err := fmt.Sscanf(memoryOf("/proc/self/status", "RssAnon"), "%d kB", &kB)
	if err != nil {
		return 0, fmt.Errorf("RssAnon in /proc/self/status: %w", err)
	}
	return kB << 10, nil
}
