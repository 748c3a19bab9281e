package main

import (
	"carrel.dev/cmd/carrel/traced"
	"carrel.dev/persistence/s3"
	"carrel.dev/server/web"
)

// checkConfig refuses settings with which carrel serve would not begin, as far as
// they say it themselves, and else prints those that were given. It opens neither the
// data directory nor the address.
func (c *cli) checkConfig(f *serveFlags) error {
	log, err := c.logger()
	if err != nil {
		return err
	}
	if _, err := c.dataPath(); err != nil {
		return err
	}
	if at := c.blobsLocation(); at != "" {
		if _, err := s3.ParseLocation(at); err != nil {
			return err
		}
	}
	if _, err := c.address(f); err != nil {
		return err
	}
	if f.authorized() {
		if _, _, err := f.letIn(nil, log); err != nil {
			return err
		}
	}
	if err := traced.Check(f.traces); err != nil {
		return err
	}
	if f.cert != "" {
		if _, err := web.NewCertificate(f.cert, f.key, nil, nil); err != nil {
			return err
		}
	}
	t := table{head: []string{"SETTING", "VALUE", "FROM"}, empty: "no setting is given: all are the defaults"}
	for _, s := range settingsOf(c.running) {
		if s.Changed {
			t.add(s.Name, s.Value.String(), c.origin[s.Name])
		}
	}
	return c.print(t.String())
}
