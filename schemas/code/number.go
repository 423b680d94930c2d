package code

// RepositoryNumber is the ID of a repository in the API: the repositories of an
// installation are numbered from 1. 0 means none. Everything else in the system uses
// RepositoryID.
type RepositoryNumber int32

// ConnectionNumber is the ID of a connection in the API. 0 means none.
type ConnectionNumber int32

// MaxNumber is the last number of each kind. Clients generated from the interface read
// IDs as float32, which represents every integer up to 2^24 exactly.
const MaxNumber = 1<<24 - 1
