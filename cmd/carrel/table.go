package main

import (
	"strings"
	"text/tabwriter"
	"unicode"
)

// table is rows for a person to read.
type table struct {
	head  []string
	rows  [][]string
	empty string // what is said instead of a table without rows
}

// add adds a row. What a terminal might act on is shown as a question mark.
func (t *table) add(cells ...string) {
	for i, cell := range cells {
		cells[i] = printable(cell)
	}
	t.rows = append(t.rows, cells)
}

func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

// String lays the table out, its columns two spaces apart.
func (t *table) String() string {
	if len(t.rows) == 0 {
		return t.empty
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{t.head}, t.rows...) {
		w.Write([]byte(strings.Join(row, "\t") + "\n")) // to memory: cannot fail
	}
	w.Flush()
	return b.String()
}
