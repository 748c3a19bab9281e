package textedit

import (
	"fmt"
	"html"
	"regexp"
	"strings"
)

// reading is another way to take an old text: what it would be had something
// common gone wrong on its way here.
type reading struct {
	why, hint string
	of        func(string) string
}

// readings lists them; the first takes the text as it is.
func readings() []reading {
	const (
		numbers, noNumbers = "oldString carries the line numbers of a listing", "Leave the line numbers out, and what follows them up to the text of the line."
		escaped            = "oldString has escapes such as %s where the file has the characters themselves"
		escapeOnce         = "Send line breaks, tabs and quotation marks themselves, escaped once, as JSON needs it."
		escapes            = "the file has escapes such as %s where oldString has the characters themselves"
	)
	return []reading{
		{"", exactHint, func(s string) string { return s }},
		{numbers, noNumbers, func(s string) string { return withoutNumbers(s, "") }},
		{numbers, noNumbers, func(s string) string { return withoutNumbers(s, " ") }},
		{"oldString carries the + and - of a diff", "Leave the first column of a diff out.", withoutSigns},
		{fmt.Sprintf(escaped, `\n`), escapeOnce, unescapeSpace},
		{fmt.Sprintf(escaped, `\"`), escapeOnce, unescape},
		{fmt.Sprintf(escapes, `\n`), `Send a backslash and a letter where the file has them: "\\n" in JSON.`, escapeSpace},
		{fmt.Sprintf(escapes, `\"`), `Send the backslashes that the file has, each as "\\" in JSON.`, escape},
		{"oldString has HTML entities such as &lt; where the file has the characters themselves", "Send the characters themselves.", html.UnescapeString},
	}
}

// numberPrefix is what listings put before the text of a line: a number as
// readers of files and cat -n write it, or a path and a number as grep does.
var numberPrefix = regexp.MustCompile(`^(?:[ \t]*[0-9]+(?:\t|→| ?\||:)|[^\s:]+:[0-9]+:)`)

// withoutNumbers removes line numbers and then sep, if every line that is not
// empty has one.
func withoutNumbers(s, sep string) string {
	return eachLine(s, func(line string) (string, bool) {
		at := numberPrefix.FindStringIndex(line)
		if at == nil {
			return line, strings.TrimSpace(line) == ""
		}
		return strings.TrimPrefix(line[at[1]:], sep), true
	})
}

// withoutSigns removes the first column of a diff, if every line has one.
func withoutSigns(s string) string {
	return eachLine(s, func(line string) (string, bool) {
		if line == "" {
			return line, true
		}
		return line[1:], strings.IndexByte("+- ", line[0]) >= 0
	})
}

// eachLine changes every line of s; if one cannot be, none is.
func eachLine(s string, change func(line string) (string, bool)) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		changed, ok := change(line)
		if !ok {
			return s
		}
		lines[i] = changed
	}
	return strings.Join(lines, "\n")
}

func unescapeSpace(s string) string {
	return strings.NewReplacer(`\r\n`, "\n", `\n`, "\n", `\t`, "\t").Replace(s)
}

func unescape(s string) string {
	return strings.NewReplacer(`\r\n`, "\n", `\n`, "\n", `\t`, "\t", `\"`, `"`, `\'`, `'`, `\\`, `\`).Replace(s)
}

func escapeSpace(s string) string { return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(s) }

func escape(s string) string {
	return strings.NewReplacer("\n", `\n`, "\t", `\t`, `"`, `\"`, `\`, `\\`).Replace(s)
}
