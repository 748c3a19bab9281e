package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"carrel.dev/tools/args"
	"carrel.dev/workspace"
)

// notSettings are flags that say where settings are, or what to do with them.
var notSettings = []string{"config", "check-config", "help"}

// configVariable names the configuration file if --config does not.
const configVariable = "CARREL_CONFIG"

// variableOf is the environment variable of a setting.
func variableOf(flag string) string {
	return "CARREL_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// settingsOf are the settings that a command has: those of every command, and its
// own if it is carrel serve.
func settingsOf(cmd *cobra.Command) []*pflag.Flag {
	var all []*pflag.Flag
	add := func(f *pflag.Flag) {
		if !slices.Contains(notSettings, f.Name) {
			all = append(all, f)
		}
	}
	cmd.Root().PersistentFlags().VisitAll(add)
	if cmd.CommandPath() == "carrel serve" {
		cmd.LocalNonPersistentFlags().VisitAll(add)
	}
	return all
}

// settle gives the settings that the command line left to the environment and the
// configuration file their values.
func (c *cli) settle(cmd *cobra.Command) error {
	file, err := c.configFile(cmd)
	if err != nil {
		return err
	}
	c.origin = map[string]string{}
	for _, f := range settingsOf(cmd) {
		variable := variableOf(f.Name)
		value, inFile := file.values[f.Name]
		switch env := c.getenv(variable); {
		case f.Changed:
			c.origin[f.Name] = "command line"
		case env != "":
			c.origin[f.Name] = variable
			err = setAll(f, listed(f, env))
		case inFile:
			c.origin[f.Name] = fmt.Sprintf("%s, line %d", file.path, value.line)
			err = setAll(f, value.texts)
		}
		if err != nil {
			return workspace.Errorf(workspace.Invalid, "%s: %s: %w", c.origin[f.Name], f.Name, err).
				Hinted("It is what --%s takes: %s.", f.Name, f.Usage)
		}
	}
	return nil
}

// listed splits what a variable says if its flag may be repeated, at commas.
func listed(f *pflag.Flag, env string) []string {
	if _, list := f.Value.(pflag.SliceValue); !list {
		return []string{env}
	}
	all := strings.Split(env, ",")
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return all
}

// setAll sets a flag as the command line would.
func setAll(f *pflag.Flag, texts []string) error {
	if _, list := f.Value.(pflag.SliceValue); !list && len(texts) != 1 {
		return errors.New("it takes one value, not a list")
	}
	for _, t := range texts {
		if err := f.Value.Set(t); err != nil {
			return err
		}
	}
	f.Changed = true
	return nil
}

// configFile is what a configuration file says.
type configFile struct {
	path   string
	values map[string]configValue
}

type configValue struct {
	line  int
	texts []string // one, or those of a list
}

// configFile reads the configuration file that is named; without one it is empty.
// Keys that are no settings are errors, also in a command that would not use them.
func (c *cli) configFile(cmd *cobra.Command) (configFile, error) {
	path := c.config
	if path == "" {
		path = c.getenv(configVariable)
	}
	if path == "" {
		return configFile{}, nil
	}
	f := configFile{path: path}
	b, err := os.ReadFile(c.abs(path))
	if err != nil {
		return f, workspace.Errorf(workspace.Unavailable, "the configuration file: %w", err).
			Hinted("--config or %s names it.", configVariable)
	}
	serve, _, err := cmd.Root().Find([]string{"serve"})
	if err != nil {
		return f, err
	}
	var known []string
	for _, s := range settingsOf(serve) {
		known = append(known, s.Name)
	}
	f.values, err = parseConfig(string(b), known)
	if err != nil {
		return f, workspace.Errorf(workspace.Invalid, "%s: %w", path, err).Hinted("%s", workspace.HintOf(err))
	}
	return f, nil
}

// parseConfig reads a mapping of known keys to values or lists of them.
func parseConfig(text string, known []string) (map[string]configValue, error) {
	var doc yaml.Node
	d := yaml.NewDecoder(strings.NewReader(text))
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF): // nothing but comments
		return nil, nil
	case err != nil:
		return nil, err
	}
	top := doc.Content[0]
	if top.Kind != yaml.MappingNode {
		return nil, workspace.Errorf(workspace.Invalid, "line %d: it is no mapping of settings", top.Line).
			Hinted("Write one setting a line, as KEY: VALUE.")
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("it holds more than one document")
	}
	values := map[string]configValue{}
	for i := 0; i < len(top.Content); i += 2 {
		key, value := top.Content[i], top.Content[i+1]
		_, twice := values[key.Value]
		switch {
		case !slices.Contains(known, key.Value):
			return nil, unknownKey(key, known)
		case twice:
			return nil, fmt.Errorf("line %d: %s stands there twice", key.Line, key.Value)
		}
		texts, err := textsOf(value)
		if err != nil {
			return nil, fmt.Errorf("line %d: %s %w", value.Line, key.Value, err)
		}
		values[key.Value] = configValue{key.Line, texts}
	}
	return values, nil
}

// unknownKey names the setting that may have been meant.
func unknownKey(key *yaml.Node, known []string) error {
	e := workspace.Errorf(workspace.Invalid, "line %d: there is no setting %.100q", key.Line, key.Value)
	if near := args.Nearest(key.Value, known); near != "" {
		return e.Hinted("Did you mean %s?", near)
	}
	return e.Hinted("The settings are: %s.", strings.Join(known, ", "))
}

// textsOf is a value as the command line would have it.
func textsOf(n *yaml.Node) ([]string, error) {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch {
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		return nil, errors.New("has no value")
	case n.Kind == yaml.ScalarNode:
		return []string{n.Value}, nil
	case n.Kind != yaml.SequenceNode:
		return nil, errors.New("is neither a value nor a list of values")
	}
	var all []string
	for _, item := range n.Content {
		if item.Kind != yaml.ScalarNode || item.Tag == "!!null" {
			return nil, errors.New("is a list with something other than values in it")
		}
		all = append(all, item.Value)
	}
	return all, nil
}
