package places

import (
	"bytes"
	"encoding/binary"

	"github.com/quarrysearch/quarry/projections/segment"
	"github.com/quarrysearch/quarry/projections/store"
	"github.com/quarrysearch/quarry/schemas/code"
	"github.com/quarrysearch/quarry/schemas/event"
)

// The kinds of rows: the byte after the family.
const (
	kindRepository = 'R'
	kindRemoved    = 't'
	kindRef        = 'r'
	kindManifest   = 'm'
	kindPin        = 'n'
	kindEntry      = 'e'
	kindKept       = 'k'
	kindBroken     = 'b'
	kindDocument   = 'd'
	kindUnheld     = 'u'
	kindSegment    = 'S'
	kindSegmentID  = 'i'
	kindOrigins    = 'o'
	kindSequence   = 'q'
	kindHeld       = 'h'
	kindGone       = 'g'
	kindPlace      = 'l'
	kindWaiting    = 'w'
	kindDoomed     = 'x' // in the local family
	kindMark       = 'r' // in the local family
	kindErasure    = 'e' // in the local family
)

// The lengths of the fixed parts of keys.
const (
	repositoryPrefixLen = 2 + 8
	manifestPrefixLen   = repositoryPrefixLen + 4
	partitionPrefixLen  = 2 + 4
	versionSuffixLen    = 1 + 4
	placePrefixLen      = partitionPrefixLen + 4 + 4
	blobLen             = len(code.BlobID{})
)

func newKey(kind byte, size int) []byte {
	return append(make([]byte, 0, 2+size), byte(store.FamilyPlaces), kind)
}

func repositoryPrefix(kind byte, id code.RepositoryID) []byte {
	return store.AppendUint64(newKey(kind, 64), uint64(id))
}

func manifestPrefix(kind byte, id code.RepositoryID, manifest uint32) []byte {
	return store.AppendUint32(repositoryPrefix(kind, id), manifest)
}

func refKey(kind byte, id code.RepositoryID, ref code.Ref) []byte {
	return append(repositoryPrefix(kind, id), ref...)
}

func pinKey(id code.RepositoryID, p pin) []byte {
	k := store.AppendUint32(manifestPrefix(kindPin, id, p.parent), p.version)
	return store.AppendUint32(k, p.child)
}

func parsePin(k []byte) pin {
	b := k[repositoryPrefixLen:]
	return pin{binary.BigEndian.Uint32(b), binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])}
}

// entryKey returns the key of an entry, or of its kept row.
func entryKey(kind byte, id code.RepositoryID, manifest uint32, path []byte, version uint32) []byte {
	return appendEntryKey(make([]byte, 0, manifestPrefixLen+len(path)+versionSuffixLen), kind, id, manifest, path, version)
}

func appendEntryKey(k []byte, kind byte, id code.RepositoryID, manifest uint32, path []byte, version uint32) []byte {
	k = append(k, byte(store.FamilyPlaces), kind)
	k = store.AppendUint32(store.AppendUint64(k, uint64(id)), manifest)
	return store.AppendUint32(append(append(k, path...), 0), ^version)
}

// parseEntry returns the path and the version in an entry's key. The path aliases k.
func parseEntry(k []byte) (path []byte, version uint32) {
	at := len(k) - versionSuffixLen
	return k[manifestPrefixLen:at], ^binary.BigEndian.Uint32(k[at+1:])
}

func partitionPrefix(kind byte, partition int32) []byte {
	return store.AppendUint32(newKey(kind, 64), uint32(partition))
}

// documentKey returns the key of a document, or of its unheld row.
func documentKey(kind byte, partition int32, d code.DocumentKey) []byte {
	return append(append(partitionPrefix(kind, partition), d.Blob[:]...), d.Language...)
}

func parseDocument(k []byte) code.DocumentKey {
	b := k[partitionPrefixLen:]
	return code.DocumentKey{Blob: code.BlobID(b), Language: code.Language(b[blobLen:])}
}

func compareDocuments(a, b code.DocumentKey) int {
	if c := bytes.Compare(a.Blob[:], b.Blob[:]); c != 0 {
		return c
	}
	switch {
	case a.Language < b.Language:
		return -1
	case a.Language > b.Language:
		return 1
	}
	return 0
}

func segmentKey(partition int32, sequence uint32) []byte {
	return store.AppendUint32(partitionPrefix(kindSegment, partition), sequence)
}

func originsKey(partition int32, sequence uint32) []byte {
	return store.AppendUint32(partitionPrefix(kindOrigins, partition), sequence)
}

func segmentIDKey(kind byte, partition int32, id segment.ID) []byte {
	return append(partitionPrefix(kind, partition), id[:]...)
}

// placesPrefix returns the prefix of the keys of all places of a document.
func placesPrefix(partition int32, l location) []byte {
	return store.AppendUint32(store.AppendUint32(partitionPrefix(kindPlace, partition), l.sequence), uint32(l.document))
}

// waitingPrefix returns the prefix of the keys of all places of an unheld document.
func waitingPrefix(partition int32, d code.DocumentKey) []byte {
	k := append(append(partitionPrefix(kindWaiting, partition), d.Blob[:]...), byte(len(d.Language)))
	return append(k, d.Language...)
}

func appendPlace(prefix []byte, id code.RepositoryID, path string) []byte {
	k := make([]byte, 0, len(prefix)+8+len(path))
	return append(store.AppendUint64(append(k, prefix...), uint64(id)), path...)
}

func markKey(partition int32, sequence uint32) []byte {
	k := store.AppendUint32([]byte{byte(store.FamilyLocal), kindMark}, uint32(partition))
	return store.AppendUint32(k, sequence)
}

func erasurePrefix() []byte { return []byte{byte(store.FamilyLocal), kindErasure} }

func erasureKey(at event.Position) []byte {
	return store.AppendUint64(store.AppendUint32(erasurePrefix(), uint32(at.Partition)), uint64(at.Offset))
}

func doomedPrefix() []byte { return []byte{byte(store.FamilyLocal), kindDoomed} }

// doomedBy returns the position of the merge that dropped the segment of a doomed row.
func doomedBy(k []byte) event.Position {
	b := k[len(doomedPrefix()):]
	return event.Position{Topic: event.TopicEvents, Partition: int32(binary.BigEndian.Uint32(b)), Offset: event.Offset(binary.BigEndian.Uint64(b[4:]))}
}

func doomedKey(at event.Position, n int) []byte {
	k := store.AppendUint64(store.AppendUint32(doomedPrefix(), uint32(at.Partition)), uint64(at.Offset))
	return store.AppendUint32(k, uint32(n))
}
