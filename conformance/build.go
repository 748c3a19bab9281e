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
	// What go run builds is cached whole: of all packages that need the program, one
	// links it.
	args := []string{"run", "-exec", "cp"}
	if raceEnabled {
		args = append(args, "-race")
	}
	out, err := exec.Command("go", append(args, "carrel.dev/cmd/carrel", binary)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go run: %w: %s", err, out)
	}
	return binary, nil
}
