// Package migrate converts configuration files of other code search servers to settings
// of Quarry.
//
// It answers the question "which settings of quarry.yaml index what this server
// indexed?", for the configuration of Sourcebot, the mirror configuration of
// zoekt-indexserver, and that of Hound.
//
// Main types: Result, the settings and what could not be converted.
//
// # Invariants
//
//  1. No secret is copied: settings refer to environment variables and files, and
//     a password in the input is mentioned but not shown.
//  2. Nothing is dropped silently: every key without a counterpart is in Result.Notes.
//  3. Access never gets wider: if the other server asked its code host who may read a
//     repository, repositories become private.
//
// This package reads one bounded text, does no I/O and contacts no host.
package migrate
