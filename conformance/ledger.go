package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// CheckLedger returns what is wrong with the account of cases: cases and
// baseline are the texts of the two lists, covered are the ids that each script
// or test claims, by its name.
//
// Every id of cases must be covered or stand in the baseline with a reason, and
// not both; nothing else may be covered or stand there.
func CheckLedger(cases, baseline string, covered map[string][]string) []error {
	var wrong []error
	known, errs := ledgerLines("cases", cases)
	wrong = append(wrong, errs...)
	waiting, errs := ledgerLines("baseline", baseline)
	wrong = append(wrong, errs...)
	by := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(covered)) {
		for _, id := range covered[name] {
			by[id] = name
			if known[id] == "" {
				wrong = append(wrong, fmt.Errorf("%s covers %s, which is no case", name, id))
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(known)) {
		switch {
		case by[id] == "" && waiting[id] == "":
			wrong = append(wrong, fmt.Errorf("nothing covers %s (%s)", id, known[id]))
		case by[id] != "" && waiting[id] != "":
			wrong = append(wrong, fmt.Errorf("%s stands in the baseline, and %s covers it", id, by[id]))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(waiting)) {
		if known[id] == "" {
			wrong = append(wrong, fmt.Errorf("the baseline has %s, which is no case", id))
		}
	}
	return wrong
}

// ledgerLines reads lines of an id and its text. Lines that begin with # are for
// people.
func ledgerLines(list, text string) (map[string]string, []error) {
	var wrong []error
	lines := map[string]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		id, rest, _ := strings.Cut(line, " ")
		rest = strings.TrimSpace(rest)
		switch {
		case rest == "":
			wrong = append(wrong, fmt.Errorf("%s: %s stands there without a word", list, id))
		case lines[id] != "":
			wrong = append(wrong, fmt.Errorf("%s: %s stands there twice", list, id))
		}
		lines[id] = rest
	}
	if len(lines) == 0 {
		wrong = append(wrong, fmt.Errorf("%s is empty", list))
	}
	return lines, wrong
}
