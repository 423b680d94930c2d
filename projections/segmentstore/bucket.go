package segmentstore

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/encrypt"
	"github.com/zeebo/xxh3"

	"github.com/quarrysearch/quarry/projections/integrity"
	"github.com/quarrysearch/quarry/schemas/clock"
)

// Bounds of the requests to object storage.
const (
	// maxConnections bounds the connections of a process; further requests wait.
	maxConnections = 64
	// requestTimeout bounds a request without its body.
	requestTimeout = time.Minute
	// minBytesPerSecond is the slowest transfer of a body that is not given up.
	minBytesPerSecond = 256 << 10
	// maxRetries bounds the requests for one operation, and the downloads of a body that
	// arrives incomplete or damaged.
	maxRetries = 4
	// partBytes is the size from which an object is uploaded in parts of this size.
	partBytes = 64 << 20
	// identityFresh is the time for which a confirmed identity is good enough for a
	// change. A bucket is not unmounted.
	identityFresh = 30 * time.Second
)

// sumHeader is the metadata with the xxh3-128 of an object. Objects that other programs
// have copied to the bucket have none.
const sumHeader = "X-Amz-Meta-Quarry-Xxh3"

// BucketOptions are the options of OpenBucket. Bucket, TempDir, Metrics and Logger are
// required.
type BucketOptions struct {
	// Endpoint is the URL of the server, without a path. Empty: Amazon S3.
	Endpoint string
	Region   string
	Bucket   string
	// Prefix is the folder of the objects in the bucket; empty for none.
	Prefix string
	// PathStyle addresses the bucket in the path instead of the host name.
	PathStyle bool
	// CAFile contains further root certificates, in PEM.
	CAFile string
	// AccessKeyID and SecretAccessKey are the credentials. Empty: those of the variables
	// AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, the shared credentials file, the web
	// identity or the role of the container or the machine.
	AccessKeyID, SecretAccessKey string
	// Encryption is "", "AES256" or "aws:kms", with KMSKeyID.
	Encryption, KMSKeyID string
	// TempDir is the directory of objects that are being checked. It need not exist.
	TempDir string
	Metrics *BucketMetrics
	Logger  *slog.Logger
	// Wrap replaces the transport in tests. Optional.
	Wrap func(http.RoundTripper) http.RoundTripper
}

// Bucket stores objects in a bucket of an S3-compatible server, which must support
// conditional writes (If-None-Match). Several processes may share it.
type Bucket struct {
	o        BucketOptions
	core     *minio.Core
	prefix   string // empty, or with a slash at the end
	address  string // for messages
	sse      encrypt.ServerSide
	holds    deletionHolds
	identity *requiredIdentity // shared by its folders
	// quarantined is called for each object that was moved to the quarantine.
	quarantined func(name, place string, cause error)
}

var _ Driver = (*Bucket)(nil)

// OpenBucket connects to the server and checks that the bucket can be read.
func OpenBucket(ctx context.Context, o BucketOptions) (*Bucket, error) {
	b := &Bucket{o: o, quarantined: func(string, string, error) {}}
	if o.Prefix != "" {
		b.prefix = strings.Trim(o.Prefix, "/") + "/"
	}
	b.address = "s3://" + o.Bucket + "/" + b.prefix
	b.identity = &requiredIdentity{store: b.address, read: b.readIdentity, fresh: identityFresh}
	if err := b.connect(ctx); err != nil {
		return nil, fmt.Errorf("segment store %s: %w", b.address, err)
	}
	err := b.request(ctx, "list", "", func(ctx context.Context, _ func(int64)) error {
		_, err := b.core.ListObjectsV2(o.Bucket, b.prefix, "", "", "/", 1)
		return err
	})
	if err != nil {
		return nil, err
	}
	if v, err := b.core.GetBucketVersioning(ctx, o.Bucket); err == nil && v.Enabled() {
		o.Logger.Warn("the bucket of the segment store keeps versions of deleted objects: text that is erased remains in it until a lifecycle rule removes noncurrent versions", "bucket", o.Bucket)
	}
	return b, nil
}

