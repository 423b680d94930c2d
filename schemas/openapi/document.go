package openapi

import "encoding/json"

// Document is an OpenAPI 3.0.3 document, as far as quarry.yaml uses the format: a keyword
// without a field here is an error, so that every keyword in the file has an effect.
// Members keep the order of the file.
type Document struct {
	OpenAPI    string        `json:"openapi"`
	Info       Info          `json:"info"`
	Servers    []Server      `json:"servers,omitempty"`
	Tags       []Tag         `json:"tags"`
	Security   []Requirement `json:"security"`
	Paths      List[*Path]   `json:"paths"`
	Components Components    `json:"components"`
}

// Info describes the API.
type Info struct {
	Title       string `json:"title"`
	Version     string `json:"version"`
	Description string `json:"description"`
}

// Server is the address of the API.
type Server struct {
	URL         string `json:"url"`
	Description string `json:"description,omitempty"`
}

// Tag names a group of operations.
type Tag struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// Requirement is one way to authenticate; an empty one allows anonymous access.
type Requirement map[string][]string

// Path holds the operations of one path.
type Path struct {
	Parameters []*Parameter `json:"parameters,omitempty"`
	Get        *Operation   `json:"get,omitempty"`
	Put        *Operation   `json:"put,omitempty"`
	Post       *Operation   `json:"post,omitempty"`
	Delete     *Operation   `json:"delete,omitempty"`
	Patch      *Operation   `json:"patch,omitempty"`
}

// Operation is a method on a path.
type Operation struct {
	OperationID string        `json:"operationId"`
	Access      Access        `json:"x-access"`
	Tags        []string      `json:"tags"`
	Summary     string        `json:"summary"`
	Description string        `json:"description"`
	Security    []Requirement `json:"security"`
	Parameters  []*Parameter  `json:"parameters,omitempty"`
	RequestBody *RequestBody  `json:"requestBody,omitempty"`
	Responses   List[*Answer] `json:"responses"`
}

// Parameter is a value in the path, the query or a header.
type Parameter struct {
	Ref         string  `json:"$ref,omitempty"`
	Name        string  `json:"name,omitempty"`
	In          string  `json:"in,omitempty"`
	Required    bool    `json:"required,omitempty"`
	Description string  `json:"description,omitempty"`
	Schema      *Schema `json:"schema,omitempty"`
	Example     Value   `json:"example,omitempty"`
}

// RequestBody is the body of a request.
type RequestBody struct {
	Ref         string       `json:"$ref,omitempty"`
	Description string       `json:"description,omitempty"`
	Required    bool         `json:"required,omitempty"`
	Content     List[*Media] `json:"content,omitempty"`
}

// Media is a body of one content type.
type Media struct {
	Schema *Schema `json:"schema"`
	// Frames describes the frames of an event stream.
	Frames   *Schema        `json:"x-frames,omitempty"`
	Example  Value          `json:"example,omitempty"`
	Examples List[*Example] `json:"examples,omitempty"`
}

// Example is one of several examples of a body.
type Example struct {
	Summary string `json:"summary,omitempty"`
	Value   Value  `json:"value"`
}

// Answer is a response.
type Answer struct {
	Ref         string        `json:"$ref,omitempty"`
	Description string        `json:"description,omitempty"`
	Headers     List[*Header] `json:"headers,omitempty"`
	Content     List[*Media]  `json:"content,omitempty"`
}

// Header is a header of a response.
type Header struct {
	Ref         string  `json:"$ref,omitempty"`
	Description string  `json:"description,omitempty"`
	Required    bool    `json:"required,omitempty"`
	Schema      *Schema `json:"schema,omitempty"`
	Example     Value   `json:"example,omitempty"`
}

// SecurityScheme is a kind of credential.
type SecurityScheme struct {
	Type        string `json:"type"`
	Scheme      string `json:"scheme,omitempty"`
	In          string `json:"in,omitempty"`
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
}

// Components holds the parts that others refer to.
type Components struct {
	SecuritySchemes List[*SecurityScheme] `json:"securitySchemes"`
	Parameters      List[*Parameter]      `json:"parameters"`
	Headers         List[*Header]         `json:"headers"`
	RequestBodies   List[*RequestBody]    `json:"requestBodies"`
	Responses       List[*Answer]         `json:"responses"`
	Schemas         List[*Schema]         `json:"schemas"`
}

// Schema determines which values are valid.
type Schema struct {
	Ref                  string         `json:"$ref,omitempty"`
	Type                 string         `json:"type,omitempty"`
	Format               string         `json:"format,omitempty"`
	Description          string         `json:"description,omitempty"`
	Nullable             bool           `json:"nullable,omitempty"`
	Enum                 []Value        `json:"enum,omitempty"`
	Default              Value          `json:"default,omitempty"`
	Example              Value          `json:"example,omitempty"`
	Minimum              *float64       `json:"minimum,omitempty"`
	ExclusiveMinimum     bool           `json:"exclusiveMinimum,omitempty"`
	Maximum              *float64       `json:"maximum,omitempty"`
	MinLength            int            `json:"minLength,omitempty"`
	MaxLength            *int           `json:"maxLength,omitempty"`
	Pattern              string         `json:"pattern,omitempty"`
	Items                *Schema        `json:"items,omitempty"`
	MinItems             int            `json:"minItems,omitempty"`
	MaxItems             *int           `json:"maxItems,omitempty"`
	Required             []string       `json:"required,omitempty"`
	Properties           List[*Schema]  `json:"properties,omitempty"`
	AdditionalProperties *SchemaOrFalse `json:"additionalProperties,omitempty"`
	AllOf                []*Schema      `json:"allOf,omitempty"`
	OneOf                []*Schema      `json:"oneOf,omitempty"`
	// ZeroCounts indicates that the zero value differs in meaning from an absent one.
	ZeroCounts bool `json:"x-zero-counts,omitempty"`
}

// SchemaOrFalse is a schema, or false if no value is valid. true is decoded as a schema
// that every value matches.
type SchemaOrFalse struct {
	Schema *Schema
	Closed bool
}

// Value is any value, as JSON. Members keep the order of the file.
type Value = json.RawMessage

// Access is the access rule of an operation.
type Access string

// The access rules. The document's credentials, and its responses 401 and 403, follow
// from them.
const (
	AccessOpen   Access = "open"   // everyone
	AccessSearch Access = "search" // the scope search; anonymous if that is allowed
	AccessGit    Access = "git"    // the scope git; anonymous if that is allowed
	AccessRead   Access = "read"   // one of those two scopes; anonymous if that is allowed
	AccessMember Access = "member" // a user, by session or key
	AccessOwner  Access = "owner"  // an owner with the scope admin, or the operator
	AccessScip   Access = "scip"   // the scope scip: a key of an owner
	// AccessOperator is for callers that can read the data directory of the server.
	AccessOperator Access = "operator"
)
