// Package config is the configuration of quarry: one YAML file, overridden by the
// environment, overridden by flags.
//
// It answers the question "which values does this process run with, and where was the
// mistake?".
//
// # Main types
//
//	Config   every setting, with its default
//	Loader   reads the file, the environment and the flags into one Config
//	Field    one setting: its path, environment variable, kind, default, text
//	Secret   a value in the settings, in a file or in the environment, never printed
//
// # Names
//
// The struct is the only place where a setting is declared; everything else is derived
// from it.
//
//	YAML         git.allowedRoots     the path of the field
//	environment  QUARRY_GIT_ALLOWED_ROOTS
//	flag         --set git.allowedRoots=/srv,/home
//	schema       schemas/config/quarry.schema.json, written by this package's test
//	page         docs/configuration.md, its table written by this package's test
//
// A list in the environment or in --set is separated by commas. Connections can be set
// only in the file.
//
// # Invariants
//
//  1. An unknown key is an error that names its line and the nearest known key.
//  2. Config.Validate has accepted every Config that Loader.Load returns.
//  3. A Secret prints as "hidden" in every encoding.
//
// # Concurrency
//
// A Config must not be modified after Load.
//
// This package does not parse flags, opens no store and calls no constructor of another
// package: cmd/quarry converts settings to Options.
package config