// connect creates the client.
func (b *Bucket) connect(ctx context.Context) error {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxConnsPerHost, transport.MaxIdleConnsPerHost = maxConnections, maxConnections
	transport.ResponseHeaderTimeout = requestTimeout
	transport.DisableCompression = true
	if b.o.CAFile != "" {
		roots, err := x509.SystemCertPool()
		if err != nil {
			roots = x509.NewCertPool()
		}
		pem, err := os.ReadFile(b.o.CAFile)
		if err != nil {
			return err
		}
		if !roots.AppendCertsFromPEM(pem) {
			return fmt.Errorf("%s contains no certificate in PEM", b.o.CAFile)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	endpoint := &url.URL{Scheme: "https", Host: "s3.amazonaws.com"}
	if b.o.Endpoint != "" {
		var err error
		if endpoint, err = url.Parse(b.o.Endpoint); err != nil || endpoint.Host == "" || strings.Trim(endpoint.Path, "/") != "" {
			return fmt.Errorf("endpoint %.200q: want a URL such as https://s3.example.org, without a path", b.o.Endpoint)
		}
	}
	options := &minio.Options{
		Creds: b.newCredentials(), Secure: endpoint.Scheme == "https", Transport: transport, Region: b.o.Region, MaxRetries: maxRetries,
		BucketLookup: minio.BucketLookupAuto,
	}
	if b.o.PathStyle {
		options.BucketLookup = minio.BucketLookupPath
	}
	if b.o.Wrap != nil {
		options.Transport = b.o.Wrap(transport)
	}
	var err error
	switch b.o.Encryption {
	case "":
	case "AES256":
		b.sse = encrypt.NewSSE()
	case "aws:kms":
		b.sse, err = encrypt.NewSSEKMS(b.o.KMSKeyID, nil)
	default:
		err = fmt.Errorf("encryption %.40q: want AES256 or aws:kms", b.o.Encryption)
	}
	if err != nil {
		return err
	}
	if b.core, err = minio.NewCore(endpoint.Host, options); err != nil {
		return err
	}
	found, err := options.Creds.GetWithContext(b.core.CredContext())
	if err != nil {
		return fmt.Errorf("credentials: %w", err)
	}
	if found.SignerType.IsAnonymous() {
		return errors.New("no credentials: set storage.s3.accessKeyId and secretAccessKey, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the process a role")
	}
	return ctx.Err()
}

// newCredentials returns the given credentials, or those of the environment, which are
// renewed as they expire.
func (b *Bucket) newCredentials() *credentials.Credentials {
	if b.o.AccessKeyID != "" {
		return credentials.NewStaticV4(b.o.AccessKeyID, b.o.SecretAccessKey, "")
	}
	return credentials.NewChainCredentials([]credentials.Provider{
		&credentials.EnvAWS{}, &credentials.FileAWSCredentials{},
		&credentials.IAM{Client: &http.Client{Timeout: 5 * time.Second}, Region: b.o.Region},
	})
}

func (b *Bucket) key(name string) string { return b.prefix + name }

// Put implements Store. It uploads a large file in parts.
func (b *Bucket) Put(ctx context.Context, name, path string) error {
	err := b.request(ctx, "put", name, func(ctx context.Context, extend func(int64)) error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		extend(info.Size())
		return b.upload(ctx, name, f, info.Size())
	})
	if err != nil {
		return err
	}
	return os.Remove(path)
}

// PutBytes implements Store.
func (b *Bucket) PutBytes(ctx context.Context, name string, content []byte) error {
	return b.request(ctx, "put", name, func(ctx context.Context, extend func(int64)) error {
		extend(int64(len(content)))
		return b.upload(ctx, name, bytes.NewReader(content), int64(len(content)))
	})
}

// body is the content of an object, which is read several times.
type body interface {
	io.ReadSeeker
	io.ReaderAt
}

// upload stores an object unless it exists.
func (b *Bucket) upload(ctx context.Context, name string, content body, size int64) error {
	if err := b.identity.checkChange(ctx); err != nil {
		return err
	}
	if size > partBytes { // the write itself is not conditional
		if _, err := b.core.StatObject(ctx, b.o.Bucket, b.key(name), minio.StatObjectOptions{}); !isMissing(err) {
			return err
		}
	}
	return b.uploadNew(ctx, name, content, size)
}

// uploadNew stores an object. Of several concurrent writers the first one counts. Parts
// are not conditional: objects that large are named by their content.
func (b *Bucket) uploadNew(ctx context.Context, name string, content body, size int64) error {
	hash := xxh3.New()
	if _, err := io.Copy(hash, content); err != nil {
		return err
	}
	sum := hash.Sum128().Bytes()
	options := minio.PutObjectOptions{
		UserMetadata: map[string]string{sumHeader: hex.EncodeToString(sum[:])}, ContentType: "application/octet-stream",
		ServerSideEncryption: b.sse, SendContentMd5: true, PartSize: partBytes, NumThreads: 2,
	}
	if size <= partBytes {
		options.SetMatchETagExcept("*")
	}
	for attempt := range maxRetries {
		if err := waitToRetry(ctx, attempt); err != nil {
			return err
		}
		if _, err := content.Seek(0, io.SeekStart); err != nil {
			return err
		}
		_, err := b.core.Client.PutObject(ctx, b.o.Bucket, b.key(name), content, size, options)
		if err == nil {
			b.o.Metrics.bytes.WithLabelValues("upload").Add(float64(size))
			return nil
		}
		if !isPrecondition(err) {
			return err
		}
		// Another writer was faster. The server may refuse this one before it shows the
		// object of the other one, which may still fail.
		if _, err := b.core.StatObject(ctx, b.o.Bucket, b.key(name), minio.StatObjectOptions{}); !isMissing(err) {
			return err
		}
	}
	return errors.New("another writer of the object has not finished")
}

// waitToRetry waits before every attempt but the first, longer each time.
func waitToRetry(ctx context.Context, attempt int) error {
	if attempt == 0 {
		return nil
	}
	return clock.Sleep(ctx, time.Duration(1+rand.Int64N(int64(200*time.Millisecond)))<<attempt)
}

// Fetch implements Store.
func (b *Bucket) Fetch(ctx context.Context, name, path string) error {
	return b.request(ctx, "fetch", name, func(ctx context.Context, extend func(int64)) error {
		out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		err = b.downloadFile(ctx, name, out, nil, extend)
		if err := errors.Join(err, out.Close()); err != nil {
			return errors.Join(err, os.Remove(path))
		}
		return nil
	})
}

// downloadFile writes an object to a file at a limited pace.
func (b *Bucket) downloadFile(ctx context.Context, name string, out *os.File, p *integrity.Pace, extend func(int64)) error {
	err := b.download(ctx, name, func(size int64) (io.Writer, error) {
		extend(size)
		if _, err := out.Seek(0, io.SeekStart); err != nil {
			return nil, err
		}
		return pacedWriter{ctx, out, p}, out.Truncate(0)
	})
	return errors.Join(err, out.Sync())
}

// pacedWriter writes at a limited pace.
type pacedWriter struct {
	ctx context.Context
	w   io.Writer
	p   *integrity.Pace
}

// Write implements io.Writer.
func (w pacedWriter) Write(b []byte) (int, error) {
	if err := w.p.Wait(w.ctx, len(b)); err != nil {
		return 0, err
	}
	return w.w.Write(b)
}

// GetBytes implements Store.
func (b *Bucket) GetBytes(ctx context.Context, name string, max int64) (content []byte, err error) {
	err = b.request(ctx, "get", name, func(ctx context.Context, extend func(int64)) error {
		content, err = b.downloadBytes(ctx, name, max, extend)
		return err
	})
	return content, err
}

func (b *Bucket) downloadBytes(ctx context.Context, name string, max int64, extend func(int64)) ([]byte, error) {
	var out *bytes.Buffer
	err := b.download(ctx, name, func(size int64) (io.Writer, error) {
		if size > max {
			return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, size, max)
		}
		extend(size)
		out = bytes.NewBuffer(make([]byte, 0, size))
		return out, nil
	})
	if err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func (b *Bucket) readIdentity(ctx context.Context) ([]byte, error) {
	return b.GetBytes(ctx, IdentityName, maxIdentityBytes)
}

// errBody reports that the body of an object arrived incomplete or damaged.
var errBody = errors.New("the object did not arrive as it was stored")

// download writes an object to the writer that open returns for its size, which must be
// empty. It calls open again for each attempt.
func (b *Bucket) download(ctx context.Context, name string, open func(size int64) (io.Writer, error)) (err error) {
	for attempt := range maxRetries {
		if err := waitToRetry(ctx, attempt); err != nil {
			return err
		}
		if err = b.downloadOnce(ctx, name, open); !errors.Is(err, errBody) {
			return err
		}
	}
	return err
}

func (b *Bucket) downloadOnce(ctx context.Context, name string, open func(size int64) (io.Writer, error)) error {
	content, info, _, err := b.core.GetObject(ctx, b.o.Bucket, b.key(name), minio.GetObjectOptions{})
	if err != nil {
		return err
	}
	defer content.Close()
	w, err := open(info.Size)
	if err != nil {
		return err
	}
	hash := xxh3.New()
	n, err := io.Copy(io.MultiWriter(w, hash), io.LimitReader(content, info.Size+1))
	b.o.Metrics.bytes.WithLabelValues("download").Add(float64(n))
	switch {
	case err != nil && ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("%w: after %d of %d bytes: %w", errBody, n, info.Size, err)
	case n != info.Size:
		return fmt.Errorf("%w: %d of %d bytes", errBody, n, info.Size)
	}
	sum := hash.Sum128().Bytes()
	if want := info.Metadata.Get(sumHeader); want != "" && want != hex.EncodeToString(sum[:]) {
		return fmt.Errorf("%w: %w: checksum %x, want %.40s", errBody, ErrCorrupt, sum, want)
	}
	return nil
}

// Delete implements Store.
func (b *Bucket) Delete(ctx context.Context, name string) error {
	return b.request(ctx, "delete", name, func(ctx context.Context, _ func(int64)) error {
		if err := b.identity.checkChange(ctx); err != nil {
			return err
		}
		return b.holds.unlessHeld(func() error {
			if _, err := b.removeQuarantined(ctx, name+"~"); err != nil {
				return err
			}
			return b.core.RemoveObject(ctx, b.o.Bucket, b.key(name), minio.RemoveObjectOptions{})
		})
	})
}

// List implements Store. It fails at the end if this is not the required store.
func (b *Bucket) List(ctx context.Context) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		for info, err := range b.list(ctx, b.prefix) {
			if ValidateName(info.Name) != nil && err == nil {
				continue
			}
			if !yield(info, err) || err != nil {
				return
			}
		}
		if err := b.identity.check(ctx); err != nil {
			yield(Info{}, fmt.Errorf("segment store: list: %w", err))
		}
	}
}

