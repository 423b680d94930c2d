// Package codeowners reads CODEOWNERS, in the formats of GitHub and GitLab.
//
// It answers the question "does a path have an owner?": the last rule that matches a path
// decides, in each section. ReadRules reads the rules of a file, and a Matcher decides paths.
// Rules are bytes of a repository, or of a faulty front, so that both take any.
package codeowners
