package conformance

import (
	"fmt"
	"os/exec"
	"path/filepath"
)

// Build builds the program into a directory, with the race detector if the tests
// run with it, and returns its path.
func Build(dir string) (string, error) {
	binary := filepath.Join(dir, "carrel")
	args := []string{"build", "-o", binary}
	if raceEnabled {
		args = append(args, "-race")
	}
	out, err := exec.Command("go", append(args, "carrel.dev/cmd/carrel")...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return binary, nil
}
