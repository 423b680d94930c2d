// Package migrate turns configuration files of other code search servers into settings of
// Quarry.
//
// It answers the question "what would this server index, said in quarry.yaml?", for the
// configuration of Sourcebot, the mirror configuration of zoekt-indexserver, and that of
// Hound.
//
// Main types: Result, the settings and what could not be taken over.
//
// # Invariants
//
//  1. No secret is copied: settings refer to variables of the environment and files, and
//     a password in the input is named, not shown.
//  2. Nothing is dropped in silence: every key that has no counterpart is in Result.Notes.
//  3. Access never gets wider: where the other server asked its code host who may read a
//     repository, repositories are private.
//
// It reads one bounded text, does no I/O and contacts no host.
package migrate
