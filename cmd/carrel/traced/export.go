package traced

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"carrel.dev/workspace"
)

// Where spans go.
const (
	Off    = "off"
	OTLP   = "otlp"   // to a collector, over HTTP, as the OTEL_EXPORTER_OTLP_ variables say
	Stdout = "stdout" // as JSON, one span a line
	// File begins the name of a file to which they are appended in that form.
	File = "file:"
)

// Config says what to do with spans.
type Config struct {
	To      string    // Off, OTLP, Stdout, or File with a name
	Stdout  io.Writer // for Stdout
	Version string    // of the program
	Log     *slog.Logger
}

// Check refuses what is no place for spans.
func Check(to string) error {
	name, file := strings.CutPrefix(to, File)
	if to == Off || to == OTLP || to == Stdout || file && name != "" {
		return nil
	}
	return workspace.Errorf(workspace.Invalid, "%q is no place for traces", to).Hinted("Write off, otlp, stdout or file:NAME.")
}

// flushTime is how long spans may take to leave at the end.
const flushTime = 5 * time.Second

// Start begins to export spans; stop sends those that are still here. With Off the
// Tracer is nil. Which part of the requests is traced is said by OTEL_TRACES_SAMPLER
// and by whoever asks; the default is all.
func Start(ctx context.Context, cfg *Config) (t *Tracer, stop func() error, err error) {
	if err := Check(cfg.To); err != nil || cfg.To == Off {
		return nil, func() error { return nil }, err
	}
	exporter, closing, err := cfg.exporter(ctx)
	if err != nil {
		return nil, nil, err
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "carrel"), attribute.String("service.version", cfg.Version)),
		resource.WithFromEnv())
	if err != nil {
		return nil, nil, errors.Join(workspace.Errorf(workspace.Invalid, "what OTEL_RESOURCE_ATTRIBUTES says: %w", err), closing())
	}
	// The library reports to one handler of the whole process.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { cfg.Log.Warn("spans are lost", "err", err) }))
	p := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(about))
	return New(p), func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
		defer cancel()
		if err := p.Shutdown(ctx); err != nil {
			cfg.Log.Warn("spans are lost", "err", err)
		}
		return closing()
	}, nil
}

// exporter opens the place where spans go.
func (c *Config) exporter(ctx context.Context) (e sdk.SpanExporter, closing func() error, err error) {
	closing = func() error { return nil }
	switch name, file := strings.CutPrefix(c.To, File); {
	case c.To == OTLP:
		e, err = otlptracehttp.New(ctx)
	case file:
		f, openErr := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if openErr != nil {
			return nil, nil, workspace.Errorf(workspace.Unavailable, "the file for traces: %w", openErr)
		}
		closing = f.Close
		e, err = stdouttrace.New(stdouttrace.WithWriter(f))
	default:
		e, err = stdouttrace.New(stdouttrace.WithWriter(c.Stdout))
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("traces: %w", err), closing())
	}
	return e, closing, nil
}
