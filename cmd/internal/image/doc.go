// Package image builds the container image of Quarry without a container engine.
//
// It answers the question "what is in the image, and from where?". FetchPackages downloads
// git, ssh, the certificate authorities and the libraries that they link from Debian.
// Write assembles them and the binary to an OCI image layout for several platforms.
// WriteBOM lists the modules and packages.
//
// There is no base image: the lower layer consists of files of Debian packages, without
// a shell and a package manager. The upper layer has the binary and its licenses
// (docs/adr/0043-the-image-has-git-of-debian.md).
//
// # Invariants
//
//  1. The bytes of an image depend only on the binary, the packages, the version and the
//     time that is passed. Every file has that time, and the order of files is that of
//     their paths.
//  2. apt verifies each package against the signed lists of the archive. A list without a
//     valid signature ends the build.
//  3. Every library that a program of the image links is in the image (checkLibraries).
//  4. No file is set-user-ID or set-group-ID, and no path of a package leads out of the
//     image. An image has at most maxTreeBytes of files.
//  5. No code of a package runs, so that images for another processor need no emulator.
package image
