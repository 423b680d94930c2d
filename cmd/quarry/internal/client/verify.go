package client

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// Verification is the body of POST /api/verifications.
type Verification struct {
	Repositories []string `json:"repositories,omitempty"`
	Remote       bool     `json:"remote,omitempty"`
	Repair       bool     `json:"repair,omitempty"`
}

// VerificationFrame is one thing that a verification has to say.
type VerificationFrame struct {
	Type        string              `json:"type"`
	Name        string              `json:"repoName"`
	Ref         string              `json:"ref"`
	Kind        string              `json:"kind"`
	Message     string              `json:"message"`
	Path        string              `json:"path"`
	Count       int                 `json:"count"`
	Indexed     string              `json:"indexed"`
	Found       string              `json:"found"`
	AfterRepair bool                `json:"afterRepair"`
	Counts      *VerificationCounts `json:"counts"`
	Error       *Error              `json:"error"`
}

// VerificationCounts say how far a verification is, or was.
type VerificationCounts struct {
	Repositories int `json:"repositories"`
	Total        int `json:"repositoriesTotal"`
	Refs         int `json:"refs"`
	Files        int `json:"files"`
	Differences  int `json:"differences"`
	Repaired     int `json:"repaired"`
	Unchecked    int `json:"unchecked"`
}

// The types of frames that a command tells apart.
const (
	FrameProgress   = "progress"
	FrameDifference = "difference"
	FrameUnchecked  = "unchecked"
	FrameRepair     = "repair"
	FrameSummary    = "summary"
	frameError      = "error"
)

// Verify asks the server to compare what is indexed with the repositories. each
// is called with every frame, and with its JSON.
func (c *Client) Verify(ctx context.Context, v Verification, each func(frame *VerificationFrame, raw []byte) error) error {
	body, err := c.Raw(ctx, http.MethodPost, "/api/verifications", v)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok {
			continue
		}
		if string(data) == "[DONE]" {
			return nil
		}
		frame := new(VerificationFrame)
		if err := json.Unmarshal(data, frame); err != nil {
			return fmt.Errorf("read a part of the answer: %w", err)
		}
		if frame.Type == frameError && frame.Error != nil {
			return frame.Error
		}
		if err := each(frame, data); err != nil {
			return err
		}
	}
	return fmt.Errorf("read the answer of %s: %w", c.base, cmp.Or(ctx.Err(), lines.Err(), errCutOff))
}
