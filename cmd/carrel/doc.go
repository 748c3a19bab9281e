// Command carrel gives AI agents private, durable working copies of git
// repositories, without clone or checkout. README.md beside this file shows its
// commands.
//
// Each command is in a file of its own; home.go is the one place where the
// packages of Carrel are put together.
//
// A setting is a flag that can also be given by a variable or in a configuration
// file: --oidc-issuer is CARREL_OIDC_ISSUER and the key oidc-issuer. The command line
// counts before the environment, that before the file, and that before the default.
// The settings are the flags of every command and those of carrel serve.
//
// # Decisions
//
// The configuration file is YAML, read by go.yaml.in/yaml/v3 alone: flags hold the
// values already, so that koanf or viper would be a second place for them and more
// modules, and would lose the lines that errors name.
//
// A command that names no project finds it by the directory it runs in, so that
// an agent's server and a person's commands meet in the same one: the project
// that has the repository around the directory, else the project "default". Only
// carrel mcp and the commands that add a repo register anything.
//
// The commands that are tools for a terminal (status, diff, commit, revert, log,
// workspace) make the same calls as an agent does, through a server.Session, and
// show the same text. Only the words for what to do next are those of the
// command line.
package main