// list yields the objects whose keys begin with prefix and have no slash behind it, in the
// order of their keys. Names are without the prefix of the store.
func (b *Bucket) list(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		for o := range b.core.ListObjectsIter(ctx, b.o.Bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: false}) {
			if err := errors.Join(ctx.Err(), o.Err); err != nil {
				b.o.Metrics.countError("list", err)
				yield(Info{}, fmt.Errorf("segment store: list %s: %w", b.address, b.explain(err)))
				return
			}
			if !yield(Info{Name: strings.TrimPrefix(o.Key, b.prefix), SizeBytes: o.Size, ModTime: o.LastModified}, nil) {
				return
			}
		}
	}
}

// Identity implements Driver.
func (b *Bucket) Identity(ctx context.Context) (string, error) { return b.identity.find(ctx) }

// RequireIdentity implements Driver.
func (b *Bucket) RequireIdentity(want string) { b.identity.require(want) }

// WriteIdentity implements Driver. It returns an error if the server ignores conditions,
// because the identity of the second of two processes would replace that of the first.
func (b *Bucket) WriteIdentity(ctx context.Context, id string) error {
	return b.request(ctx, "put", IdentityName, func(ctx context.Context, _ func(int64)) error {
		content := []byte(id + "\n")
		if err := b.uploadNew(ctx, IdentityName, bytes.NewReader(content), int64(len(content))); err != nil {
			return err
		}
		var options minio.PutObjectOptions
		options.SetMatchETagExcept("*")
		_, err := b.core.Client.PutObject(ctx, b.o.Bucket, b.key(IdentityName), bytes.NewReader(content), int64(len(content)), options)
		if err == nil {
			return errors.Join(errors.New("the server ignores If-None-Match: use one that supports conditional writes"),
				b.core.RemoveObject(ctx, b.o.Bucket, b.key(IdentityName), minio.RemoveObjectOptions{}))
		}
		if isPrecondition(err) {
			return nil
		}
		return err
	})
}

// IsEmpty implements Driver.
func (b *Bucket) IsEmpty(ctx context.Context) (bool, error) { return isEmpty(b.list(ctx, b.prefix)) }

// Hold implements Driver.
func (b *Bucket) Hold() (release func()) { return b.holds.Hold() }

// NotifyQuarantine implements Driver.
func (b *Bucket) NotifyQuarantine(f func(name, place string, cause error)) { b.quarantined = f }
