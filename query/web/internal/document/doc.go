// Package document renders files that are more than code: Markdown and notebooks.
//
// It answers the question "what does this document look like, and what can it do to the
// page?". It can do nothing: it has no scripts, no styles, no forms, and loads nothing
// from elsewhere.
//
// # Invariants
//
//  1. All output passes through the sanitizer last, with a policy that lists what is
//     allowed; the tests check it against known attacks.
//  2. Links within the repository go through Options.Link. Images must be in the
//     repository; external images become links.
//  3. IDs of headings begin with IDPrefix, so that a document cannot impersonate an
//     element of the page.
//  4. Text above MaxBytes is not rendered, nor is text that takes the parser more than maxWork, or
//     whose markup is longer than maxRenderedBytes.
package document
