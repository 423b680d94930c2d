package code

// RepositoryNumber is what the API shows as the ID of a repository: the repositories
// of an installation are numbered from 1. 0 means none. Everything else in the system
// goes by RepositoryID.
type RepositoryNumber int32

// ConnectionNumber is what the API shows as the ID of a connection. 0 means none.
type ConnectionNumber int32

// MaxNumber is the last number of each kind. Clients that are generated from the
// interface read IDs as float32, which holds every whole number up to 2^24.
const MaxNumber = 1<<24 - 1
