// Package document renders files that are more than code: Markdown and notebooks.
//
// It answers the question "what does this document look like, and what may it do to the
// page?". Nothing: it has no scripts, no styles, no forms, and loads nothing from
// elsewhere.
//
// # Invariants
//
//  1. What is returned went through the sanitizer last, with a policy that lists what is
//     allowed; the tests hold it against known attacks.
//  2. Links within the repository go through Options.Link. Images are those of the
//     repository; others become links.
//  3. IDs of headings begin with IDPrefix, so that a document cannot take the place of an
//     element of the page.
//  4. Text above MaxBytes is not rendered.
package document
