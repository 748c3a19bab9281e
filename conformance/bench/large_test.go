package bench

import (
	"errors"
	"fmt"
)

func largeRows() []row {
	return []row{
		{"first-glob", "The first glob in a repository that is new to the process", prepareFirstGlob},
		{"large-status", "Which files have changed, of 500,000", func(s *stage) { prepareStatus(s, largeOne(), target{}) }},
		{"large-glob", "Find files by name, among 500,000", prepareLargeGlob},
		{"large-list", "List 500,000 files", prepareLargeList},
	}
}

func largeOne() *spec {
	if *full {
		return large
	}
	return small
}

func prepareFirstGlob(s *stage) {
	r := usual().checkedOut(s)
	s.about = fmt.Sprintf("Every hit of a pattern in a repository of %d files, by a server that has its data directory open and has never touched "+
		"the repository. The page cache is warm.", r.spec.files)
	s.steps = sized(1, 4)
	data := dataWith(s, func(c *carrel) { c.register(s, "r", r.dir) })
	question := []string{"test/language/**/index.js"}
	s.add(byGlob, func(t *turn) error {
		c, w, err := reopened(t, data)
		if err != nil {
			return err
		}
		return errors.Join(t.ask(question, globber(t, w)), c.close())
	})
	s.addRgFiles(r, question)
	s.hold(byGlob, byRgFiles, target{})
}

func prepareLargeGlob(s *stage) {
	r := largeOne().checkedOut(s)
	s.about = "Every hit of three patterns, with as many calls as it takes."
	questions := []string{"test/language/*/index.js", "**/[a-c]*-777*.js", "**/no-such-file.txt"}
	w := newCarrel(s, r.dir).workspace(s, "searcher")
	s.add(byGlob, func(t *turn) error { return t.ask(questions, globber(t, w)) })
	s.addRgFiles(r, questions)
	s.rehearse()
	s.hold(byGlob, byRgFiles, target{})
}

func prepareLargeList(s *stage) {
	r := largeOne().checkedOut(s)
	s.about = "All of them. Carrel lists up to 300 a call."
	w := newCarrel(s, r.dir).workspace(s, "lister")
	questions := []string{"**"}
	s.add(byListAll, func(t *turn) error {
		return t.ask(questions, func(string) ([]string, error) {
			var all []string
			err := listAll(t, w, func(path string) error {
				all = append(all, path)
				return nil
			})
			return inRepo(all), err
		})
	})
	s.addRgFiles(r, questions)
	s.rehearse()
	s.hold(byListAll, byRgFiles, target{})
}

const byListAll = "Carrel: listAllFiles"
